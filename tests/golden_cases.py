"""Golden cases: worked examples with the numbers that they must give, kept in `golden/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "golden"


def golden(name: str) -> dict[str, Any]:
    """Read one file: `tolerance`, `cases` (each `id`, `note`, `input`, `expected`), and more."""
    found: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert found["cases"]
    return found
