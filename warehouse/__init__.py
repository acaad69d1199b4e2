"""The warehouse: tables, connections, file formats and SQL."""
