"""Pairwise comparisons of systems: verdicts in both orders, win matrices, strengths."""
