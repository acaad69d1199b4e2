"""Generators of documentation pages: each reads what the code declares."""
