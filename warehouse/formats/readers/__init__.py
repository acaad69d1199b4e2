"""Reads files and rows into records, with the line of each row."""
