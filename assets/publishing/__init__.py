"""The published copy, the report and the exports."""
