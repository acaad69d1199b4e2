"""Keeps a warehouse small: retention, compaction, vacuum, and copies of it."""
