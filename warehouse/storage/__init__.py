"""Stores the warehouse in a DuckDB file or in a lake."""
