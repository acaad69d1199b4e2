"""The assets: stages of the pipeline and the checks on them."""
