"""A second answer of a system to a question: the message says what the format knows of repeats."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from assets.fingerprints.input_files import benchmark_files
from assets.project import Benchmark
from tests.warehouse.formats.test_documented import configuration, examples, write
from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats.catalog import formats
from warehouse.ingest.ingest import ingest
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from warehouse.ingest.plan import BenchmarkFiles

REAL = Path(__file__).parents[2] / "data" / "real"
SAID = {
    "beir": "a system has one ranking for each query",
    "canonical": "by the field 'repeat'",
    "deepeval": "give each test case a 'name' of its own",
    "document-grounded-qa": "by the field 'repeat'",
    "eval-studio": "Eval Studio numbers no answers",
    "inspect": "by 'epoch' (`epochs` of the task)",
    "lm-eval": "`repeats` of the task",
    "openinference": "by 'repeat' in the metadata",
    "phoenix-experiment": "from 1 by 'repetition_number'",
    "promptfoo": "of `eval --repeat` by 'testIdx'",
    "ragas": "by a column 'repeat'",
    "rgb": "by the field 'repeat'",
    "trace": "by the field 'repeat'",
    "trec": "a system has one ranking for each topic",
}


def again(folder: Path, name: str) -> tuple[BenchmarkFiles, list[Path]]:
    """Write the example of a format, with each file of predictions twice; return the copies."""
    write(folder, examples(name))
    keys = configuration(name)
    paths: dict[str, Any] = {
        key: folder / keys[key] if key in keys else None
        for key in ("questions", "documents", "predictions")
    }
    benchmark = Benchmark(name="b", format=name, split=keys.get("split"), evaluators=(), **paths)
    files = benchmark_files(benchmark)
    given = list(files.predictions)
    copies = []
    for path, system in given:
        if name == "ragas":
            _with_column(path, "id", 7)
        copy = path.parent / "copy" / path.name
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(path, copy)
        copies.append((copy, system))
    return replace(files, predictions=[*given, *copies]), [path for path, _ in copies]


@pytest.mark.parametrize("name", sorted(SAID))
def test_each_format_says_what_to_do(tmp_path: Path, name: str) -> None:
    files, _ = again(tmp_path, name)
    with pytest.raises(InputError) as error:
        ingest(Warehouse(tmp_path / "w.duckdb"), [files])
    said = error.value.problems[0].message
    assert said.startswith("a second prediction of ")
    assert SAID[name] in said.partition("; ")[2]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("deepeval", "deepeval/plain.json"),
        ("inspect", "inspect/2026-11-27T03-10-29-00-00_once_6konoPaw8nkY4hHaEqXWDx.eval"),
        ("lm-eval", "lm-eval/small/samples_sums_2026-11-26T12-03-40.475822.jsonl"),
        ("openinference", "phoenix/rest_spans.json"),
        ("phoenix-experiment", "phoenix/experiment.json"),
        ("promptfoo", "promptfoo/two/a.json"),
    ],
)
def test_files_of_two_runs_of_one_system(tmp_path: Path, name: str, file: str) -> None:
    first = tmp_path / Path(file).name
    second = tmp_path / "copy" / first.name
    second.parent.mkdir()
    for each in (first, second):
        shutil.copy(REAL / file, each)
    files: list[tuple[Path, str | None]] = [(first, "north"), (second, "north")]
    if name == "openinference":
        files = [(path, None) for path, _ in files]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format=name, predictions=files[:1])
    with pytest.raises(InputError) as error:
        ingest_predictions(warehouse, benchmark="b", format=name, files=files)
    assert SAID[name] in error.value.problems[0].message


def _number(path: Path, number: int) -> None:
    """Give the answers of a file the field `repeat`."""
    text = path.read_text()
    if path.suffix == ".csv":
        _with_column(path, "repeat", number)
    elif "\n{" in text or path.suffix == ".jsonl" or text.startswith('{"id"'):
        rows = [json.loads(each) for each in text.splitlines()]
        path.write_text("".join(json.dumps({**each, "repeat": number}) + "\n" for each in rows))
    else:
        rows = json.loads(text)
        for each in rows.values() if isinstance(rows, dict) else rows:
            each["repeat"] = number
        path.write_text(json.dumps(rows))


def _with_column(path: Path, name: str, value: int) -> None:
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([f"{header},{name}", *(f"{each},{value}" for each in rows)]))


@pytest.mark.parametrize("name", [name for name, said in SAID.items() if said.endswith("'repeat'")])
def test_the_field_repeat_numbers_answers_where_the_message_says_so(
    tmp_path: Path, name: str
) -> None:
    """Of every other format, the message names what that tool has."""
    files, copies = again(tmp_path, name)
    for copy in copies:
        _number(copy, 1)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    done = ingest(warehouse, [files])["b", "predictions"]
    assert done.problems == ()
    counts = "SELECT repeat, count(answer) FROM predictions GROUP BY 1 ORDER BY 1"
    (_, once), (_, twice) = warehouse.fetch(counts).rows()
    assert once == twice
    if name == "ragas":  # a column that is a score of ragas is reported
        kept = warehouse.fetch("SELECT DISTINCT reported FROM predictions").rows()
        assert "repeat" not in str(kept)


def test_no_other_format_says_the_field_repeat() -> None:
    assert set(formats()) - set(SAID) == {"huggingface", "langfuse", "mlflow"}
