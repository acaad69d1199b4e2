"""Columns of ids, texts and scores are lists of what was retrieved, however they are written."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest

from warehouse.errors import InputError
from warehouse.formats.canonical import read_predictions, read_questions
from warehouse.formats.columns import Conversion
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.ragas import read_predictions as read_ragas

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from records.prediction import Prediction
    from warehouse.formats.columns import Target

IDS: Mapping[str, Target] = {"docs": "retrieved.doc_id"}
KINDS = ["p.jsonl", "p.json", "p.csv"]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            # As pandas and Python's csv write a list.
            writer.writerows({k: str(v) for k, v in row.items()} for row in rows)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path: Path, columns: Mapping[str, Target]) -> Prediction:
    (found,) = read_predictions(Source(path, "s", columns=columns))
    assert isinstance(found, Read), found
    return found.record


def reason(path: Path, columns: Mapping[str, Target]) -> str:
    (found,) = read_predictions(Source(path, "s", columns=columns))
    assert isinstance(found, Reject), found
    return found.reason


def items(record: Prediction) -> list[tuple[str | None, str | None, float | None]]:
    return [(each.doc_id, each.text, each.score) for each in record.retrieved or []]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("to", ["retrieved.doc_id", "retrieved"])
def test_ids_belong_to_the_contexts_of_the_row(tmp_path: Path, name: str, to: str) -> None:
    row = {"question_id": "a", "docs": ["kb/1", "kb/2"], "contexts": ["One.", "It's two."]}
    record = read(write(tmp_path / name, [row]), {"docs": to})
    assert items(record) == [("kb/1", "One.", None), ("kb/2", "It's two.", None)]
    assert record.contexts is None


@pytest.mark.parametrize("name", KINDS)
def test_ids_texts_and_scores_may_be_columns_of_their_own(tmp_path: Path, name: str) -> None:
    row = {"question_id": "a", "ids": ["x", "y"], "passages": ["X.", "Y."], "sims": [0.5, 0.25]}
    columns = {"ids": "retrieved.doc_id", "passages": "retrieved.text", "sims": "retrieved.score"}
    record = read(write(tmp_path / name, [row]), columns)
    assert items(record) == [("x", "X.", 0.5), ("y", "Y.", 0.25)]


@pytest.mark.parametrize("name", KINDS)
def test_texts_of_an_alias_belong_to_ids_as_well(tmp_path: Path, name: str) -> None:
    row = {"question_id": "a", "docs": ["x"], "retrieved_contexts": ["X."]}
    assert items(read(write(tmp_path / name, [row]), IDS)) == [("x", "X.", None)]


@pytest.mark.parametrize("name", KINDS)
def test_ids_alone_are_what_was_retrieved(tmp_path: Path, name: str) -> None:
    assert items(read(write(tmp_path / name, [{"question_id": "a", "docs": ["x", "y"]}]), IDS)) == [
        ("x", None, None),
        ("y", None, None),
    ]
    record = read(write(tmp_path / name, [{"question_id": "a", "docs": []}]), IDS)
    assert record.retrieved == []


@pytest.mark.parametrize("name", KINDS)
def test_different_lengths_are_named(tmp_path: Path, name: str) -> None:
    row = {"question_id": "a", "docs": ["x", "y", "z"], "passages": ["X.", "Y."]}
    path = write(tmp_path / name, [row])
    said = "passages: expected as many items as docs has, 3, found 2"
    assert reason(path, {**IDS, "passages": "contexts"}) == said
    assert reason(path, {**IDS, "passages": "retrieved.text"}) == said


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("kb/billing/0", ["kb/billing/0"]),
        ("kb/1, kb/2", ["kb/1", "kb/2"]),
        ("kb/1;kb/2;", ["kb/1", "kb/2"]),
        ("kb/1|kb/2", ["kb/1", "kb/2"]),
        ("kb/1\nkb/2, part b\n", ["kb/1", "kb/2, part b"]),
        ("Annual report.pdf", ["Annual report.pdf"]),
        ('["kb/1", "kb/2"]', ["kb/1", "kb/2"]),
        ("['kb/1', 'kb/2']", ["kb/1", "kb/2"]),
        ("[1, 2]", ["1", "2"]),
    ],
)
def test_ids_may_be_one_text(tmp_path: Path, name: str, text: str, ids: list[str]) -> None:
    path = write(tmp_path / name, [{"question_id": "a", "docs": text}])
    assert [each.doc_id for each in read(path, IDS).retrieved or []] == ids


def test_other_lists_of_ids_may_be_one_text(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("question_id,gold\na,kb/billing/0\nb,kb/1; kb/2\n")
    found = list(read_questions(Source(path, columns={"gold": "gold_doc_ids"})))
    assert [r.record.gold_doc_ids for r in found if isinstance(r, Read)] == [
        ["kb/billing/0"],
        ["kb/1", "kb/2"],
    ]
    # Under its own name, the field is a list: a text there may be a mistake.
    path.write_text("question_id,gold_doc_ids\na,kb/billing/0\n")
    (refused,) = read_questions(Source(path))
    assert isinstance(refused, Reject)
    assert refused.reason.startswith("gold_doc_ids: expected JSON, found 'kb/billing/0'")


@pytest.mark.parametrize("name", KINDS)
def test_it_must_be_clear_what_separates_ids(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, [{"question_id": "a", "docs": "Smith, 2020; Jones, 2021"}])
    assert "cannot tell what separates the items" in reason(path, IDS)
    columns = {"docs": Conversion("retrieved.doc_id", separator=";")}
    assert [e.doc_id for e in read(path, columns).retrieved or []] == ["Smith, 2020", "Jones, 2021"]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    "text",
    [
        "Q1 report, final.pdf",
        "kb/1, Annual report.pdf",
        "Minutes of May; draft.pdf",
        "kb/1,kb/Annual report.pdf",
        "Smith, J., Notes on crows.pdf",
    ],
)
def test_separators_in_names_with_spaces_are_not_guessed(
    tmp_path: Path, name: str, text: str
) -> None:
    path = write(tmp_path / name, [{"question_id": "a", "docs": text}])
    said = reason(path, IDS)
    assert said.startswith("docs: cannot tell whether a ")
    assert said.endswith("name the `separator` in `columns`")
    columns = {"docs": Conversion("retrieved.doc_id", separator="|")}
    assert [each.doc_id for each in read(path, columns).retrieved or []] == [text]


@pytest.mark.parametrize(
    ("text", "ids"),
    [("Q1 report.pdf|Q2 report.pdf", 2), ("Annual report.pdf;", 1), ("Annual report.pdf\nb", 2)],
)
def test_what_no_name_contains_separates_names_with_spaces(
    tmp_path: Path, text: str, ids: int
) -> None:
    path = write(tmp_path / "p.jsonl", [{"question_id": "a", "docs": text}])
    assert len(read(path, IDS).retrieved or []) == ids


@pytest.mark.parametrize("name", KINDS)
def test_scores_that_are_no_numbers_are_named(tmp_path: Path, name: str) -> None:
    row = {"question_id": "a", "docs": "x;y", "sims": "0.5;high"}
    path = write(tmp_path / name, [row])
    columns = {**IDS, "sims": "retrieved.score"}
    assert reason(path, columns) == "sims: expected a number, found 'high'"


HUGE = "9" * 400


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("retrieved.score", HUGE),
        ("retrieved.score", f"1;{HUGE}"),
        ("retrieved.score", f"[{HUGE}]"),
        (Conversion("latency_s", scale=0.001), HUGE),
    ],
)
def test_numbers_beyond_floats_are_refused(
    tmp_path: Path, name: str, target: Target, text: str
) -> None:
    path = write(tmp_path / name, [{"question_id": "a", "n": text}])
    assert reason(path, {"n": target}).startswith(("n: expected", "latency_s: expected"))


@pytest.mark.parametrize("to", ["retrieved.score", Conversion("latency_s", scale=0.001)])
def test_numbers_of_json_beyond_floats_are_refused(tmp_path: Path, to: Target) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(f'{{"question_id": "a", "n": {HUGE}}}')
    assert "the number 99999999999999999999... is too large" in reason(path, {"n": to})


@pytest.mark.parametrize(
    ("cell", "texts"),
    [
        ("['One.', \"It's two.\"]", ["One.", "It's two."]),
        ('["One."]', ["One."]),
        ("('One.', 'Two.')", ["('One.', 'Two.')"]),
        ("One; and two.", ["One; and two."]),
    ],
)
def test_lists_as_python_prints_them(tmp_path: Path, cell: str, texts: list[str]) -> None:
    path = write(tmp_path / "p.csv", [{"question_id": "a", "ctx": cell}])
    assert read(path, {"ctx": "contexts"}).contexts == texts


@pytest.mark.parametrize("cell", ["[b'x']", "[{1, 2}]", "[1j]", "[nan]", "[__import__('os')]"])
def test_what_python_prints_but_json_cannot_hold_is_refused(tmp_path: Path, cell: str) -> None:
    path = write(tmp_path / "p.csv", [{"question_id": "a", "contexts": cell}])
    assert reason(path, {}).startswith("contexts: expected JSON, found")


@pytest.mark.parametrize("name", KINDS)
def test_files_may_lack_optional_columns_only(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, [{"question_id": "a", "reply": "So."}])
    columns: dict[str, Target] = {"reply": "answer", "ms": Conversion("latency_s", 0.001)}
    with pytest.raises(InputError, match="no column 'ms', which `columns` names"):
        list(read_predictions(Source(path, "s", columns=columns)))
    columns["ms"] = Conversion("latency_s", 0.001, optional=True)
    assert read(path, columns).answer == "So."
    path = write(tmp_path / name, [{"question_id": "a", "reply": "So.", "ms": 1500}])
    assert read(path, columns).latency_s == 1.5


@pytest.mark.parametrize("name", KINDS)
def test_rows_may_have_the_field_itself_instead(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, [{"question_id": "a", "answer": "So."}])
    columns = {"key": "question_id", "reply": "answer"}
    if name.endswith(".csv"):
        with pytest.raises(InputError, match="no column 'key', which `columns` names"):
            list(read_predictions(Source(path, "s", columns=columns)))
    else:
        assert read(path, columns).answer == "So."


@pytest.mark.parametrize("name", KINDS)
def test_ragas_pairs_ids_with_its_own_texts(tmp_path: Path, name: str) -> None:
    row = {"user_input": "?", "docs": ["x", "y"], "retrieved_contexts": ["X.", "Y."], "sims": "1;0"}
    columns = {**IDS, "sims": "retrieved.score"}
    (found,) = read_ragas(Source(write(tmp_path / name, [row]), "s", columns=columns))
    assert isinstance(found, Read), found
    assert items(found.record) == [("x", "X.", 1.0), ("y", "Y.", 0.0)]
