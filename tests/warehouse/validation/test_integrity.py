"""Checks in SQL find and name defects planted in a small warehouse, and none in a valid one."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from tests.warehouse.conftest import change, put
from warehouse.validation.integrity import Grid, check_counts, check_grids, check_tables

if TYPE_CHECKING:
    from warehouse.store import Warehouse

NOW = datetime(2026, 1, 1)  # noqa: DTZ001
GRID = Grid(
    benchmark="b",
    evaluator="e",
    signature="e|v1",
    bounds={"share": (0.0, 1.0), "surprise": (0.0, float("inf"))},
)


@pytest.fixture
def sound(four_by_two: Warehouse) -> Warehouse:
    """Two systems, four questions, one evaluator with two metrics, and their leaderboard."""
    samples = [(system, f"q{i}") for system in ("rag", "llm") for i in range(4)]
    put(
        four_by_two,
        "grades",
        [
            {
                "system": system,
                "question_id": question,
                "evaluator": "e",
                "signature": "e|v1",
                "input_digest": 1,
                "values": [0.5, None] if question == "q0" else [0.5, 7.0],
                "statuses": ["scored", "undefined"] if question == "q0" else None,
                "scored_at": NOW,
            }
            for system, question in samples
        ],
    )
    place = {"evaluator": "e", "metric": "surprise", "signature": "e|v1", "published_at": NOW}
    counts = dict.fromkeys(("n_not_applicable", "n_parse_failure", "n_judge_error"), 0)
    put(
        four_by_two,
        "leaderboard",
        [
            {**place, **counts, "slice": slice_, "system": system, "best": "low", "is_primary": 1}
            | {"n": n, "n_scored": n - 1, "n_undefined": 1, "n_target_error": 0}
            for slice_, n in (("all", 4), ("half=first", 2))
            for system in ("rag", "llm")
        ],
    )
    return four_by_two


def test_a_sound_warehouse_has_no_faults(sound: Warehouse) -> None:
    assert check_tables(sound, ("questions", "predictions", "leaderboard"), ["b"]) == []
    assert check_grids(sound, [GRID]) == [[]]
    assert check_counts(sound, ["b"]) == []


ONE = "WHERE system = 'llm' AND question_id = 'q1'"
SHAPES = [
    (
        "ALTER TABLE predictions DROP COLUMN label",
        ["column 'label' of table 'predictions' is missing"],
    ),
    (
        "ALTER TABLE predictions DROP latency_s; ALTER TABLE predictions ADD latency_s VARCHAR",
        ["column 'latency_s' of table 'predictions' is VARCHAR, expected DOUBLE"],
    ),
    (
        f"INSERT INTO predictions SELECT * FROM predictions {ONE}",
        [
            (
                "2 rows of 'predictions' have the key benchmark='b', system='llm', "
                "question_id='q1', repeat=0, expected one"
            )
        ],
    ),
    # What other tables and other benchmarks lack is of no concern.
    ("ALTER TABLE questions DROP COLUMN cluster", []),
    ("UPDATE predictions SET benchmark = 'c', question_id = 'q1'", []),
]


@pytest.mark.parametrize(("statement", "faults"), SHAPES)
def test_columns_and_keys(sound: Warehouse, statement: str, faults: list[str]) -> None:
    change(sound, statement)
    assert check_tables(sound, ("predictions",), ["b"]) == faults


GRADES = [
    (f"DELETE FROM grades {ONE}", ["system 'llm' has 3 grades for 4 samples"]),
    ("DELETE FROM grades WHERE system = 'llm'", ["system 'llm' has 0 grades for 4 samples"]),
    ("DELETE FROM predictions WHERE system = 'llm'", ["system 'llm' has 4 grades for 0 samples"]),
    (
        f"UPDATE grades SET question_id = 'q2' {ONE}",
        ["the grades of system 'llm' are not those of its 4 samples"],
    ),
    (
        f"UPDATE grades SET signature = 'e|v0' {ONE}",
        ["system 'llm' has 3 grades for 4 samples"],
    ),
    (
        f'UPDATE grades SET "values" = [1.5, 7] {ONE}',
        ["share of system 'llm' is 1.5, expected 0 to 1"],
    ),
    (
        f'UPDATE grades SET "values" = [-0.5, -1] {ONE}',
        [
            "share of system 'llm' is -0.5, expected 0 to 1",
            "surprise of system 'llm' is -1.0, expected 0 to inf",
        ],
    ),
    (
        f"UPDATE grades SET \"values\" = ['nan'::DOUBLE, 'inf'::DOUBLE] {ONE}",
        [
            "share of system 'llm' is nan, expected 0 to 1",
            "surprise of system 'llm' is inf, expected 0 to inf",
        ],
    ),
    (
        f'UPDATE grades SET "values" = [NULL, 7] {ONE}',
        ["1 of the values of share of system 'llm' are null where scored, or numbers where not"],
    ),
    (
        "UPDATE grades SET statuses = NULL WHERE system = 'llm'",
        ["1 of the values of surprise of system 'llm' are null where scored, or numbers where not"],
    ),
    (
        f"UPDATE grades SET statuses = ['undefined', 'scored'] {ONE}",
        ["1 of the values of share of system 'llm' are null where scored, or numbers where not"],
    ),
    (
        f'UPDATE grades SET "values" = [0.5, 7, 7] {ONE}',
        ["1 grades of system 'llm' do not hold 2 values"],
    ),
    (
        "UPDATE grades SET n_answers = 3 WHERE system = 'llm'",
        ["the grades of system 'llm' combine 12 of 4 answers"],
    ),
]


@pytest.mark.parametrize(("statement", "faults"), GRADES)
@pytest.mark.file_only
def test_grids(sound: Warehouse, statement: str, faults: list[str]) -> None:
    change(sound, statement)
    assert check_grids(sound, [GRID]) == [faults]
    assert check_grids(sound, [GRID], ["rag"]) == [[]]
    assert check_grids(sound, [GRID], ["rag", "llm"]) == [faults]


def test_values_validated_elsewhere_are_not_checked_again(sound: Warehouse) -> None:
    grid = replace(GRID, with_values=False)
    change(sound, f'UPDATE grades SET "values" = [1.5, NULL] {ONE}')
    assert check_grids(sound, [grid]) == [[]]
    change(sound, f'UPDATE grades SET "values" = [1.5] {ONE}')
    assert check_grids(sound, [grid]) == [["1 grades of system 'llm' do not hold 2 values"]]


def test_only_the_first_of_many_faults_are_listed(sound: Warehouse) -> None:
    change(sound, "UPDATE grades SET system = system || question_id")
    (faults,) = check_grids(sound, [GRID])
    assert faults[0] == "system 'llm' has 0 grades for 4 samples"
    assert len(faults) == 6
    assert faults[-1] == "and 5 more"


def where(slice_: str) -> str:
    return f"WHERE system = 'llm' AND slice = '{slice_}'"


ALL, FIRST = where("all"), where("half=first")
COUNTS = [
    (
        f"UPDATE leaderboard SET n_scored = 2 {ALL}",
        ["e.surprise of 'llm' on 'all' of 'b' has 4 samples, but statuses for 3 and 0 failures"],
    ),
    (
        f"UPDATE leaderboard SET n_scored = 2 {FIRST}",
        [
            (
                "e.surprise of 'llm' on 'half=first' of 'b' has 2 samples, "
                "but statuses for 3 and 0 failures"
            )
        ],
    ),
    (
        f"UPDATE leaderboard SET n = 3, n_scored = 2 {ALL}",
        ["e.surprise of 'llm' on 'all' of 'b' counts 3 samples, expected 4"],
    ),
    # A run without this evaluator, since there is one question less.
    ("DELETE FROM predictions WHERE question_id = 'q1'", []),
    # Samples that failed without taking a worst value are counted nowhere else.
    (f"UPDATE leaderboard SET n_scored = 2, n_target_error = 1 {ALL}", []),
    # Those that took one are among the scored.
    (f"UPDATE leaderboard SET n_target_error = 3 {ALL}", []),
    (
        f"UPDATE leaderboard SET n_target_error = 4 {ALL}",
        ["e.surprise of 'llm' on 'all' of 'b' has 4 samples, but statuses for 4 and 4 failures"],
    ),
]


@pytest.mark.parametrize(("statement", "faults"), COUNTS)
@pytest.mark.file_only
def test_counts(sound: Warehouse, statement: str, faults: list[str]) -> None:
    change(sound, statement)
    assert check_counts(sound, ["b"]) == faults
    assert check_counts(sound, ["another"]) == []


def test_systems_that_are_not_selected_may_be_counted_in_part(sound: Warehouse) -> None:
    change(sound, f"UPDATE leaderboard SET n = 3, n_scored = 2 {ALL}")
    assert check_counts(sound, ["b"], ["rag"]) == []
