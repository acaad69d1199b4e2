"""`scoreline annotate`: a page on which people label answers."""
