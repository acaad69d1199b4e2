"""What each stage was made from, as digests, so that equal means up to date."""
