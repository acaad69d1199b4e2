"""The page of input formats: its generated parts follow from the formats and the records."""

from __future__ import annotations

import pytest

from warehouse.formats import pages
from warehouse.formats.catalog import formats
from warehouse.formats.records.prediction import Prediction
from warehouse.formats.records.question import Question


def test_every_format_and_every_field_has_a_row() -> None:
    parts = pages.parts()
    for name in formats():
        assert f"| [`{name}`](#{name}) |" in parts["formats"]
    for field in Question.model_fields:
        assert f"| `{field}` |" in parts["questions"]
    for field in Prediction.model_fields:
        assert f"| `{field}` |" in parts["predictions"]
    assert "| `expected_answer` | text or list of texts |" in parts["questions"]
    assert "| `correct_choice` | whole number or text |" in parts["questions"]


def test_only_what_is_generated_is_renewed() -> None:
    page = "before\n" + "between\n".join(
        f"<!-- {name}: written by hand -->\nstale words\n<!-- end -->\n" for name in pages.parts()
    )
    after = pages.renewed(page)
    assert after.startswith("before\n<!-- formats: written by hand -->\n")
    assert after.count("between") == page.count("between")
    assert "stale words" not in after
    assert pages.renewed(after) == after


def test_a_part_that_is_missing_or_unknown_is_named() -> None:
    with pytest.raises(LookupError, match="found \\['nonsense'\\]"):
        pages.renewed("<!-- nonsense: written by hand -->\n<!-- end -->\n")
