"""Judges and humans: agreement, corrected means, and the variance of repeated judgments."""
