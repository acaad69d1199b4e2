"""The report: pages that show what was published, made from the published copy alone."""
