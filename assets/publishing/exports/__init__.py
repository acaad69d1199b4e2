"""Exports: what was published in forms that other programs read."""
