"""The configuration file: its schema, and the project that it becomes."""
