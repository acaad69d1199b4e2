"""The published copy that SQL users read, and its Parquet export."""
