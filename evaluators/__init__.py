"""The evaluators: metrics as data, pure scoring, and the engines that they call."""

ENTRY_POINTS = "scoreline.evaluators"
"""The group of entry points of packages that bring evaluators; each names a class."""
