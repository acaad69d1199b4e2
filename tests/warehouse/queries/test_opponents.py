"""Opponents: rings of systems, in a new order for each question."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from warehouse.queries.samples import samples, select_stale_samples
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

QUESTIONS = 60


def answers(*systems: str, questions: int = QUESTIONS, **changes: Any) -> list[dict[str, Any]]:
    return [
        {
            "benchmark": "b",
            "system": system,
            "question_id": f"q{number}",
            "answer": f"{system} on {number}",
            "error": None,
            "not_asked": None,
            **changes,
        }
        for system in systems
        for number in range(questions)
    ]


def stored(folder: Path, rows: list[dict[str, Any]]) -> Warehouse:
    made = Warehouse(folder / "warehouse.duckdb")
    ids = sorted({(row["benchmark"], row["question_id"]) for row in rows})
    made.replace("questions", pl.DataFrame(ids, schema=["benchmark", "question_id"], orient="row"))
    types = {"error": pl.String, "not_asked": pl.Int32}
    made.replace("predictions", pl.DataFrame(rows, schema_overrides=types))
    return made


def met(
    warehouse: Warehouse, count: int | None, benchmark: str | list[str] = "b", **options: Any
) -> dict[tuple[str, str], dict[str, str | None]]:
    """The answers of the opponents by question and system."""
    query = samples(benchmark, ["opponents"], opponents=count, **options)
    return {
        (row["question_id"], row["system"]): {
            each["system"]: each["answer"] for each in row["opponents"] or ()
        }
        for row in warehouse.fetch(*query).iter_rows(named=True)
    }


TWENTY = [f"s{number:02}" for number in range(20)]


@pytest.fixture(scope="module")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return stored(tmp_path_factory.mktemp("twenty"), answers(*TWENTY))


@pytest.mark.parametrize("count", [2, 4, 10])
def test_everyone_meets_equally_many_and_both_ways(twenty: Warehouse, count: int) -> None:
    found = met(twenty, count)
    assert len(found) == len(TWENTY) * QUESTIONS
    for (question, system), opponents in found.items():
        assert len(opponents) == count
        assert system not in opponents
        number = question.removeprefix("q")
        assert opponents == {name: f"{name} on {number}" for name in opponents}
        assert all(system in found[question, other] for other in opponents)


def test_twenty_systems_with_four_opponents_cost_forty_pairs(twenty: Warehouse) -> None:
    found = met(twenty, 4)
    pairs = {
        (question, *sorted((system, other)))
        for (question, system), opponents in found.items()
        for other in opponents
    }
    assert len(pairs) == 40 * QUESTIONS


def test_the_systems_of_a_question_are_connected(twenty: Warehouse) -> None:
    found = met(twenty, 2)
    for number in range(QUESTIONS):
        reached, waiting = set(), ["s00"]
        while waiting:
            system = waiting.pop()
            if system not in reached:
                reached.add(system)
                waiting += found[f"q{number}", system]
        assert reached == set(TWENTY)


def test_every_pair_meets_about_equally_often(twenty: Warehouse) -> None:
    found = met(twenty, 4)
    times = Counter(
        (system, other) for (_, system), opponents in found.items() for other in opponents
    )
    assert len(times) == 20 * 19
    # Of 60 questions, each pair meets on 60 * 4 / 19 = 12.6 on average.
    assert min(times.values()) >= 1
    assert max(times.values()) <= 30


def test_all_meet_all_where_they_are_few(tmp_path: Path) -> None:
    warehouse = stored(tmp_path, answers("a", "b", "c"))
    for count in (2, 4, 50, None):
        found = met(warehouse, count)
        assert found["q1", "a"] == {"b": "b on 1", "c": "c on 1"}
    two = stored(tmp_path / "two", answers("a", "b"))
    assert met(two, 4)["q1", "b"] == {"a": "a on 1"}
    one = stored(tmp_path / "one", answers("a"))
    assert met(one, 4)["q1", "a"] == {}


def test_a_new_system_changes_only_its_neighbours(twenty: Warehouse, tmp_path: Path) -> None:
    before = met(twenty, 4)
    after = met(stored(tmp_path, answers(*TWENTY, "new")), 4)
    for number in range(QUESTIONS):
        changed = [
            system
            for system in TWENTY
            if before[f"q{number}", system] != after[f"q{number}", system]
        ]
        assert sorted(changed) == sorted(after[f"q{number}", "new"])


def test_failed_answers_are_opponents_without_an_answer(tmp_path: Path) -> None:
    rows = answers("a", "b")
    rows[1] |= {"answer": "half an answer", "error": "timeout"}  # a on q1
    rows[2] |= {"answer": None}  # a on q2
    found = met(stored(tmp_path, rows), 4)
    assert [found[f"q{n}", "b"] for n in range(3)] == [{"a": "a on 0"}, {"a": None}, {"a": ""}]
    assert found["q1", "a"] == {"b": "b on 1"}


def test_some_systems_are_no_opponents(tmp_path: Path) -> None:
    rows = [
        *answers("a", "b"),
        *answers("retriever", answer=None),
        *answers("absent", answer=None, error="down"),
        *answers("excused", answer=None, not_asked=1),
    ]
    rows[0] |= {"answer": None, "not_asked": 1}  # a on q0
    found = met(stored(tmp_path, rows), None)
    assert found["q1", "b"] == {"a": "a on 1", "absent": None}
    assert found["q0", "b"] == {"absent": None}
    assert found["q0", "a"] == found["q1", "retriever"] == found["q1", "excused"] == {}


def test_narrowed_systems_meet_all_others(twenty: Warehouse) -> None:
    found = met(twenty, 4, systems=["s07"])
    assert {system for _, system in found} == {"s07"}
    every = met(twenty, 4)
    assert found == {key: each for key, each in every.items() if key[1] == "s07"}


def test_benchmarks_do_not_mix(tmp_path: Path) -> None:
    rows = [*answers("a", "b", "c"), *answers("a", "d", benchmark="other")]
    warehouse = stored(tmp_path, rows)
    together = warehouse.fetch(*samples(["b", "other"], ["opponents"], opponents=4))
    for (name,), own in together.partition_by("benchmark", as_dict=True).items():
        alone = warehouse.fetch(*samples(str(name), ["opponents"], opponents=4))
        order = ["system", "question_id"]
        assert own.sort(order).equals(alone.sort(order))


def digests(warehouse: Warehouse) -> dict[tuple[str, str], int]:
    query = select_stale_samples("b", "e", "s", ["answer", "opponents"], opponents=4)
    return {
        (row["question_id"], row["system"]): row["input_digest"]
        for row in warehouse.fetch(*query).iter_rows(named=True)
    }


def test_a_changed_answer_concerns_those_who_meet_it(twenty: Warehouse, tmp_path: Path) -> None:
    rows = answers(*TWENTY)
    rows[5] |= {"answer": "a better one"}  # s00 on q5
    before, after = digests(twenty), digests(stored(tmp_path, rows))
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {("q5", "s00"), *(("q5", name) for name in met(twenty, 4)["q5", "s00"])}
