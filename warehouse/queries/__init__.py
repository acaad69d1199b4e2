"""The queries that assets and the report ask of a warehouse."""
