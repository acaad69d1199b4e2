"""The generated pages in `docs/` match the code."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from pydantic import BaseModel, Field

from benchmarks.coverage import parts
from benchmarks.simulations.result import RESULTS, read_tables, write_tables
from docs import generate
from docs.generators import configuration, simulations, tables
from docs.generators import evaluators as evaluators_page
from docs.generators import formats as formats_page
from docs.generators.fields import describe_fields
from evaluators import catalog
from orchestration.config import load, schema
from records.prediction import Prediction
from records.question import Question
from warehouse.formats.catalog import formats
from warehouse.schema.tables import TABLES

if TYPE_CHECKING:
    from pathlib import Path


def test_the_pages_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main(["--check"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("name", generate.PAGES)
def test_a_manual_change_is_found_and_undone(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for page in generate.PAGES:
        shutil.copy(generate.FOLDER / page, tmp_path)
    page = tmp_path / name
    right = page.read_text(encoding="utf-8")
    line = max((line for line in right.splitlines() if line.startswith("| `")), key=len)
    page.write_text(right.replace(line, line.replace(" ", "  ", 1), 1), encoding="utf-8")
    assert generate.main(["--check"], tmp_path) == 1
    assert capsys.readouterr().err == f"docs/{name} is stale: run `make docs`\n"
    assert generate.main([], tmp_path) == 0
    assert page.read_text(encoding="utf-8") == right


def test_the_page_of_tables_shows_every_column() -> None:
    page = tables.markdown()
    for table in TABLES.values():
        section = page.split(f"### `{table.name}`")[1].split("\n### ")[0]
        assert table.one_row in section
        for column in table.columns:
            assert f"| `{column.name}` | `{column.type}` |" in section


def test_the_page_of_simulations_shows_every_stored_table() -> None:
    assert sorted(each.part for each in simulations.SECTIONS) == sorted(parts())
    page = simulations.markdown()
    for part in parts():
        for table in read_tables(part):
            assert f"**{table.title}**\n" in page
            for row in (table.heads, *table.rows):
                assert len(row) == len(table.heads)
                assert f"\n| {' | '.join(row)} |\n" in page


@pytest.mark.parametrize("part", parts())
def test_tables_of_simulations_are_read_as_they_are_written(part: str, tmp_path: Path) -> None:
    write_tables(part, read_tables(part), tmp_path)
    name = f"{part}.json"
    assert (tmp_path / name).read_bytes() == (RESULTS / name).read_bytes()


every_evaluator = pytest.mark.parametrize("name", list(catalog.catalogue()))


@every_evaluator
def test_a_page_has_what_its_evaluator_declares(name: str) -> None:
    evaluator = catalog.build(name)
    page = catalog.describe(evaluator)
    assert (page.name, page.family) == (name, catalog.family_of(evaluator))
    assert page.question.endswith("?")
    assert page.prose.replace("\n", " ").startswith(page.question)
    assert "Attributes:" not in page.prose
    assert page.metrics == evaluator.measured()
    assert {p.name: p.default for p in page.parameters} == evaluator.parameters
    assert (set(page.reads), set(page.optional)) == (evaluator.reads, evaluator.optional)


@every_evaluator
def test_every_parameter_is_documented_in_a_sentence(name: str) -> None:
    for parameter in catalog.describe(catalog.build(name)).parameters:
        assert parameter.meaning[:1].strip(), parameter.name
        assert parameter.meaning.endswith("."), parameter.name


def test_a_meaning_of_several_lines_is_joined_and_inherited_ones_are_found() -> None:
    page = catalog.describe(catalog.build("pii_leakage", {"region": "US"}))
    documented = {parameter.name: parameter for parameter in page.parameters}
    assert documented["region"].default == "US"
    assert documented["region"].meaning == (
        "The country whose national phone numbers count, such as `US`; without it only "
        "international ones do."
    )
    assert documented["check_context"].meaning == "Whether the retrieved passages are checked too."


def test_the_page_of_evaluators_shows_every_metric_and_parameter() -> None:
    document = evaluators_page.markdown()
    for page in catalog.describe_all():
        section = document.split(f"### `{page.name}`\n")[1].split("\n### ")[0]
        assert page.prose in section
        for metric in page.metrics:
            name = f"**`{metric.name}`**" if metric.primary else f"`{metric.name}`"
            (row,) = [line for line in section.splitlines() if line.startswith(f"| {name} |")]
            assert row.endswith(f"| {metric.level} | {metric.summary} |")
        for parameter in page.parameters:
            default = json.dumps(parameter.default, ensure_ascii=False)
            assert f"| `{parameter.name}` | `{default}` |" in section


def test_bounds_on_the_page_of_evaluators_may_be_open() -> None:
    document = evaluators_page.markdown()
    assert "| `negative_log_likelihood` | low | 0 to ∞ | 0.75 | sample |" in document
    assert "| `corpus_bleu` | high | 0 to 100 | - | system |" in document


def test_links_on_the_page_of_evaluators_point_to_headings() -> None:
    document = evaluators_page.markdown()
    headings = [
        line.lstrip("# ").strip("`").replace(" ", "-").replace("(", "").replace(")", "")
        for line in document.splitlines()
        if line.startswith("#")
    ]
    assert len(set(headings)) == len(headings)
    links = [part.partition(")")[0] for part in document.split("](#")[1:]]
    assert len(links) == len(catalog.families()) + len(catalog.catalogue())
    assert set(links) <= set(headings)


def keys(model: type[BaseModel], *, without_example: bool = False) -> set[str]:
    """Return the keys of a model and of the models nested in it; or those without an example."""
    found = set()
    for field in describe_fields(model):
        if not without_example or field.example is None:
            found.add(field.name)
        if field.part is not None:
            part = configuration.model_named(field.part)
            found |= keys(part, without_example=without_example)
    return found


def given(part: Any) -> set[str]:
    """Return all keys in a YAML document."""
    if isinstance(part, list):
        return set().union(*map(given, part))
    if not isinstance(part, dict):
        return set()
    return set(part).union(*map(given, part.values()))


def test_the_complete_configuration_is_valid_and_complete(tmp_path: Path) -> None:
    text = configuration.COMPLETE.read_text(encoding="utf-8")
    file = tmp_path / "scoreline.yaml"
    file.write_text(text, encoding="utf-8")
    plugin = "import scoreline\n\n@scoreline.metric\ndef polite(answer): return 1.0\n"
    (tmp_path / "metrics.py").write_text(plugin, encoding="utf-8")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "examples.jsonl").touch()
    assert list(load.load_config(file).project.benchmarks) == ["support", "retrieval"]
    assert keys(schema.ProjectKeys, without_example=True) <= given(yaml.safe_load(text))


def test_every_key_has_a_row_with_type_default_meaning_and_example() -> None:
    page = configuration.markdown()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    assert {row[0].strip("| `") for row in rows} == keys(schema.ProjectKeys)
    assert all(len(row) == 5 and all(row[:4]) for row in rows)
    assert "| `budget_usd` | number, at least 0 | - |" in page
    assert "| `timezone` | text | `UTC` |" in page
    assert "## `benchmarks.<name>.gates[]`" in page


def test_an_undocumented_key_is_named() -> None:
    class Some(BaseModel):
        """Some keys.

        Attributes:
            one: The first.
        """

        one: int = 1
        other: list[list[int]] = Field(default_factory=list)

    with pytest.raises(LookupError, match="Some: nothing describes 'other'"):
        describe_fields(Some)


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

    found = {each.name: (each.kind, each.required) for each in describe_fields(Kinds)}
    assert found == {
        "a": ("list of lists of whole numbers", True),
        "b": ("mapping of names to lists of numbers", False),
        "c": ("list of texts or lists of texts", False),
        "d": ("number, at least 0, less than 5", False),
    }


def test_every_format_and_every_field_has_a_row() -> None:
    parts = formats_page.generated_parts()
    for name in formats():
        assert f"| [`{name}`](#{name}) |" in parts["formats"]
    for field in Question.model_fields:
        assert f"| `{field}` |" in parts["questions"]
    for field in Prediction.model_fields:
        assert f"| `{field}` |" in parts["predictions"]
    assert "| `expected_answer` | text or list of texts |" in parts["questions"]
    assert "| `correct_choice` | whole number or text |" in parts["questions"]


def test_only_generated_parts_are_updated() -> None:
    page = "before\n" + "between\n".join(
        f"<!-- {name}: written by hand -->\nstale words\n<!-- end -->\n"
        for name in formats_page.generated_parts()
    )
    after = formats_page.update_page(page)
    assert after.startswith("before\n<!-- formats: written by hand -->\n")
    assert after.count("between") == page.count("between")
    assert "stale words" not in after
    assert formats_page.update_page(after) == after


def test_a_missing_or_unknown_part_is_named() -> None:
    with pytest.raises(LookupError, match="found \\['nonsense'\\]"):
        formats_page.update_page("<!-- nonsense: written by hand -->\n<!-- end -->\n")
