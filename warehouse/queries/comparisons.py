"""Queries that check whether two systems can be compared, and that pair their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.queries.samples import Query

if TYPE_CHECKING:
    from collections.abc import Sequence


def system_signatures(benchmark: str, evaluator: str, systems: Sequence[str]) -> Query:
    """Select the signatures with which systems were scored: system, list of signatures."""
    return Query(
        "SELECT system, list(DISTINCT signature) FROM grades WHERE benchmark = $benchmark "
        "AND evaluator = $evaluator AND list_contains($systems, system) GROUP BY system",
        {"benchmark": benchmark, "evaluator": evaluator, "systems": list(systems)},
    )


def unshared_questions(benchmark: str, evaluator: str, one: str, other: str) -> Query:
    """Select the questions on which only one of two systems is scored: question_id."""
    return Query(
        "SELECT question_id FROM grades WHERE benchmark = $benchmark AND evaluator = $evaluator "
        "AND system IN ($one, $other) GROUP BY question_id "
        "HAVING count(DISTINCT system) < 2 ORDER BY question_id",
        {"benchmark": benchmark, "evaluator": evaluator, "one": one, "other": other},
    )


def lost_verdicts(
    benchmark: str, evaluator: str, systems: Sequence[str], over_budget: str
) -> Query:
    """Select the samples without a verdict: system, n_over_budget, n_failed.

    Args:
        benchmark: The benchmark.
        evaluator: The evaluator.
        systems: The systems.
        over_budget: The beginning of the reason of a call that the budget did not allow.
    """
    return Query(
        "SELECT system, count(*) FILTER (is_over_budget)::BIGINT AS n_over_budget, "
        "count(*) FILTER (NOT is_over_budget)::BIGINT AS n_failed "
        "FROM (SELECT system, "
        "bool_or(coalesce(starts_with(reason, $over_budget), false)) AS is_over_budget "
        "FROM scores WHERE benchmark = $benchmark AND evaluator = $evaluator "
        "AND list_contains($systems, system) AND status = 'judge_error' "
        "GROUP BY system, question_id) GROUP BY system ORDER BY system",
        {
            "benchmark": benchmark,
            "evaluator": evaluator,
            "systems": list(systems),
            "over_budget": over_budget,
        },
    )


def judge_models(benchmark: str, evaluator: str, systems: Sequence[str]) -> Query:
    """Select the judge models of systems: system, list of models."""
    return Query(
        "SELECT a.system, list_sort(list(DISTINCT j.model)) FROM asks AS a "
        "JOIN judgments AS j USING (digest) WHERE a.benchmark = $benchmark "
        "AND a.evaluator = $evaluator AND list_contains($systems, a.system) "
        "GROUP BY a.system ORDER BY a.system",
        {"benchmark": benchmark, "evaluator": evaluator, "systems": list(systems)},
    )


def paired_scores(benchmark: str, evaluator: str, metric: str, one: str, other: str) -> Query:
    """Select the paired scores of two systems.

    Returns:
        A query with question (UBIGINT), question_id, one and other (null where not scored), and
        has_failed: whether the first system failed to answer and has no score.
    """
    return Query(
        "SELECT hash(question_id) AS question, question_id, "
        "max(value) FILTER (system = $one) AS one, max(value) FILTER (system = $other) AS other, "
        "bool_or(system = $one AND status = 'target_error') AS has_failed "
        "FROM scores WHERE benchmark = $benchmark AND evaluator = $evaluator "
        "AND metric = $metric AND system IN ($one, $other) GROUP BY question_id "
        "ORDER BY question_id",
        {
            "benchmark": benchmark,
            "evaluator": evaluator,
            "metric": metric,
            "one": one,
            "other": other,
        },
    )
