"""Calls to the judge: the asset that makes them, the dry run that counts them."""
