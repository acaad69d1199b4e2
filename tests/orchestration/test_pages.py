"""The page of the configuration: every key is on it, with an example that is valid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from pydantic import BaseModel, Field

from orchestration import pages, schema, settings
from warehouse.formats.records.field_docs import described

if TYPE_CHECKING:
    from pathlib import Path


def keys(model: type[BaseModel]) -> set[str]:
    """The keys of a model and of those below it."""
    found = set()
    for field in described(model):
        found.add(field.name)
        if field.part is not None:
            found |= keys(getattr(schema, field.part))
    return found


def given(part: Any) -> set[str]:
    """All keys in a document."""
    if isinstance(part, list):
        return set().union(*map(given, part))
    if not isinstance(part, dict):
        return set()
    return set(part).union(*map(given, part.values()))


def test_the_complete_configuration_is_valid_and_complete(tmp_path: Path) -> None:
    text = pages.COMPLETE.read_text(encoding="utf-8")
    file = tmp_path / "scoreline.yaml"
    file.write_text(text, encoding="utf-8")
    assert list(settings.read(file).project.benchmarks) == ["support"]
    assert keys(schema.ProjectKeys) <= given(yaml.safe_load(text))


def test_every_key_has_a_row_with_type_default_meaning_and_example() -> None:
    page = pages.markdown()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    assert {row[0].strip("| `") for row in rows} == keys(schema.ProjectKeys)
    assert all(len(row) == 5 and all(row[:4]) for row in rows)
    assert "| `budget_usd` | number, at least 0 | - |" in page
    assert "| `timezone` | text | `UTC` |" in page
    assert "## `benchmarks.<name>.gates[]`" in page


def test_a_key_that_nobody_explained_is_named() -> None:
    class Some(BaseModel):
        """Some keys.

        Attributes:
            one: The first.
        """

        one: int = 1
        other: list[list[int]] = Field(default_factory=list)

    with pytest.raises(LookupError, match="Some: the docstring says nothing about 'other'"):
        described(Some)


def test_types_in_plain_words() -> None:
    class Kinds(BaseModel):
        """Kinds.

        Attributes:
            a: A.
            b: B.
            c: C.
            d: D.
        """

        a: list[list[int]]
        b: dict[str, list[float]] | None = None
        c: list[str | list[str]] = Field(default_factory=list)
        d: float = Field(default=1, ge=0, lt=5)

    found = {each.name: (each.kind, each.required) for each in described(Kinds)}
    assert found == {
        "a": ("list of lists of whole numbers", True),
        "b": ("mapping of names to lists of numbers", False),
        "c": ("list of texts or lists of texts", False),
        "d": ("number, at least 0, less than 5", False),
    }
