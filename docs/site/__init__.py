"""What turns the documentation into a site."""
