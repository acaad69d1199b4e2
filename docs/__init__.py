"""The documentation; `generate.py` writes the pages that follow from the code."""
