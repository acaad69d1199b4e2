"""Where the warehouse is stored and how it is opened: a DuckDB file, or a lake."""
