"""Ingests files into tables: the fast path for plain JSON Lines, row by row for all else."""
