"""The fast path gives the rows that row-by-row validation gives, or refuses the file."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.services import REQUIRED
from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.ingest import plan
from warehouse.ingest.fast_path import NotFastPath
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Callable


def refuse(*_: object) -> list[Any]:
    raise NotFastPath("by the test")


def fail(*_: object, **__: object) -> list[Any]:
    raise AssertionError("the fast path refused the file")


def read_in(
    route: str, path: Path, read: Callable[[Warehouse], object], table: str
) -> list[dict[str, Any]] | str:
    """The rows that one route reads, or `not fast path`, or `invalid`."""
    warehouse = Warehouse(path)
    with pytest.MonkeyPatch.context() as patch:
        if route == "row by row":
            patch.setattr(plan, "scan_questions", refuse)
            patch.setattr(plan, "scan_predictions", refuse)
        else:
            patch.setattr(plan, "write_questions", fail)
            patch.setattr(plan, "write_predictions", fail)
        try:
            read(warehouse)
        except AssertionError:
            return "not fast path"
        except InputError:
            return "invalid"
    return rows_of(warehouse, table)


def rows_of(warehouse: Warehouse, table: str) -> list[dict[str, Any]]:
    frame = warehouse.fetch(f"SELECT * FROM {table}")
    rows = frame.drop("line", strict=False).to_dicts()
    for row in rows:
        for name in ("extra", "rubric", "constraints", "messages", "reported"):
            if row.get(name) is not None:
                row[name] = json.loads(row[name])
    return sorted(rows, key=lambda row: (row.get("system", ""), row["question_id"]))


TEXT = st.one_of(
    st.sampled_from(["", "a", "é", "NaN", "Infinity", "[1]", '{"a": 1}', "true", "5", "1e999"]),
    st.text(st.characters(codec="utf-8"), max_size=6),
)
NUMBER = st.one_of(
    st.integers(-3, 9),
    st.sampled_from([2**53, 2**63, 2**64, 10**25, -0.0, 1e22, 1e-9, 0.1, 1.5, 1.0]),
    st.floats(allow_nan=False, allow_infinity=False),
)
SCALAR = st.one_of(TEXT, NUMBER, st.booleans(), st.none())
ANYTHING = st.recursive(
    SCALAR, lambda x: st.lists(x, max_size=3) | st.dictionaries(TEXT, x, max_size=2), max_leaves=4
)
ID = st.one_of(st.sampled_from(["a", "b", "S1"]), st.integers(-1, 3), TEXT)


def mostly(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 30).flatmap(lambda n: ANYTHING if n == 0 else usual)


RETRIEVED = st.fixed_dictionaries(
    {},
    optional={
        "doc_id": ID,
        "chunk_id": ID,
        "rank": st.integers(1, 4) | NUMBER,
        "score": NUMBER,
        "text": TEXT,
        "title": ANYTHING,
        "id": ID,
        "docid": ID,
    },
)
FULL = st.fixed_dictionaries({"doc_id": ID, "score": st.floats(-1, 1)})
RANKED = st.fixed_dictionaries({"doc_id": ID, "rank": st.integers(1, 4), "text": TEXT})

PREDICTION = st.fixed_dictionaries(
    {},
    optional={
        "answer": mostly(TEXT),
        "contexts": mostly(st.lists(TEXT, max_size=3)),
        "retrieved": mostly(
            st.lists(FULL, max_size=4)
            | st.lists(RANKED, max_size=4)
            | st.lists(RETRIEVED, max_size=2)
        ),
        "cited_sentence_ids": mostly(st.lists(ID, max_size=3)),
        "choice_logprobs": mostly(st.lists(st.floats(-9, 0.002) | st.none(), max_size=3)),
        "choice_probs": mostly(st.lists(st.floats(-0.001, 1.002) | st.none(), max_size=3)),
        "label": mostly(ID),
        "latency_s": mostly(st.floats(0, 9)),
        "cost_usd": mostly(st.floats(0, 9) | st.integers(0, 3)),
        "error": mostly(TEXT),
        "history": st.none(),
        "messages": mostly(st.none() | st.just([{"role": "assistant", "content": "x"}])),
        "tokens_in": mostly(st.integers(0, 3) | st.sampled_from([2**53, 2**53 + 1, 2**63])),
        "started_at": mostly(st.floats(0, 9)),
        "trace_id": mostly(ID),
        "error_kind": mostly(st.sampled_from(["system", "other"])),
        "reported": mostly(st.none() | st.dictionaries(TEXT, NUMBER, max_size=2)),
        "Answer": TEXT,
        "model": ANYTHING,
        "usage": ANYTHING,
    },
)
QUESTION = st.fixed_dictionaries(
    {},
    optional={
        "question": mostly(TEXT),
        "expected_answer": mostly(TEXT | st.lists(TEXT, max_size=2)),
        "expected_parts": mostly(st.lists(mostly(st.lists(TEXT, max_size=2)) | TEXT, max_size=2)),
        "expected_label": mostly(ID),
        "doc_id": mostly(ID),
        "gold_doc_ids": mostly(st.lists(ID, max_size=3)),
        "gold_relevance": mostly(st.dictionaries(TEXT, st.integers(-1, 3), max_size=3)),
        "gold_sentence_ids": mostly(st.lists(ID, max_size=3)),
        "rubric": mostly(
            st.fixed_dictionaries(
                {}, optional={"description": TEXT, "scale": st.dictionaries(TEXT, TEXT)}
            )
        ),
        "constraints": mostly(st.lists(ANYTHING, max_size=2)),
        "choices": mostly(st.lists(ID, min_size=2, max_size=3)),
        "correct_choice": mostly(st.integers(0, 2) | st.sampled_from(["A", "b", "D"])),
        "scenario": mostly(st.just("noise_robustness")),
        "noise_ratio": mostly(st.floats(0, 1)),
        "cluster": mostly(ID),
        "tags": mostly(st.dictionaries(TEXT, SCALAR, max_size=3)),
        "messages": mostly(st.none() | st.just([{"role": "user"}])),
        "tools": mostly(st.none()),
        "expected_tool_calls": mostly(st.none()),
        "topics": mostly(TEXT | st.lists(TEXT, max_size=2)),
        "turn": mostly(st.integers(0, 3) | st.just(2**31)),
        "conversation_id": mostly(ID),
        "source": ANYTHING,
        "Tags": TEXT,
    },
)


@st.composite
def files(draw: st.DrawFn, row: st.SearchStrategy[dict[str, Any]]) -> str:
    """The text of a file of up to four rows q0 to q3, mostly with an id."""
    lines = []
    for number in range(draw(st.integers(1, 4))):
        fields: dict[str, Any] = draw(row)
        named: object = f"q{number}"
        if draw(st.integers(0, 30)) == 0:
            named = draw(ID)
        line = json.dumps({"question_id": named, **fields}, ensure_ascii=draw(st.booleans()))
        match draw(st.integers(0, 60)):
            case 0:
                line = line.replace(":", " :", 1).replace("}", ",}")
            case 1:
                line = line.replace('"', '"\\u0061', 1)
            case 2:
                line = line[:-1] + ', "answer": "twice", "question": "twice"}'
            case 3:
                line = line.replace("1", "NaN")
        lines.append(line)
    return draw(st.sampled_from(["\n", "\r\n", "\n\n"])).join(lines)


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with the questions q0 to q3, to be copied."""
    folder = tmp_path_factory.mktemp("four")
    questions = folder / "q.jsonl"
    questions.write_text("".join(f'{{"question_id": "q{n}"}}\n' for n in range(4)))
    warehouse = Warehouse(folder / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="canonical", questions=[questions])
    return warehouse.path


COMMON = settings(
    max_examples=40 if REQUIRED else 15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@COMMON
@given(text=files(PREDICTION))
@example(text='{"question_id": "q0", "messages": null, "history": null, "reported": null}')
@example(text=f'{{"question_id": "q0", "tokens_in": {2**53 + 1}}}')
def test_both_routes_read_the_same_predictions(four: Path, text: str) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "p.jsonl"
        file.write_text(text, encoding="utf-8", newline="")
        found = {}
        for route in ("fast", "row by row"):
            path = folder / f"{route}.duckdb"
            path.write_bytes(four.read_bytes())
            found[route] = read_in(
                route,
                path,
                lambda w: ingest_predictions(
                    w, benchmark="b", format="canonical", files=[(file, "s")]
                ),
                "predictions",
            )
    assert found["fast"] in ("not fast path", found["row by row"])


@COMMON
@given(text=files(QUESTION))
@example(text='{"question_id": "a", "question": "?", "tags": {"\x7f": null}}')
@example(text='{"question_id": "a", "messages": null, "tools": null, "expected_tool_calls": null}')
def test_both_routes_read_the_same_questions(four: Path, text: str) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "q.jsonl"
        file.write_text(text, encoding="utf-8", newline="")
        found = {}
        for route in ("fast", "row by row"):
            path = folder / f"{route}.duckdb"
            path.write_bytes(four.read_bytes())
            found[route] = read_in(
                route,
                path,
                lambda w: ingest_questions(w, benchmark="b", format="canonical", questions=[file]),
                "questions",
            )
    assert found["fast"] in ("not fast path", found["row by row"])


@pytest.mark.parametrize(
    ("key", "values", "order"),
    [
        ("text", ["z", "y", "x"], "abc"),
        ("score", [3, 2, 2], "acb"),
        ("score", [2, 3, 3], "cba"),
        ("score", [1, 1, 1], "cba"),
        # As 32-bit numbers these are equal.
        ("score", [1.00000001, 1, 0], "bac"),
        ("score", [1e300, 1e39, -1e300], "bac"),
        ("rank", [1, 2, 3], "abc"),
        ("rank", [2, 4, 9], "abc"),
        ("rank", [3, 1, 2], "bca"),
    ],
)
def test_documents_are_sorted_by_rank_or_score_with_their_texts(
    four: Path, tmp_path: Path, key: str, values: list[object], order: str
) -> None:
    file = tmp_path / "p.jsonl"
    documents = [
        {"doc_id": name, "text": name, key: value}
        for name, value in zip("abc", values, strict=True)
    ]
    file.write_text(json.dumps({"question_id": "q0", "retrieved": documents}) + "\n")
    for route in ("fast", "row by row"):
        path = tmp_path / f"{route}.duckdb"
        path.write_bytes(four.read_bytes())
        (row,) = read_in(
            route,
            path,
            lambda w: ingest_predictions(w, benchmark="b", format="canonical", files=[(file, "s")]),
            "(FROM predictions WHERE question_id = 'q0')",
        )
        assert row["retrieved_doc_ids"] == list(order)
        assert row["contexts"] == (values if key == "text" else list(order))


def test_an_ordinary_file_takes_the_fast_path(four: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a [b] * c?"
    folder.mkdir()
    path = tmp_path / "w's.duckdb"
    path.write_bytes(four.read_bytes())
    file = folder / "p's.jsonl"
    file.write_text(
        '{"question_id": "q0", "answer": "é", "retrieved": [{"doc_id": "a", "score": 1, "rank": 2},'
        ' {"doc_id": 7, "rank": 1, "score": 0.5}], "model": "m", "extra": [1]}\n'
        '{"question_id": "q1", "retrieved": [{"doc_id": "a", "score": 1}, '
        '{"doc_id": "b", "score": 2}, {"doc_id": "c", "score": 1}]}\n'
        '{"question_id": "q2", "contexts": ["x"], "choice_probs": [0.5, 0]}\n'
        '{"question_id": "q3", "retrieved": []}\n',
        encoding="utf-8",
    )
    rows = read_in(
        "fast",
        path,
        lambda w: ingest_predictions(w, benchmark="b", format="canonical", files=[(file, "s")]),
        "predictions",
    )
    assert isinstance(rows, list)
    assert [row["retrieved_doc_ids"] for row in rows] == [["7", "a"], ["b", "c", "a"], None, []]
    assert [row["retrieved_scores"] for row in rows] == [[0.5, 1.0], [2.0, 1.0, 1.0], None, None]
    assert rows[0]["extra"] == {"extra": [1], "model": "m"}
    assert rows[2]["contexts"] == ["x"]
    assert rows[2]["choice_logprobs"] == [pytest.approx(-0.6931471805599453), None]


@pytest.mark.parametrize(
    ("given_parts", "route"),
    [([["a", "A"], []], "fast"), ([["a", "A"], "b"], "row by row")],
    ids=["lists", "text for one spelling"],
)
def test_parts_of_an_answer_are_lists_of_spellings(
    four: Path, tmp_path: Path, given_parts: list[Any], route: str
) -> None:
    path = tmp_path / "w.duckdb"
    path.write_bytes(four.read_bytes())
    file = tmp_path / "q.jsonl"
    file.write_text(json.dumps({"question_id": "q0", "expected_parts": given_parts}))
    rows = read_in(
        route,
        path,
        lambda w: ingest_questions(w, benchmark="b", format="canonical", questions=[file]),
        "questions",
    )
    assert isinstance(rows, list)
    expected = [each if isinstance(each, list) else [each] for each in given_parts]
    assert [(row["expected_parts"], row["extra"]) for row in rows] == [(expected, None)]
