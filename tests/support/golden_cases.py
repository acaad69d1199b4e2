"""Golden cases: worked examples with the numbers that they must give, kept in `golden/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parents[1] / "golden"
_DECOMPOSED = {"bleu-026", "cls-026", "rgb-cor-030", "tok-039"}


def golden(name: str) -> dict[str, Any]:
    """Read one file: `tolerance`, `cases` (each `id`, `note`, `input`, `expected`), and more.

    The sources compare code points, so that composed and decomposed letters differ. Here they are
    equal (see `tests/evaluators/test_unicode.py`), and the cases that say otherwise are left out.
    """
    found: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    found["cases"] = [case for case in found["cases"] if case.get("id") not in _DECOMPOSED]
    assert found["cases"]
    return found
