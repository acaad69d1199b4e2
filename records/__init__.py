"""The records that every input format is turned into, checked field by field."""
