"""The four kinds of evaluator."""
