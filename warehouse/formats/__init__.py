"""The input formats: one file each."""
