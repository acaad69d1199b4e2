"""The queries of assets and report."""
