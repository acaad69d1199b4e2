"""Stores the warehouse in DuckLake: a PostgreSQL catalog and Parquet files."""
