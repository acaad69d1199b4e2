"""The regression gate: regressions, improvements, and systems that cannot be compared."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import dagster as dg
import numpy as np
import polars as pl
import pytest
from dagster._core.errors import DagsterAssetCheckFailedError

from assets.analysis.comparability import NotComparable
from assets.analysis.select_metrics import UnknownMetric, select_metrics
from assets.gates.regression import evaluate_gate
from assets.keys import LEADERBOARD
from assets.project import Gate
from tests.assets.conftest import Workshop
from tests.support.services import takes_minutes
from warehouse.publish.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from assets.gates.result import GateResult

N = 60


def _made(workshop: Workshop) -> Workshop:
    """Sixty questions; `old` right on 45, `new` on the same but ten, `twin` like `old`."""
    right = {"old": range(45), "new": range(35), "twin": range(45), "near": [*range(44), 50]}
    workshop.evaluators = {"classification": {}, "document_retrieval": {}}
    workshop.questions = [
        {
            "question_id": f"q{at:02d}",
            "question": f"Is it {at}?",
            "gold_doc_ids": [f"d{at}"],
            "expected_label": "yes",
        }
        for at in range(N)
    ]
    workshop.predictions = {
        system: [
            {
                "question_id": f"q{at:02d}",
                "answer": "yes" if at in good else "no",
                "retrieved": [{"doc_id": f"d{at}"}],
            }
            for at in range(N)
        ]
        for system, good in right.items()
    }
    return workshop


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    with dg.DagsterInstance.ephemeral() as instance:
        workshop = _made(Workshop(tmp_path_factory.mktemp("gate"), instance))
        workshop.last = (LEADERBOARD,)
        workshop.run()
        yield workshop


def evaluated(
    workshop: Workshop, system: str, baseline: str, **choices: Any
) -> dict[str, GateResult]:
    benchmark = workshop.project.benchmarks["trial"]
    metrics = select_metrics(benchmark, choices.pop("metrics", ()))
    found = evaluate_gate(workshop.warehouse, benchmark, system, baseline, metrics, **choices)
    return {each.address: each for each in found}


def test_what_regressed_and_what_improved(done: Workshop) -> None:
    fallen = evaluated(done, "new", "old")
    accuracy = fallen["classification.accuracy"]
    assert accuracy.verdict == "regressed"
    assert accuracy.value == pytest.approx(-10 / 60)
    # Ten losses, no gain: 2 x 0.5 ** 10 by McNemar, times two metrics by Holm.
    assert accuracy.p_value == pytest.approx(2 * 2 * 0.5**10)
    assert accuracy.high < 0
    others = [each for name, each in fallen.items() if name != "classification.accuracy"]
    assert [each.verdict for each in others] == ["unchanged"]
    assert evaluated(done, "old", "new")["classification.accuracy"].verdict == "improved"


def test_what_is_unchanged(done: Workshop) -> None:
    assert {each.verdict for each in evaluated(done, "twin", "old").values()} == {"unchanged"}
    assert evaluated(done, "near", "old")["classification.accuracy"].verdict == "unchanged"


def test_a_tolerance_excuses_small_losses_but_needs_more_data(done: Workshop) -> None:
    metrics = ("classification",)
    loss = evaluated(done, "new", "old", metrics=metrics, tolerance=0.02)
    assert loss["classification.accuracy"].verdict == "regressed"
    # The loss of 0.167 is not certain to be more than 0.15, nor certain to be less.
    wide = evaluated(done, "new", "old", metrics=metrics, tolerance=0.15)
    assert wide["classification.accuracy"].verdict == "not_enough_data"
    forgiven = evaluated(done, "new", "old", metrics=metrics, tolerance=0.4)
    assert forgiven["classification.accuracy"].verdict == "unchanged"
    near = evaluated(done, "near", "old", metrics=metrics, tolerance=0.1)
    assert near["classification.accuracy"].verdict == "unchanged"


def test_too_few_questions_for_many_metrics_are_not_enough_data(
    workshop: Workshop, ranked_once: Path
) -> None:
    # Six questions give p = 2 / 2 ** 6 at best: enough for one metric, too little for three.
    shutil.copytree(ranked_once, workshop.home, dirs_exist_ok=True)
    alone = evaluated(workshop, "poor", "good", metrics=("citation",))
    assert alone["citation.f1"].verdict == "regressed"
    among = evaluated(workshop, "poor", "good")
    assert among["citation.f1"].verdict == "not_enough_data"
    assert among["citation.f1"].p_value > 0.05


def test_a_system_is_not_compared_with_itself(done: Workshop) -> None:
    with pytest.raises(NotComparable, match="'old' cannot be compared with itself"):
        evaluated(done, "old", "old")


def test_unknown_metrics_are_named(done: Workshop) -> None:
    benchmark = done.project.benchmarks["trial"]
    with pytest.raises(UnknownMetric, match=r"did you mean 'classification\.accuracy'"):
        select_metrics(benchmark, ["classification.acuracy"])
    with pytest.raises(UnknownMetric, match=r"did you mean 'accuracy'"):
        select_metrics(benchmark, ["acuracy"])
    with pytest.raises(UnknownMetric, match="no sample metric '"):
        select_metrics(benchmark, ["classification.f1"])


@pytest.fixture
def own(done: Workshop, tmp_path: Any) -> Workshop:
    """A private copy of the finished project, which the test changes."""
    shutil.copytree(done.home, tmp_path / "own")
    return _made(Workshop(tmp_path / "own", done.instance))


def test_other_questions_are_refused(own: Workshop) -> None:
    with own.warehouse.transaction() as transaction:
        transaction.execute(
            "DELETE FROM grades WHERE system = 'old' AND question_id = 'q07' "
            "AND evaluator = 'classification'"
        )
    with pytest.raises(NotComparable, match=r"not scored on the same questions.*'q07'"):
        evaluated(own, "new", "old")


def test_questions_that_changed_since_are_refused(own: Workshop) -> None:
    with own.warehouse.transaction() as transaction:
        transaction.execute("UPDATE questions SET expected_label = 'no' WHERE question_id = 'q03'")
    with pytest.raises(NotComparable, match="have changed since they were scored"):
        evaluated(own, "new", "old")


def test_another_configuration_is_refused(own: Workshop) -> None:
    own.evaluators = {"classification": {"normalize": True}}
    with pytest.raises(NotComparable, match="not scored by 'classification'"):
        evaluated(own, "new", "old")


def test_another_judge_is_refused(own: Workshop) -> None:
    rows = [
        {"digest": "1", "model": "small", "system": "new"},
        {"digest": "2", "model": "large", "system": "old"},
    ]
    asks = [
        {
            "benchmark": "trial",
            "question_id": "q00",
            "evaluator": "classification",
            "step": 0,
            "digest": row["digest"],
            "system": row["system"],
        }
        for row in rows
    ]
    judged = [
        {
            "digest": row["digest"],
            "model": row["model"],
            "messages": "[]",
            "replicate": 0,
            "status": "scored",
        }
        for row in rows
    ]
    frame = pl.DataFrame(judged).with_columns(judged_at=pl.lit(np.datetime64("2026-01-01", "us")))
    with own.warehouse.transaction() as transaction:
        transaction.append("asks", pl.DataFrame(asks))
        transaction.append("judgments", frame)
    with pytest.raises(NotComparable, match="judged by different models: 'new' by small"):
        evaluated(own, "new", "old")


@takes_minutes
def test_a_failed_gate_publishes_and_then_fails_the_run(own: Workshop) -> None:
    copy = own.home / "published" / "scoreline.duckdb"
    own.gates = (Gate(system="twin", baseline="old"),)
    own.run()
    copy.unlink()
    own.gates = (Gate(system="new", baseline="old"), Gate(system="twin", baseline="odl"))
    with pytest.raises(DagsterAssetCheckFailedError):
        own.run()
    unknown = Snapshot(copy).fetch("SELECT * FROM gates WHERE baseline = 'odl'")
    assert set(unknown["verdict"]) == {"not_comparable"}
    assert set(unknown["passed"]) == {0}
    rows = Snapshot(copy).fetch("SELECT * FROM gates WHERE baseline = 'old' AND passed = 0")
    assert rows["verdict"].to_list() == ["regressed"]
    assert rows["value"].item() == pytest.approx(-10 / 60)
    assert rows["ci_high"].item() < 0
    gates = dict(
        Snapshot(copy)
        .fetch("SELECT system, gate FROM leaderboard WHERE metric = 'accuracy'")
        .iter_rows()
    )
    # The verdict is about the system, not about the baseline.
    assert gates == {"new": "failed", "old": None, "twin": "failed", "near": None}
