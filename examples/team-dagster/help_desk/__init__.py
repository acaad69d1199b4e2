"""The code location of a help desk that answers readers of a library."""
