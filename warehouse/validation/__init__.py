"""Expectations about the rows of tables, run by Great Expectations over DuckDB."""
