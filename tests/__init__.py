"""The tests; a package by name, so that no installed package of this name comes first."""
