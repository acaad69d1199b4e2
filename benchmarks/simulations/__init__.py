"""Simulations with a known truth; `benchmarks.coverage` prints them all.

Each module has `tables(repeats)`, which yields its tables.
"""
