"""Reads files and rows of every kind into records, with the line each came from."""
