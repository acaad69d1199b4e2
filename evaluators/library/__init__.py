"""The evaluators themselves: one file each, in a folder for each family."""
