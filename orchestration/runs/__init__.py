"""Runs that the command line starts, and how far they have come."""
