"""Imports the ROUGE oracle in a way that leaves pytest's streams alone."""

from __future__ import annotations

import contextlib
import sys

# The oracle brings absl, whose log handler keeps the standard error of this moment and closes it
# when logging is configured anew, as Dagster does: that would be the stream pytest captures with.
with contextlib.redirect_stderr(sys.__stderr__):
    import rouge_score.rouge_scorer  # noqa: F401
