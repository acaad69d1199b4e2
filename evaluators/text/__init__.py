"""Text: what evaluators of every family do with it before they count."""
