"""Orchestration: definitions, settings, resources, jobs and the command line."""

import os

# One thread for NumPy's OpenBLAS: its products are thousands of small ones, in which threads cost
# more than they save. It is read once, when NumPy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
