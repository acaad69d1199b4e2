"""What bad and odd input does to the warehouse: a clear error, or a clear row."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError, UnknownFormat, WarehouseError
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warehouse.ingest.ingest import Ingested
    from warehouse.storage.location import Location

QUESTIONS = [{"question_id": f"q{n}", "question": f"Why {n}?"} for n in range(1, 9)]
PREDICTIONS = [{"question_id": f"q{n}", "answer": f"So {n}."} for n in range(1, 9)]


def jsonl(path: Path, rows: Sequence[object]) -> Path:
    path.write_text(
        "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in rows),
        encoding="utf-8",
    )
    return path


def changed(rows: Sequence[dict[str, Any]], at: int, **fields: object) -> list[dict[str, Any]]:
    return [{**row, **fields} if n == at else row for n, row in enumerate(rows, start=1)]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Warehouse(tmp_path_factory.mktemp("empty") / "w.duckdb")
    made.fingerprints("b")
    return made.path


@pytest.fixture
def warehouse(empty: Path, place: Location) -> Warehouse:
    if isinstance(place, Path):
        place.parent.mkdir()
        place.write_bytes(empty.read_bytes())
    return Warehouse(place)


def questions(warehouse: Warehouse, *paths: Path, **more: Any) -> Ingested:
    return ingest_questions(
        warehouse, **{"benchmark": "b", "format": "canonical", "questions": paths, **more}
    )


def predictions(warehouse: Warehouse, *files: tuple[Path, str | None], **more: Any) -> Ingested:
    return ingest_predictions(
        warehouse, **{"benchmark": "b", "format": "canonical", "files": files, **more}
    )


def contents(warehouse: Warehouse) -> list[object]:
    tables = ("questions", "predictions", "rejects", "marks")
    return [warehouse.fetch(f"SELECT * FROM {table} ORDER BY ALL").rows() for table in tables]


LONG = '{"question_id": "q5", "answer": "' + "x" * (17 * 2**20) + '"}'

BAD = [
    ("broken JSON", ['{"question_id": "q7", "answer": '], "p.jsonl:9: not JSON at column 33"),
    ("trailing comma", ['{"question_id": "q9",}'], "p.jsonl:9: not JSON at column"),
    ("no object", ["[1]"], "p.jsonl:9: expected a JSON object, found a list"),
    (
        "wrong type",
        [{"question_id": "q1", "answer": 5}],
        "p.jsonl:9: answer: expected text, found the number 5",
    ),
    ("missing id", [{"answer": "a"}], "p.jsonl:9: question_id: missing"),
    ("empty id", [{"question_id": ""}], "p.jsonl:9: question_id: expected text, found an empty"),
    ("NaN", ['{"question_id": "q1", "latency_s": NaN}'], "NaN is not a JSON number"),
    ("Infinity", ['{"question_id": "q1", "cost_usd": -Infinity}'], "p.jsonl:9: not JSON"),
    ("too large", ['{"question_id": "q1", "cost_usd": 1e999}'], "the number 1e999 is too large"),
    ("twice", [PREDICTIONS[0]], "a second prediction of 's' for question 'q1', the first in"),
    ("unknown", [{"question_id": "q11"}], "there is no question 'q11'; did you mean 'q1'?"),
    (
        "negative time",
        [{"question_id": "q1", "latency_s": -1.0}],
        "latency_s: expected a number of at least 0, found the number -1.0",
    ),
    (
        "some ranks",
        [{"question_id": "q1", "retrieved": [{"doc_id": "a", "rank": 1}, {"doc_id": "b"}]}],
        "retrieved.rank: expected for all documents or for none, found for 1 of 2",
    ),
    (
        "a number in contexts",
        [{"question_id": "q1", "contexts": ["a", 5]}],
        "contexts[1]: expected text, found the number 5",
    ),
    (
        "another system",
        [{"question_id": "q1", "system": "t"}],
        "system: the row says 't', its file's path 's'",
    ),
    ("a repeated key", ['{"question_id": "q1", "answer": "a", "answer": "b"}'], "occurs twice"),
    ("a long line", [LONG], "p.jsonl:9: the line is longer than 16 MiB"),
]


def test_reports_a_list_over_many_lines_once(warehouse: Warehouse, tmp_path: Path) -> None:
    questions(warehouse, jsonl(tmp_path / "q.jsonl", QUESTIONS))
    file = tmp_path / "p.jsonl"
    file.write_text('[\n  {"question_id": "q1"},\n  {"question_id": "q2"}\n]\n', encoding="utf-8")
    with pytest.raises(InputError) as refused:
        predictions(warehouse, (file, "s"))
    told = "expected a JSON object on each line, found the beginning of a list"
    assert str(refused.value) == f"{file}:1: {told}: rename a file with one list to .json"


@pytest.mark.parametrize(("rows", "said"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
@pytest.mark.file_only
def test_a_bad_prediction_stops_everything(
    warehouse: Warehouse, tmp_path: Path, rows: list[object], said: str
) -> None:
    questions(warehouse, jsonl(tmp_path / "q.jsonl", QUESTIONS))
    before = contents(warehouse)
    file = jsonl(tmp_path / "p.jsonl", [*PREDICTIONS, *rows])
    with pytest.raises(InputError) as caught:
        predictions(warehouse, (file, "s"))
    assert said in str(caught.value)
    assert [problem.line for problem in caught.value.problems] == [9]
    assert contents(warehouse) == before


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (QUESTIONS[2], "q.jsonl:9: question 'q3' occurs twice, first in"),
        (
            {"question_id": "x", "gold_doc_ids": "d"},
            "gold_doc_ids: expected a list, found the text",
        ),
        (
            {"question_id": "x", "correct_choice": "zz"},
            "correct_choice: expected a position from 0",
        ),
        (
            {"question_id": "x", "correct_choice": 2, "choices": ["a", "b"]},
            "correct_choice: position 2 is outside the 2 choices",
        ),
        ({"question_id": "x", "scenario": "none"}, "scenario: expected 'noise_robustness'"),
        ({"question_id": "x", "expected_answer": 5}, "expected_answer: expected text or a list"),
        (
            {"question_id": "x", "expected_parts": ["a", 5]},
            "expected_parts[1]: expected text or a list of texts, found the number 5",
        ),
        (
            {"question_id": "x", "expected_parts": [["a", None]]},
            "expected_parts[0][1]: expected text, found null",
        ),
        ({"question_id": "x", "gold_relevance": {"d": 1.5}}, "gold_relevance.d: expected a whole"),
        ({"question_id": "x", "rubric": {"scale": {"1": 5}}}, "rubric: scale.1: expected text"),
        ({"question_id": "x", "tags": {"a": [1]}}, "tags.a: expected text or a number, found a"),
        ({"question_id": "x", "noise_ratio": 2}, "noise_ratio: expected a number of at most 1"),
    ],
)
@pytest.mark.file_only
def test_a_bad_question_stops_everything(
    warehouse: Warehouse, tmp_path: Path, row: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        questions(warehouse, jsonl(tmp_path / "q.jsonl", [*QUESTIONS, row]))
    assert said in str(caught.value)
    assert caught.value.problems[0].line == 9
    assert contents(warehouse) == [[], [], [], []]


@pytest.mark.file_only
def test_a_repeated_question_names_both_lines(warehouse: Warehouse, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"q\.jsonl:9: .*q\.jsonl:3$"):
        questions(warehouse, jsonl(tmp_path / "q.jsonl", [*QUESTIONS, QUESTIONS[2]]))


@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff"])
@pytest.mark.parametrize("name", ["q.jsonl", "q.json", "q.csv"])
@pytest.mark.file_only
def test_an_empty_file_is_refused(
    warehouse: Warehouse, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="the file is empty"):
        questions(warehouse, tmp_path / name)


@pytest.mark.file_only
def test_invalid_utf8_names_the_line(warehouse: Warehouse, tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_bytes(b'{"question_id": "a"}\n{"question_id": "\xff"}\n')
    with pytest.raises(InputError, match=r"q\.jsonl:2: not UTF-8 at byte 18 of the line"):
        questions(warehouse, file)


@pytest.mark.file_only
def test_a_byte_order_mark_is_passed_over(warehouse: Warehouse, tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"question_id": "a"}\n')
    questions(warehouse, file)
    assert warehouse.fetch("SELECT question_id FROM questions").rows() == [("a",)]


@pytest.mark.file_only
def test_keeps_all_problems_and_shows_twenty(warehouse: Warehouse, tmp_path: Path) -> None:
    rows = [{"question_id": f"q{n}", "question": n} for n in range(30)]
    with pytest.raises(InputError) as caught:
        questions(warehouse, jsonl(tmp_path / "q.jsonl", rows))
    assert len(caught.value.problems) == 30
    assert "... and 10 more" in str(caught.value)


@pytest.mark.file_only
def test_many_problems_of_one_cause_do_not_hide_another(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    rows: list[dict[str, Any]] = [{"question_id": f"q{n}", "question": n} for n in range(50)]
    rows.append({"question_id": "last", "expected_answer": {"a": 1}})
    with pytest.raises(InputError) as caught:
        questions(warehouse, jsonl(tmp_path / "q.jsonl", rows))
    lines = str(caught.value).splitlines()
    file = tmp_path / "q.jsonl"
    # Of two causes, each has ten of the twenty lines.
    assert len(lines) == 10 + 1 + 1
    assert lines[0].startswith(f"{file}:1: question: expected text")
    assert lines[10] == f"{file}: ... and 40 more like these 10"
    assert lines[11].startswith(f"{file}:51: expected_answer: ")
    assert [problem.line for problem in caught.value.listed] == [*range(1, 11), 51]


def test_a_tolerated_share_of_bad_rows_goes_to_rejects(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    file = jsonl(tmp_path / "q.jsonl", changed(QUESTIONS, 7, question=5))
    done = questions(warehouse, file, max_reject_ratio=0.125)
    assert (done.rows, done.rejected) == (7, 1)
    rows = warehouse.fetch("SELECT kind, file, line, reason FROM rejects").rows()
    assert rows == [("questions", str(file), 7, "question: expected text, found the number 5")]
    with pytest.raises(InputError):
        questions(warehouse, file, max_reject_ratio=0.12)


def test_answers_that_are_missing_beside_others_are_counted(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    asked = [row["question_id"] for row in QUESTIONS]
    questions(warehouse, jsonl(tmp_path / "q.jsonl", QUESTIONS))
    # q2 has one of three answers, q3 has two, and q4 none.
    counts = dict.fromkeys(asked, 3) | {"q2": 1, "q3": 2, "q4": 0}
    rows = [
        {"question_id": name, "repeat": repeat, "answer": "x"}
        for name, count in counts.items()
        for repeat in range(count)
    ]
    done = predictions(warehouse, (jsonl(tmp_path / "s.jsonl", rows), "s"))
    assert done.notes == (
        "system 's' did not answer 1 question: 'q4'",
        "system 's': 2 of 3 answers to 'q2', 1 of 3 answers to 'q3' are missing",
    )


def test_what_a_system_left_out_counts_as_failed(warehouse: Warehouse, tmp_path: Path) -> None:
    questions(warehouse, jsonl(tmp_path / "q.jsonl", QUESTIONS))
    done = predictions(
        warehouse,
        (jsonl(tmp_path / "s.jsonl", PREDICTIONS[:6]), "s"),
        (jsonl(tmp_path / "t.jsonl", PREDICTIONS), "t"),
    )
    assert done.rows == 16
    assert done.notes == ("system 's' did not answer 2 questions: 'q7', 'q8'",)
    rows = warehouse.fetch(
        "SELECT system, question_id FROM predictions WHERE error = 'no prediction' ORDER BY ALL"
    ).rows()
    assert rows == [("s", "q7"), ("s", "q8")]


def test_the_same_files_are_not_read_again(warehouse: Warehouse, tmp_path: Path) -> None:
    file = jsonl(tmp_path / "q.jsonl", QUESTIONS)
    answers = jsonl(tmp_path / "p.jsonl", PREDICTIONS)
    first = questions(warehouse, file), predictions(warehouse, (answers, "s"))
    before = warehouse.fetch("SELECT * FROM marks ORDER BY ALL").rows()
    again = questions(warehouse, file), predictions(warehouse, (answers, "s"))
    assert [done.unchanged for done in (*first, *again)] == [False, False, True, True]
    assert [done.digest for done in first] == [done.digest for done in again]
    assert [done.rows for done in again] == [8, 8]
    assert warehouse.fetch("SELECT * FROM marks ORDER BY ALL").rows() == before
    assert not questions(warehouse, file, force=True).unchanged


def test_changed_questions_and_fewer_systems_leave_nothing_behind(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    answers = jsonl(tmp_path / "p.jsonl", PREDICTIONS[1:])
    questions(warehouse, jsonl(tmp_path / "q.jsonl", QUESTIONS[1:]))
    predictions(warehouse, (answers, "s"), (answers, "t"))
    questions(warehouse, jsonl(tmp_path / "q.jsonl", QUESTIONS))
    done = predictions(warehouse, (answers, "t"))
    assert not done.unchanged
    rows = warehouse.fetch("SELECT system, count(*), count(error) FROM predictions GROUP BY 1")
    assert rows.rows() == [("t", 8, 1)]


def test_other_benchmarks_stay_as_they_are(warehouse: Warehouse, tmp_path: Path) -> None:
    for name in ("b", "c"):
        questions(warehouse, jsonl(tmp_path / "q.jsonl", QUESTIONS), benchmark=name)
    questions(warehouse, jsonl(tmp_path / "q.jsonl", QUESTIONS[:2]))
    rows = warehouse.fetch("SELECT benchmark, count(*) FROM questions GROUP BY 1 ORDER BY 1")
    assert rows.rows() == [("b", 2), ("c", 8)]


@pytest.mark.parametrize("system", ["a/b", "it's", '"', ".x", "ü ★", "x" * 200, "a\\b", "%s$1"])
@pytest.mark.file_only
def test_any_printable_name_of_a_system_works(
    warehouse: Warehouse, tmp_path: Path, system: str
) -> None:
    questions(warehouse, jsonl(tmp_path / "q.jsonl", QUESTIONS))
    rows = [{**row, "system": system} for row in PREDICTIONS]
    predictions(warehouse, (jsonl(tmp_path / "p.jsonl", rows), None))
    predictions(warehouse, (jsonl(tmp_path / "p.jsonl", PREDICTIONS), system))
    found = warehouse.fetch("SELECT DISTINCT system FROM predictions").rows()
    assert found == [(system,)]


@pytest.mark.parametrize("system", ["", "  ", "a\nb", "a\0", "x" * 201, "\u2028"])
@pytest.mark.file_only
def test_an_unprintable_name_of_a_system_is_refused(
    warehouse: Warehouse, tmp_path: Path, system: str
) -> None:
    questions(warehouse, jsonl(tmp_path / "q.jsonl", QUESTIONS))
    rows = [{**row, "system": system} for row in PREDICTIONS]
    with pytest.raises(InputError, match="system"):
        predictions(warehouse, (jsonl(tmp_path / "p.jsonl", rows), None))
    with pytest.raises(InputError, match="system"):
        predictions(warehouse, (jsonl(tmp_path / "p.jsonl", PREDICTIONS), system))


@pytest.mark.file_only
def test_a_system_must_be_named(warehouse: Warehouse, tmp_path: Path) -> None:
    questions(warehouse, jsonl(tmp_path / "q.jsonl", QUESTIONS))
    with pytest.raises(InputError, match="system: missing; expected in the row, or as"):
        predictions(warehouse, (jsonl(tmp_path / "p.jsonl", PREDICTIONS), None))


@pytest.mark.file_only
def test_predictions_need_questions(warehouse: Warehouse, tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="benchmark 'b' has no questions"):
        predictions(warehouse, (jsonl(tmp_path / "p.jsonl", PREDICTIONS), "s"))


@pytest.mark.file_only
def test_an_unknown_format_suggests_a_near_one(warehouse: Warehouse, tmp_path: Path) -> None:
    with pytest.raises(UnknownFormat, match="did you mean 'canonical'"):
        questions(warehouse, tmp_path / "q.jsonl", format="canonicle")


@pytest.mark.parametrize("name", ["q.jsonl.gz", "q.jsonl.zst"])
@pytest.mark.file_only
def test_compressed_files_are_read_and_broken_ones_named(
    warehouse: Warehouse, tmp_path: Path, name: str
) -> None:
    plain = jsonl(tmp_path / "q.jsonl", QUESTIONS).read_bytes()
    file = tmp_path / name
    pack = gzip.compress if name.endswith("gz") else zstandard.ZstdCompressor().compress
    file.write_bytes(pack(plain))
    assert questions(warehouse, file).rows == 8
    file.write_bytes(plain)
    with pytest.raises(InputError, match=r"expected a whole (gzip|Zstandard) file"):
        questions(warehouse, file)


@pytest.mark.file_only
def test_a_missing_file_is_named(warehouse: Warehouse, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: cannot be read: No such file"):
        questions(warehouse, tmp_path / "none.jsonl")


def test_documents_are_cut_into_sentences(warehouse: Warehouse, tmp_path: Path) -> None:
    one = tmp_path / "one.json"
    one.write_text('{"doc_id": "d1", "sentences": ["A.", "B."]}')
    two = jsonl(
        tmp_path / "two.jsonl",
        [
            {"doc_id": "d2", "sentences": [{"sid": "x", "text": "C."}, {"id": 4, "text": "D."}]},
            {"doc_id": "d3", "text": "E."},
        ],
    )
    questions(warehouse, jsonl(tmp_path / "q.jsonl", QUESTIONS), documents=[one, two])
    rows = warehouse.fetch("SELECT * EXCLUDE benchmark FROM documents ORDER BY ALL").rows()
    assert rows == [
        ("d1", "S1", 1, "A."),
        ("d1", "S2", 2, "B."),
        ("d2", "4", 2, "D."),
        ("d2", "x", 1, "C."),
        ("d3", "S1", 1, "E."),
    ]
    jsonl(two, [{"doc_id": "d1"}, {"doc_id": "d2", "sentences": [5]}])
    with pytest.raises(InputError) as caught:
        questions(warehouse, tmp_path / "q.jsonl", documents=[one, two])
    assert "document 'd1' occurs twice, first in" in str(caught.value)
    assert "sentences[0]: expected text or an object, found the number 5" in str(caught.value)
