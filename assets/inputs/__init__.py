"""The inputs: ingested files, and answers of systems that are asked."""
