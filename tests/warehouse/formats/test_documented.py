"""The examples of the page on formats are read as the page says, and nothing breaks them oddly."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.fingerprints.input_files import benchmark_files
from assets.project import Benchmark
from tests.support.services import REQUIRED
from warehouse.errors import InputError
from warehouse.formats.catalog import formats
from warehouse.formats.format import Read, Reject, Source
from warehouse.ingest.ingest import ingest
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
SECTIONS = {each.partition("\n")[0]: each for each in re.split(r"(?m)^## ", PAGE)}
EXAMPLE = re.compile(r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
COUNTS = {
    "beir": (1, 1, 2),
    "canonical": (1, 1, 2),
    "deepeval": (1, 2, 0),
    "document-grounded-qa": (1, 1, 2),
    "eval-studio": (2, 4, 0),
    "inspect": (1, 1, 0),
    "langfuse": (1, 2, 0),
    "lm-eval": (2, 2, 0),
    "mlflow": (1, 1, 0),
    "openinference": (1, 1, 0),
    "phoenix-experiment": (1, 2, 0),
    "promptfoo": (1, 2, 0),
    "ragas": (1, 2, 0),
    "rgb": (4, 4, 0),
    "trace": (1, 1, 3),
    "trec": (1, 1, 0),
}
"""The questions, predictions and sentences of each example."""

NESTED = [
    "deepeval",
    "eval-studio",
    "langfuse",
    "lm-eval",
    "mlflow",
    "openinference",
    "phoenix-experiment",
    "promptfoo",
    "ragas",
    "rgb",
    "trace",
]
"""The formats of other tools whose rows hold lists and objects."""


def examples(name: str) -> dict[str, str]:
    """The example files of a format."""
    return dict(EXAMPLE.findall(SECTIONS[name]))


def configuration(name: str) -> dict[str, Any]:
    """The example configuration of a format."""
    (text,) = re.findall(r"```yaml\n(.*?)```", SECTIONS[name], re.DOTALL)
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def test_every_format_has_a_section_that_begins_with_its_summary() -> None:
    for name, form in formats().items():
        assert SECTIONS[name].splitlines()[2] == form.summary


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_the_examples_are_read(tmp_path: Path, name: str) -> None:
    if name == "inspect":
        pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    write(tmp_path, examples(name))
    keys = configuration(name)

    def path(key: str) -> Path | None:
        return tmp_path / keys[key] if key in keys else None

    predictions = path("predictions")
    assert predictions is not None
    files = benchmark_files(
        Benchmark(
            name="b",
            format=name,
            questions=path("questions"),
            documents=path("documents"),
            predictions=predictions,
            split=keys.get("split"),
            evaluators=(),
        ),
    )
    warehouse = Warehouse(tmp_path / "w.duckdb")
    done = ingest(warehouse, [files])
    asked, given_ = done["b", "questions"], done["b", "predictions"]
    sentences = warehouse.fetch("SELECT count(*) FROM documents").item()
    assert (asked.rows, given_.rows, sentences) == COUNTS[name]
    assert asked.problems == given_.problems == ()
    left_out = 1 if name == "rgb" else 0
    assert len(given_.notes) == left_out


@pytest.mark.parametrize(
    "name",
    [
        "deepeval",
        "eval-studio",
        "lm-eval",
        "mlflow",
        "phoenix-experiment",
        "promptfoo",
        "ragas",
        "rgb",
        "trace",
    ],
)
@settings(max_examples=150 if REQUIRED else 40)
@given(data=st.data())
def test_a_row_that_cannot_be_read_says_what_was_expected(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    """Anything may stand in place of any value of an example: it is read, or refused in words."""
    folder = tmp_path_factory.mktemp("odd", numbered=True)
    path, value = data.draw(st.sampled_from(list(documents(name))))
    place = data.draw(st.sampled_from(list(places(value))))
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(json.dumps(changed(value, place, data.draw(ODD))))
    source = Source(folder / path, "north", answered_in=(folder / path,))
    form = formats()[name]
    for reader in (form.questions, form.predictions, form.documents):
        if reader is not None:
            assert [said for said in faults(reader, source) if not EXPECTED.search(said)] == []


ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(-1, 2) | st.text("a1[-", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=2),
    max_leaves=4,
)
EXPECTED = re.compile(r"expected|missing|outside|occurs twice|too large")


EXPORTS = [
    "deepeval",
    "inspect",
    "langfuse",
    "mlflow",
    "openinference",
    "phoenix-experiment",
    "promptfoo",
]
"""The formats whose files are easily taken for each other: rows of JSON with inputs and outputs."""


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize(
    "other", [*EXPORTS, "canonical", "eval-studio", "lm-eval", "ragas", "trace"]
)
def test_a_file_of_another_tool_is_refused(tmp_path: Path, name: str, other: str) -> None:
    if "inspect" in {name, other}:
        pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    write(tmp_path, examples(other))
    reader = formats()[name].predictions
    for path in examples(other):
        # An example of promptfoo holds several systems.
        system = None if name == other == "promptfoo" else "north"
        fault = "; ".join(faults(reader, Source(tmp_path / path, system)))
        if name == other:
            assert fault == ""
        elif fault.startswith("unknown file suffix"):
            assert "expected ." in fault
        else:
            assert re.match(
                r"expected .*(Deep|Inspect|Langfuse|MLflow|Phoenix|spans|promptfoo).+found|"
                r"expected test cases",
                fault,
            )


def faults(reader: Callable[[Source], Iterator[Read[Any] | Reject]], source: Source) -> list[str]:
    """All that a reader finds wrong."""
    try:
        return [each.reason for each in reader(source) if isinstance(each, Reject)]
    except InputError as error:
        return [problem.message for problem in error.problems]


def documents(name: str) -> list[tuple[str, Any]]:
    """The examples of a format as values; JSON Lines and CSV as lists of rows, in JSON files."""
    found = []
    for path, text in examples(name).items():
        if path.endswith(".csv"):
            row = {"user_input": "a", "retrieved_contexts": ["b"], "response": "c", "rubrics": {}}
            found.append(("rows.json", [{**row, "retrieved_context_ids": ["d"]}]))
        elif text.startswith(("[", "{\n")):
            found.append((path, json.loads(text)))
        else:
            found.append((path, [json.loads(line) for line in text.splitlines()]))
    return found


def places(value: object) -> list[tuple[Any, ...]]:
    """Where something stands inside a value, as steps; itself left out."""
    steps = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    found: list[tuple[Any, ...]] = []
    for step, inner in steps:
        found += [(step,), *((step, *below) for below in places(inner))]
    return found


def changed(value: Any, place: tuple[Any, ...], new: object) -> Any:
    """A value with something else at one place."""
    if not place:
        return new
    copy = value.copy()
    copy[place[0]] = changed(value[place[0]], place[1:], new)
    return copy
