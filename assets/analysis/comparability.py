"""The check before a comparison: were two systems given the same questions and judged alike?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.scoring.stale_samples import stale_samples
from calls.budget import OVER_BUDGET
from evaluators.kinds.flow import FlowEvaluator
from warehouse.errors import WarehouseError
from warehouse.queries.benchmarks import answers_per_question
from warehouse.queries.comparisons import (
    judge_models,
    lost_verdicts,
    system_signatures,
    unshared_questions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from warehouse.queries.benchmarks import Source


class NotComparable(WarehouseError):  # noqa: N818 - the name says what is the matter
    """Two systems have different questions, configurations or judges."""


def require_comparable(
    source: Source, benchmark: Benchmark, system: str, baseline: str, evaluator: Evaluator
) -> None:
    """Check that two systems have the same questions, current scores and the same judge.

    Raises:
        NotComparable: They do not. The message says what differs.
    """
    if system == baseline:
        raise NotComparable(f"{system!r} cannot be compared with itself")
    subject = f"{evaluator.name!r} on {benchmark.name!r}"
    both = [system, baseline]
    _require_signature(source, benchmark, both, evaluator)
    query = unshared_questions(benchmark.name, evaluator.name, system, baseline)
    different = source.fetch(*query)["question_id"].to_list()
    if different:
        shown = ", ".join(repr(each) for each in different[:5])
        raise NotComparable(
            f"{system!r} and {baseline!r} were not scored on the same questions by {subject}: "
            f"{len(different)} differ, such as {shown}"
        )
    _require_current(source, benchmark, both, evaluator)
    if isinstance(evaluator, FlowEvaluator) and evaluator.has_panel:
        # With escalation, not every member judges the samples of both.
        return
    query = judge_models(benchmark.name, evaluator.name, both)
    judges = dict(source.fetch(*query).iter_rows())
    if len({tuple(models) for models in judges.values()}) > 1:
        found = "; ".join(f"{name!r} by {', '.join(models)}" for name, models in judges.items())
        raise NotComparable(f"{subject} was judged by different models: {found}")


def require_scored(
    source: Source, benchmark: Benchmark, systems: Sequence[str], evaluator: Evaluator
) -> None:
    """Check that the scores of some systems are those of the current inputs and configuration.

    Raises:
        NotComparable: They are not. The message says what differs.
    """
    _require_signature(source, benchmark, systems, evaluator)
    _require_current(source, benchmark, systems, evaluator)


def _require_signature(
    source: Source, benchmark: Benchmark, systems: Sequence[str], evaluator: Evaluator
) -> None:
    subject = f"{evaluator.name!r} on {benchmark.name!r}"
    query = system_signatures(benchmark.name, evaluator.name, systems)
    signatures = dict(source.fetch(*query).iter_rows())
    for name in systems:
        if signatures.get(name) != [evaluator.signature]:
            raise NotComparable(
                f"{name!r} was not scored by {subject} as configured now: run `scoreline run` first"
            )


def _require_current(
    source: Source, benchmark: Benchmark, systems: Sequence[str], evaluator: Evaluator
) -> None:
    subject = f"{evaluator.name!r} on {benchmark.name!r}"
    several = bool(answers_per_question(source, [benchmark.name]))
    query = stale_samples([benchmark], evaluator, systems=systems, every_answer=several)
    changed = source.fetch(
        f"SELECT system, count(*) AS n FROM ({query.sql}) GROUP BY system",  # noqa: S608
        query.parameters,
    )
    if changed.height:
        _require_verdicts(source, benchmark, systems, evaluator)
        counts = ", ".join(f"{n} of {name!r}" for name, n in sorted(changed.iter_rows()))
        raise NotComparable(
            f"questions or answers have changed since they were scored by {subject}, or a judge "
            f"has not been asked ({counts}): run `scoreline run` first"
        )


def _require_verdicts(
    source: Source, benchmark: Benchmark, systems: Sequence[str], evaluator: Evaluator
) -> None:
    """Check that no sample is without a score for want of a verdict."""
    query = lost_verdicts(benchmark.name, evaluator.name, systems, OVER_BUDGET)
    lost = source.fetch(*query)
    for column, why in (
        ("n_over_budget", "because the budget was reached"),
        ("n_failed", "because the judge was not asked or did not answer"),
    ):
        if lost[column].sum():
            counts = ", ".join(
                f"{row[column]} of {row['system']!r}"
                for row in lost.iter_rows(named=True)
                if row[column]
            )
            raise NotComparable(
                f"{lost[column].sum()} samples were not judged by {evaluator.name!r} on "
                f"{benchmark.name!r}, {why} ({counts}): run `scoreline run` again"
            )
