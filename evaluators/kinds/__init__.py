"""The kinds of evaluators: one base class per file."""
