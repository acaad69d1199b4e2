"""Logs that lm_eval 0.4.13 wrote: repeats, filters, lengths of options, and perplexity."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evaluators import catalog
from evaluators.scoring import score
from tests.support.samples import samples
from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Sequence

LOGS = Path(__file__).parents[2] / "data" / "real" / "lm-eval"
METRICS = {
    "acc": "accuracy_first_argmax",
    "acc_norm": "accuracy_per_character",
    "acc_bytes": "accuracy_per_byte",
}
"""The metrics of the harness with those of `option_confidence`."""


def logs(*systems: str) -> list[tuple[Path, str | None]]:
    return [(path, name) for name in systems for path in sorted((LOGS / name).glob("samples_*"))]


@cache
def results(system: str) -> dict[str, dict[str, Any]]:
    """The figures of the harness by task."""
    (path,) = (LOGS / system).glob("results_*.json")
    found: dict[str, dict[str, Any]] = json.loads(path.read_text())["results"]
    return found


def ingested(
    folder: Path, files: Sequence[tuple[Path, str | None]]
) -> tuple[Warehouse, tuple[str, ...]]:
    warehouse = Warehouse(folder / "w.duckdb")
    asked = ingest_questions(warehouse, benchmark="b", format="lm-eval", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="lm-eval", files=files)
    assert asked.problems == done.problems == ()
    return warehouse, (*asked.notes, *done.notes)


@pytest.mark.parametrize(
    ("system", "task"),
    [
        ("small", "birds_mc"),
        ("small", "birds_letters"),
        ("large", "birds_mc"),
        ("large", "birds_letters"),
        ("scripted", "lengths"),
    ],
)
def test_accuracies_are_those_of_the_harness(tmp_path: Path, system: str, task: str) -> None:
    warehouse, _ = ingested(tmp_path, logs(system))
    rows = warehouse.fetch(
        "SELECT choices, correct_choice, choice_logprobs FROM predictions "
        "JOIN questions USING (benchmark, question_id) WHERE starts_with(question_id, $task)",
        {"task": f"{task}/"},
    ).to_dicts()
    frame = score(catalog.build("option_confidence", {}), samples(rows)).frame
    names = [each.name for each in catalog.build("option_confidence", {}).sample_metrics]
    found = [dict(zip(names, each, strict=True)) for each in frame["values"]]
    for harness, ours in METRICS.items():
        figure = results(system)[task].get(f"{harness},none")
        if figure is not None:
            mean = sum(each[ours] for each in found) / len(found)
            assert mean == pytest.approx(figure), harness


@pytest.mark.parametrize("system", ["small", "large", "scripted"])
def test_what_the_harness_scored_is_reported(tmp_path: Path, system: str) -> None:
    warehouse, _ = ingested(tmp_path, logs(system))
    rows = warehouse.fetch(
        "SELECT split_part(question_id, '/', 1) AS task, reported FROM predictions WHERE repeat = 0"
    )
    by_task: dict[str, list[dict[str, float]]] = {}
    for task, reported in rows.iter_rows():
        by_task.setdefault(task, []).append(json.loads(reported))
    checked = 0
    for task, scores in by_task.items():
        for name in set().union(*scores):
            figure = results(system)[task].get(name if "," in name else f"{name},none")
            if figure is not None:
                assert sum(each[name] for each in scores) / len(scores) == pytest.approx(figure)
                checked += 1
    assert checked == {"small": 7, "large": 7, "scripted": 5}[system]


def test_repeats_are_answers(tmp_path: Path) -> None:
    warehouse, notes = ingested(tmp_path, logs("scripted"))
    found = warehouse.fetch(
        "SELECT question_id, repeat, answer, reported FROM predictions "
        "WHERE starts_with(question_id, 'sums') ORDER BY ALL"
    ).rows()
    answers = [
        ("sums_rep/0", ["It is 5.", "It is 6.", "It is 5."], 1.0),
        ("sums_rep/1", ["It is 8.", "7.", "It is 7."], 0.0),
    ]
    assert [(question, repeat, answer) for question, repeat, answer, _ in found] == [
        (question, repeat, text)
        for question, texts, _ in answers
        for repeat, text in enumerate(texts)
    ]
    expected = {
        question: {"exact_match": first, "exact_match,first": first, "exact_match,majority": 1.0}
        for question, _, first in answers
    }
    # What a filter leaves of the responses is scored once.
    for question, repeat, _, reported in found:
        assert (reported and json.loads(reported)) == (None if repeat else expected[question])
    # The other task has one answer to each question.
    counts = warehouse.fetch(
        "SELECT count(*), count(error) FROM predictions WHERE starts_with(question_id, 'lengths')"
    )
    assert counts.rows() == [(3, 0)]
    (note,) = notes
    assert "samples_texts_" in note
    assert "(perplexity) are not read" in note


def test_a_benchmark_of_perplexity_alone_has_no_questions(tmp_path: Path) -> None:
    files = [each for each in logs("scripted") if "samples_texts_" in each[0].name]
    with pytest.raises(InputError, match="perplexity"):
        ingested(tmp_path, files)
