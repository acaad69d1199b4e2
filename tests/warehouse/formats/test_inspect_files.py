"""Logs that inspect_ai 0.3.285 wrote: epochs, options, scores and withheld answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.formats.inspect_scores import correct_options, correct_position
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Sequence

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
LOGS = Path(__file__).parents[2] / "data" / "real" / "inspect"


def ingested(folder: Path, files: Sequence[tuple[Path, str | None]]) -> Warehouse:
    warehouse = Warehouse(folder / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="inspect", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="inspect", files=files)
    assert done.problems == ()
    return warehouse


def logs(*tasks: str, system: str | None = None) -> list[tuple[Path, str | None]]:
    found = [(path, system) for task in tasks for path in sorted(LOGS.glob(f"*_{task}_*"))]
    assert found
    return found


def rows(warehouse: Warehouse, columns: str) -> list[tuple[Any, ...]]:
    return warehouse.fetch(
        f"SELECT {columns} FROM predictions ORDER BY system, question_id, repeat"
    ).rows()


def test_tasks_have_as_many_epochs_as_they_have(tmp_path: Path) -> None:
    found = rows(ingested(tmp_path, logs("often", "once")), "question_id, repeat, error")
    assert found == [
        *(("often/crows", epoch, None) for epoch in range(3)),
        ("once/geese", 0, None),
    ]


def test_tasks_of_two_models_in_one_benchmark(tmp_path: Path) -> None:
    """Four questions in 3 epochs, two in 2, and two in one, the last of them withheld."""
    found = rows(
        ingested(tmp_path, logs("animals", "mc", "turns")), "system, question_id, repeat, error"
    )
    questions = [
        *((f"animals/{name}", 3) for name in ("crows", "fish", "geese", "lions")),
        *((f"mc/{n}", 2) for n in (1, 2)),
        *((f"turns/{n}", 1) for n in (1, 2)),
    ]
    assert [each[:3] for each in found] == [
        (f"openai/{model}", question, repeat)
        for model in ("large", "small")
        for question, epochs in questions
        for repeat in range(epochs)
    ]
    failed = [(system, question) for system, question, _, error in found if error is not None]
    assert failed == [("openai/large", "turns/2"), ("openai/small", "turns/2")]


def test_a_task_that_a_system_left_out_has_failed_once(tmp_path: Path) -> None:
    """South did not run the task of which north has three epochs."""
    ((often, _),), ((once, _),) = logs("often"), logs("once")
    files = [(often, "north"), (once, "north"), (once, "south")]
    found = rows(ingested(tmp_path, files), "system, question_id, repeat, error IS NULL")
    assert [each for each in found if each[0] == "south"] == [
        ("south", "often/crows", 0, False),
        ("south", "once/geese", 0, True),
    ]


def test_what_inspect_scored_is_reported(tmp_path: Path) -> None:
    warehouse = ingested(tmp_path, logs("animals", "mc", "several"))
    found = {
        (system, question, repeat): json.loads(reported or "{}")
        for system, question, repeat, reported in rows(
            warehouse, "system, question_id, repeat, reported"
        )
    }
    assert found["openai/large", "animals/lions", 2] == {"includes": 1.0, "f1": 1.0}
    assert found["openai/small", "animals/fish", 0] == {"includes": 0.0, "f1": 0.0}
    assert found["openai/small", "mc/2", 1] == {"choice": 0.0}
    # The third value of the scorer is NaN: it has no score.
    expected = {"several.length": 9, "several.short": True}
    assert found["mockllm/model", "several/crows", 0] == expected


def test_the_option_found_in_the_answer_is_the_label(tmp_path: Path) -> None:
    warehouse = ingested(tmp_path, logs("options"))
    assert rows(warehouse, "question_id, label, answer") == [
        ("options/1", "B", "ANSWER: B"),
        ("options/2", "C", "ANSWER: C"),
        ("options/3", "A, B", "ANSWER: B, A"),
        ("options/4", None, "I do not know."),
    ]
    asked = warehouse.fetch(
        "SELECT correct_choice, expected_label FROM questions ORDER BY question_id"
    )
    assert asked.rows() == [(1, "B"), (0, "A"), (None, "A, B"), (2, "C")]


def test_an_answer_that_was_withheld_has_failed(tmp_path: Path) -> None:
    found = rows(
        ingested(tmp_path, logs("withheld")),
        "question_id, answer, error, extra ->> '$.completion', reported",
    )
    assert found == [
        (
            "withheld/crows",
            None,
            "content_filter: the answer was withheld",
            "I can't say.",
            '{"includes":0.0}',
        ),
        ("withheld/geese", "A gaggle.", None, None, '{"includes":1.0}'),
    ]


@pytest.mark.parametrize(
    ("target", "count", "options", "position"),
    [
        ("C", 3, "C", 2),
        (["C"], 3, "C", 2),
        ("c", 3, None, 2),
        ("CA", 3, "A, C", None),
        ("B,A", 3, "A, B", None),
        (["A", "C"], 3, "A, C", None),
        ("D", 3, None, None),
        ("1", 27, "1", 26),
        ("", 3, None, None),
        ([], 3, None, None),
    ],
)
def test_targets_name_options(
    target: object, count: int, options: str | None, position: int | None
) -> None:
    assert correct_options(target, count) == options
    assert correct_position(target, [f"option {n}" for n in range(count)]) == position
