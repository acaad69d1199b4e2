"""Folders that the package `datasets` writes are read, split by split."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assets.fingerprints.input_files import benchmark_files
from assets.project import Benchmark
from warehouse.errors import InputError
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.huggingface import files_of, read_questions
from warehouse.ingest.ingest import ingest
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    datasets = pytest.importorskip("datasets", reason="the package `datasets` is not installed")


@pytest.fixture(autouse=True)
def _quietly() -> Iterator[None]:
    datasets.disable_progress_bars()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield


def questions(*names: str) -> Any:
    features = datasets.Features(
        {
            "question_id": datasets.Value("string"),
            "question": datasets.Value("string"),
            "expected_answer": datasets.List(datasets.Value("string")),
            "expected_label": datasets.ClassLabel(names=["no", "yes"]),
            "gold_relevance": datasets.Value("string"),
            "tags": {"lang": datasets.Value("string")},
            "topics": datasets.List(datasets.ClassLabel(names=["birds", "fish"])),
        }
    )
    count = len(names)
    rows = {
        "question_id": list(names),
        "question": [f"What is {name}?" for name in names],
        "expected_answer": [[name, name.upper()] for name in names],
        "expected_label": [1, 0, -1][:count],
        "gold_relevance": ['{"d1": 2}', None, None][:count],
        "tags": [{"lang": "de"}, {"lang": None}, {"lang": "en"}][:count],
        "topics": [[1, 0], [], [0]][:count],
    }
    return datasets.Dataset.from_dict(rows, features=features)


def answers(system: str, *names: str) -> Any:
    rows = {
        "question_id": list(names),
        "system": [system for _ in names],
        "answer": [f"{name}!" for name in names],
        "retrieved": [[{"doc_id": "d1", "score": 0.5}] for _ in names],
        "label": ["yes" for _ in names],
    }
    return datasets.Dataset.from_dict(rows)


def ingest_folders(folder: Path, predictions: str, split: str | None = "test") -> Warehouse:
    benchmark = Benchmark(
        name="b",
        format="huggingface",
        questions=folder / "questions",
        predictions=folder / predictions,
        split=split,
        evaluators=(),
    )
    warehouse = Warehouse(folder / "w.duckdb")
    ingest(warehouse, [benchmark_files(benchmark)])
    return warehouse


def test_a_split_of_a_saved_dictionary_is_read(tmp_path: Path) -> None:
    both = datasets.DatasetDict(test=questions("a", "b", "c"), train=questions("x"))
    both.save_to_disk(tmp_path / "questions", num_shards={"test": 2, "train": 1})
    answers("north", "a", "b", "c").save_to_disk(tmp_path / "answers")
    warehouse = ingest_folders(tmp_path, "answers")
    read = warehouse.fetch(
        "SELECT question_id, question, expected_answers, expected_label, gold_relevance, tags, "
        "topics FROM questions ORDER BY 1"
    ).rows()
    assert read == [
        (
            "a",
            "What is a?",
            ["a", "A"],
            "yes",
            [{"doc_id": "d1", "grade": 2}],
            {"lang": "de"},
            ["fish", "birds"],
        ),
        ("b", "What is b?", ["b", "B"], "no", None, {}, []),
        ("c", "What is c?", ["c", "C"], None, None, {"lang": "en"}, ["birds"]),
    ]
    predictions = warehouse.fetch(
        "SELECT question_id, system, answer, retrieved_doc_ids, label FROM predictions ORDER BY 1"
    ).rows()
    assert predictions == [(name, "north", f"{name}!", ["d1"], "yes") for name in ("a", "b", "c")]


@pytest.mark.parametrize(
    "name", ["data/test-00000-of-00001.parquet", "test.parquet", "test/0000.parquet"]
)
def test_parquet_files_are_found_as_on_the_hub(tmp_path: Path, name: str) -> None:
    given = (("questions", questions("a")), ("answers/north", answers("north", "a")))
    for folder, data in given:
        for split, rows in (("test", data), ("validation", questions("y"))):
            path = tmp_path / folder / name.replace("test", split)
            path.parent.mkdir(parents=True, exist_ok=True)
            rows.to_parquet(path)
    (tmp_path / "questions" / "README.md").write_text("# A dataset")
    warehouse = ingest_folders(tmp_path, "answers/{system}")
    read = warehouse.fetch("SELECT question_id, expected_label FROM questions").rows()
    assert read == [("a", "yes")]
    assert warehouse.fetch("SELECT system, answer FROM predictions").rows() == [("north", "a!")]


def test_the_only_split_needs_no_name(tmp_path: Path) -> None:
    datasets.DatasetDict(dev=questions("a")).save_to_disk(tmp_path)
    assert files_of(tmp_path, None) == [tmp_path / "dev" / "data-00000-of-00001.arrow"]


def test_a_split_that_is_not_there_is_named(tmp_path: Path) -> None:
    both = datasets.DatasetDict(test=questions("a"), validation=questions("b"))
    both.save_to_disk(tmp_path)
    with pytest.raises(InputError, match="there is no split 'valid'; did you mean 'validation'"):
        files_of(tmp_path, "valid")
    with pytest.raises(InputError, match="the key `split`, one of 'test', 'validation'"):
        files_of(tmp_path, None)


def test_another_split_than_the_saved_one_is_refused(tmp_path: Path) -> None:
    datasets.DatasetDict(test=questions("a")).save_to_disk(tmp_path / "all")
    questions("a").to_parquet(tmp_path / "train.parquet")
    loaded = datasets.Dataset.from_parquet(
        str(tmp_path / "train.parquet"), split="train", cache_dir=str(tmp_path / "cache")
    )
    loaded.save_to_disk(tmp_path / "one")
    with pytest.raises(InputError, match="holds the split 'train', expected 'test'"):
        files_of(tmp_path / "one", "test")


def test_missing_and_foreign_files_are_refused(tmp_path: Path) -> None:
    questions("a", "b").save_to_disk(tmp_path / "saved", num_shards=2)
    (tmp_path / "saved" / "data-00001-of-00002.arrow").unlink()
    with pytest.raises(InputError, match=r"data-00001-of-00002.arrow: the file is missing"):
        files_of(tmp_path / "saved", None)
    state = tmp_path / "saved" / "state.json"
    state.write_text(json.dumps({"_data_files": [{"filename": "../../secret"}]}))
    with pytest.raises(InputError, match="names of files in this folder"):
        files_of(tmp_path / "saved", None)
    (tmp_path / "hub").mkdir()
    with pytest.raises(InputError, match=r"expected dataset_dict.json or state.json"):
        files_of(tmp_path / "hub", None)
    questions("a").to_parquet(tmp_path / "hub" / "test-00001-of-00002.parquet")
    with pytest.raises(InputError, match="expected 2 files of this split, found 1"):
        files_of(tmp_path / "hub", "test")


HUB = "expected {} files of this split, found {}; missing: {}"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["test-00000-of-00002"], HUB.format(2, 1, "00001")),
        (["test-00001-of-00003", "test-00002-of-00003"], HUB.format(3, 2, "00000")),
        (["data/test-00000-of-00002"], HUB.format(2, 1, "00001")),
        (
            ["test-00000-of-00014"],
            HUB.format(14, 1, ", ".join(f"{n:05}" for n in range(1, 11)) + " and 3 more"),
        ),
        (
            ["test-00000-of-00002-ab12", "test-00000-of-00002-cd34", "test-00001-of-00002-ab12"],
            "expected 2 files of this split, found 3",
        ),
        (
            ["test-00000-of-00001", "test-00000-of-00002", "test-00001-of-00002"],
            "expected one count of files in their names, found 1, 2",
        ),
        (
            ["de/test-00000-of-00002", "en/test-00001-of-00002"],
            "expected the files of a split in one folder, found {0}/de, {0}/en",
        ),
    ],
)
def test_shards_are_read_whole_or_not_at_all(tmp_path: Path, names: list[str], said: str) -> None:
    for name in [*names, "dev-00000-of-00001"]:
        path = tmp_path / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        questions("a").to_parquet(path)
    with pytest.raises(InputError) as raised:
        files_of(tmp_path, "test")
    (problem,) = raised.value.problems
    assert problem.message == said.format(tmp_path)
    # Another split may be there alone: downloads need not have all splits.
    assert files_of(tmp_path, "dev") == [tmp_path / "dev-00000-of-00001.parquet"]


def test_images_are_named(tmp_path: Path) -> None:
    features = datasets.Features(
        {"question_id": datasets.Value("string"), "image": datasets.Image()}
    )
    # As stored already: encoding an image anew would take Pillow.
    rows = pa.Table.from_pylist(
        [{"question_id": "a", "image": {"bytes": b"\x89PNG", "path": None}}],
        schema=features.arrow_schema,
    )
    info = datasets.DatasetInfo(features=features)
    datasets.Dataset(datasets.table.InMemoryTable(rows), info=info).save_to_disk(tmp_path)
    (file,) = files_of(tmp_path, None)
    with pytest.raises(InputError, match=r"'image': images, audio .*remove_columns\(\['image'\]\)"):
        list(read_questions(Source(file)))


def test_damaged_files_and_rows_are_named(tmp_path: Path) -> None:
    rows = {"question_id": ["a", "b"], "gold_relevance": ['{"d1": 2}', "{'d1': 2"]}
    datasets.Dataset.from_dict(rows).save_to_disk(tmp_path)
    (file,) = files_of(tmp_path, None)
    read = list(read_questions(Source(file)))
    (reject,) = [each for each in read if isinstance(each, Reject)]
    assert (len(read), reject.line) == (2, 2)
    assert reject.reason.startswith("gold_relevance: expected JSON, found")
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(InputError, match="not a dataset file, or damaged"):
        list(read_questions(Source(file)))
    file.write_bytes(b"something else")
    with pytest.raises(InputError, match="not a dataset file, or damaged"):
        list(read_questions(Source(file)))


def test_a_missing_column_is_named_with_those_found(tmp_path: Path) -> None:
    questions("a").rename_column("question_id", "number").save_to_disk(tmp_path)
    (file,) = files_of(tmp_path, None)
    with pytest.raises(InputError, match="no column 'question_id'; found 'number', 'question'"):
        list(read_questions(Source(file)))


def test_a_text_that_begins_with_a_bracket_stays_a_text(tmp_path: Path) -> None:
    rows = {"question_id": ["a", "b"], "expected_answer": ["[1] Paris", '["Paris", "Rome"]']}
    datasets.Dataset.from_dict(rows).save_to_disk(tmp_path)
    (file,) = files_of(tmp_path, None)
    read = [each for each in read_questions(Source(file)) if isinstance(each, Read)]
    assert [each.record.expected_answer for each in read] == [["[1] Paris"], ["Paris", "Rome"]]


def test_many_rows_are_numbered_over_batches(tmp_path: Path) -> None:
    names = [f"q{number}" for number in range(2_500)]
    datasets.Dataset.from_dict({"question_id": names}).save_to_disk(tmp_path)
    (file,) = files_of(tmp_path, None)
    read = [each for each in read_questions(Source(file)) if isinstance(each, Read)]
    assert [each.record.question_id for each in read] == names
    assert [each.line for each in read] == list(range(1, 2_501))
