"""Digests that tell versions apart: of prompts, forms of replies, instructions, signatures."""

from __future__ import annotations

import hashlib


def digest_of(text: str) -> str:
    """The first 12 hexadecimal digits of a text's SHA-256; a lone surrogate counts as itself."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
