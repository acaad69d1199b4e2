"""Other evaluation libraries on the same rows and the same server."""
