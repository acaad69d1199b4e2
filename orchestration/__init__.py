"""Orchestration: definitions, settings, resources, jobs and the command line."""

import os

# The threads of NumPy's OpenBLAS sleep between products instead of turning on the spot for some
# milliseconds, which takes cores from all else. It is read once, when NumPy is loaded.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
