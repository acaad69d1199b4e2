"""Redaction: values of secret environment variables are removed from what processes write."""

from __future__ import annotations

import os
import re

_NAMES = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)S?$", re.IGNORECASE)
_MIN_LENGTH = 8
"""Shorter values ("none", "EMPTY") are placeholders, and may be words of a message."""


def redact(text: str) -> str:
    """Replace the values of environment variables such as `X_API_KEY` in a text."""
    for name, value in os.environ.items():
        if len(value) >= _MIN_LENGTH and value in text and _NAMES.search(name):
            text = text.replace(value, "***")
    return text
