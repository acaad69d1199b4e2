"""No evaluator rewards failing: answers turned into errors improve no mean, rank or verdict."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from assets.analysis.comparability import NotComparable
from assets.gates.gains import load_paired_scores
from assets.leaderboard.refresh import Leaderboards, compute_leaderboards
from assets.leaderboard.score_matrix import QuestionIndex
from assets.project import Benchmark
from evaluators import catalog
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.outcome import Status
from evaluators.scoring import score
from tests.evaluators.fabricated import engines
from tests.evaluators.strategies import frames
from tests.evaluators.variants import variants
from tests.support.samples import samples
from tests.support.services import REQUIRED
from warehouse.schema.ddl import create_statement
from warehouse.schema.tables import table_named

if TYPE_CHECKING:
    from collections.abc import Collection

    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from warehouse.storage.connect import Parameters

ROUNDING = 1e-9
CHANCE = 0.02
"""The error of chance levels, which are means over 200 draws."""

OF_THE_JUDGE = "parse_failures"
"""It counts replies of the judge that cannot be understood, which failed answers do not have."""

CASES = [
    pytest.param(name, parameters, id=f"{name}-{at}")
    for name in catalog.catalogue()
    for at, parameters in enumerate(variants(name))
]


class Scores:
    """The tables from which a leaderboard is computed, in memory."""

    def __init__(self, evaluator: Evaluator, frame: pl.DataFrame) -> None:
        grid = score(evaluator, frame, engines(evaluator)).frame
        names = [metric.name for metric in evaluator.sample_metrics]
        self._connection = duckdb.connect()
        stored = ("questions", "predictions", "grades", "answer_grades", "signatures", "scores")
        for name in stored:
            self._connection.execute(create_statement(table_named(name)))
        questions = frame.select("benchmark", "question_id").unique()
        grades = grid.with_columns(
            evaluator=pl.lit(evaluator.name),
            signature=pl.lit(evaluator.signature),
            input_digest=pl.lit(0, pl.UInt64),
            scored_at=pl.lit("2026-01-01"),
        )
        signatures = pl.DataFrame(
            {
                "evaluator": [evaluator.name],
                "signature": [evaluator.signature],
                "version": [evaluator.version],
                "metrics": [names],
                "first_seen": ["2026-01-01"],
            }
        )
        tables = {"questions": questions, "grades": grades, "signatures": signatures}
        for name, rows in tables.items():
            self._connection.register("rows", rows)
            self._connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM rows")
            self._connection.unregister("rows")

    def fetch(self, sql: str, parameters: Parameters | None = None) -> pl.DataFrame:
        """Return the result of a query."""
        return self._connection.cursor().execute(sql, parameters).pl()


def leaderboard(evaluator: Evaluator, frame: pl.DataFrame) -> Leaderboards:
    """The leaderboard of some samples by one evaluator."""
    benchmark = Benchmark(name="b", questions=None, predictions=Path("p"), evaluators=(evaluator,))
    return compute_leaderboards(Scores(evaluator, frame), [benchmark])


def by_metric(found: Leaderboards) -> dict[tuple[str, str], dict[str, Any]]:
    """The rows by system and metric."""
    return {(row["system"], row["metric"]): row for row in found.rows.iter_rows(named=True)}


def with_failures(
    evaluator: Evaluator, frame: pl.DataFrame, failing: Collection[str]
) -> pl.DataFrame:
    """The same answers, of which some become errors; parts of composites get what they then get."""
    is_failing = pl.col("question_id").is_in(list(failing))
    failed = frame.with_columns(
        error=pl.when(is_failing).then(pl.lit("timeout")).otherwise(pl.col("error"))
    )
    for part in evaluator.parts if isinstance(evaluator, CompositeEvaluator) else ():
        name, _, metric = part.partition(".")
        worst = next(m.worst for m in catalog.build(name).sample_metrics if m.name == metric)
        status = pl.col(f"status:{part}")
        applies = is_failing & (status.ne_missing(Status.NOT_APPLICABLE.value))
        applies &= pl.col(part).is_not_null() | status.is_not_null()
        failed = failed.with_columns(
            pl.when(applies).then(pl.lit(worst, pl.Float64)).otherwise(part).alias(part),
            pl.when(applies).then(None).otherwise(status).alias(f"status:{part}"),
        )
    return failed


def gain(metric: Metric, better: float, worse: float) -> float:
    """By how much the first number is better."""
    return better - worse if metric.best == "high" else worse - better


@pytest.mark.parametrize(("name", "parameters"), CASES)
@settings(max_examples=15 if REQUIRED else 2, phases=(Phase.explicit, Phase.generate))
@given(data=st.data())
def test_failing_never_pays(name: str, parameters: dict[str, Any], data: st.DataObject) -> None:
    evaluator = catalog.build(name, parameters)
    drawn = data.draw(frames(evaluator), label="samples")
    honest = drawn.with_columns(
        system=pl.lit("honest"),
        error=pl.lit(None, pl.String),
        question_id=pl.concat_str(pl.lit("q"), pl.int_range(pl.len())),
        # No part of an answered sample has failed.
        **{
            name: pl.col(name).replace(Status.TARGET_ERROR.value, Status.UNDEFINED.value)
            for name in drawn.columns
            if name.startswith("status:")
        },
    )
    questions = honest["question_id"].to_list()
    failing = data.draw(st.sets(st.sampled_from(questions)) if questions else st.just(set()))
    dodger = with_failures(evaluator, honest, failing).with_columns(system=pl.lit("dodger"))
    found = leaderboard(evaluator, pl.concat([honest, dodger]))
    rows = by_metric(found)
    verdicts = {row["metric"]: row["verdict"] for row in found.comparisons.to_dicts()}
    for metric in evaluator.measured() if failing else ():
        one, other = (rows[system, metric.name] for system in ("honest", "dodger"))
        assert_counts_are_honest(metric, other, failing)
        if metric.name == OF_THE_JUDGE:
            continue
        if not evaluator.failure_is_worst:
            assert_clean_failures_rank_below(metric, one, other)
            continue
        # `system_a` is the dodger. Without any number of a system there is no comparison.
        assert verdicts.get(metric.name) != "better", metric.name
        assert metric.name in verdicts or metric.level == "system", metric.name
        if other["mean"] is None:
            assert other["rank"] is None, metric.name
        elif one["mean"] is not None:
            # Chance levels are means of random draws.
            error = CHANCE if metric.debiases else ROUNDING
            assert gain(metric, other["mean"], one["mean"]) <= error, metric.name
            assert other["rank"] >= one["rank"] or metric.debiases, metric.name


def assert_counts_are_honest(metric: Metric, row: dict[str, Any], failing: Collection[str]) -> None:
    """Failures are counted, and those without a value are missing from the coverage."""
    assert row["n_target_error"] <= len(failing)
    lost = sum(row[f"n_{status}"] for status in Status if status != Status.TARGET_ERROR)
    unanswered = row["n"] - lost
    assert 0 <= unanswered <= row["n_target_error"], metric.name
    assert row["coverage"] is None or (row["coverage"] < 1) >= (unanswered > 0), metric.name
    genuine = row["n_scored"] - (row["n_target_error"] - unanswered)
    if genuine == 0:
        assert row["mean"] is None, metric.name
        assert row["rank"] is row["ci_low"] is row["tied_with_best"] is None, metric.name


def assert_clean_failures_rank_below(
    metric: Metric, complete: dict[str, Any], failing: dict[str, Any]
) -> None:
    """A system with failed answers is not above one that answered everything and is as clean."""
    if failing["mean"] is None or complete["mean"] is None or failing["coverage"] == 1:
        return
    if gain(metric, failing["mean"], complete["mean"]) <= ROUNDING and (
        failing["coverage"] < complete["coverage"]
    ):
        assert failing["rank"] > complete["rank"], metric.name


def confidence_frame(**systems: list[dict[str, Any]]) -> pl.DataFrame:
    """Answers to multiple-choice questions, whose first option is the right one."""
    return samples(
        [
            {"system": system, "question_id": f"q{at:02d}", "correct_choice": 0, **row}
            for system, rows in systems.items()
            for at, row in enumerate(rows)
        ]
    )


def test_an_overconfident_system_does_not_win_by_failing() -> None:
    def stated(p: float) -> dict[str, Any]:
        return {"choice_logprobs": [math.log(p), math.log(1 - p)]}

    answers = [stated(0.05 if at % 5 == 0 else 0.9) for at in range(50)]
    dodging = [
        {"choice_logprobs": [], "error": "timeout"} if at % 5 == 0 else each
        for at, each in enumerate(answers)
    ]
    frame = confidence_frame(honest=answers, dodger=dodging)
    found = leaderboard(catalog.build("option_confidence"), frame)
    rows = by_metric(found)
    for name in ("log_loss", "expected_calibration_error", "maximum_calibration_error"):
        honest, dodger = rows["honest", name], rows["dodger", name]
        assert honest["mean"] < dodger["mean"], name
        assert (honest["rank"], dodger["rank"]) == (1, 2), name
        assert (dodger["n_scored"], dodger["n_target_error"], dodger["coverage"]) == (50, 10, 1.0)
    raw, debiased = (
        rows["honest", f"expected_calibration_error{end}"] for end in ("", "_debiased")
    )
    assert debiased["mean"] == pytest.approx(raw["mean"] - raw["chance"])
    assert debiased["chance"] is None
    # Both estimate the same truth.
    for end in ("ci_low", "ci_high"):
        assert debiased[end] == pytest.approx(raw[end])
    assert 0 < raw["ci_low"] < debiased["mean"] < raw["mean"] < raw["ci_high"]
    unbounded = rows["dodger", "negative_log_likelihood"]
    assert (unbounded["mean"], unbounded["rank"], unbounded["coverage"]) == (None, None, 0.8)
    assert (unbounded["n_scored"], unbounded["n_target_error"]) == (40, 10)
    compared = {row["metric"]: row for row in found.comparisons.to_dicts()}
    assert compared["log_loss"]["verdict"] == "worse"
    assert compared["log_loss"]["n_pairs"] == 50
    assert_gate_refuses(frame)
    none = compared["negative_log_likelihood"]
    assert (none["n_pairs"], none["difference"], none["verdict"]) == (0, None, "not_enough_data")


def assert_gate_refuses(frame: pl.DataFrame) -> None:
    """A gate on a metric without a worst value does not pass a system that failed to answer."""
    evaluator = catalog.build("option_confidence")
    metric = next(m for m in evaluator.measured() if m.name == "negative_log_likelihood")
    source = Scores(evaluator, frame)
    every = np.sort(source.fetch("SELECT DISTINCT hash(question_id) FROM grades").to_numpy()[:, 0])
    questions = QuestionIndex(every, every)
    fair = load_paired_scores(source, questions, ("b", "honest", "dodger"), evaluator, metric)
    assert len(fair.values) == 40
    with pytest.raises(NotComparable, match="'dodger' failed to answer 10 of the questions"):
        load_paired_scores(source, questions, ("b", "dodger", "honest"), evaluator, metric)


def test_a_mean_of_failures_alone_is_no_mean() -> None:
    answer = {"expected_answers": ["a"], "contexts": ["a"], "question": "?", "answer": "a"}
    rows = [
        {"system": system, "question_id": f"q{at}", **answer, **failed}
        for system, failed in (("failing", {"error": "timeout"}), ("judged", {}))
        for at in range(3)
    ]
    # One system never cites, so the metric does not apply to it; the other failed everywhere.
    evaluator = catalog.build("citation")
    rows = [row | {"gold_sentence_ids": ["S1"]} for row in rows]
    for row in rows:
        if row["system"] == "failing":
            row["cited_sentence_ids"] = []
    found = by_metric(leaderboard(evaluator, samples(rows)))
    for metric in ("f1", "micro_recall"):
        failing, judged = found["failing", metric], found["judged", metric]
        assert (failing["mean"], failing["rank"], failing["n_target_error"]) == (None, None, 3)
        assert (judged["mean"], judged["rank"], judged["n_scored"]) == (None, None, 0)
    assert found["failing", "f1"]["n_scored"] == 3
    assert cast("float", found["failing", "f1"]["coverage"]) == 1.0


def test_leaks_rank_by_answers_given_where_they_are_equally_clean() -> None:
    clean, failed = {"answer": "fine"}, {"answer": "", "error": "timeout"}
    systems = {"a_failing": [clean, failed], "complete": [clean] * 2, "z_worse": [failed, failed]}
    frame = samples(
        [
            {"system": system, "question_id": f"q{at}", **row}
            for system, rows in systems.items()
            for at, row in enumerate(rows)
        ]
    )
    found = by_metric(leaderboard(catalog.build("pii_leakage"), frame))
    ranks = {system: found[system, "passes"]["rank"] for system in systems}
    assert ranks == {"complete": 1, "a_failing": 2, "z_worse": None}
    for name in ("passes", "passes_of_all"):
        row = found["a_failing", name]
        assert (row["n_scored"], row["n_target_error"], row["coverage"]) == (1, 1, 0.5), name
