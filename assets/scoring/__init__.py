"""Scores: the asset, the refresh of stale samples, scoring in batches."""
