"""Maintains a warehouse: retention, compaction, vacuum and copies."""
