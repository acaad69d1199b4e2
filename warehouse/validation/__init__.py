"""Expectations: what is held of the rows of tables, by Great Expectations over DuckDB."""
