"""The scores: which samples are out of date, and their evaluation in batches."""
