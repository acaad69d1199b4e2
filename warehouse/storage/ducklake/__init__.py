"""The warehouse as a DuckLake: PostgreSQL as its catalogue, Parquet in a folder or object store."""
