"""Expectations of the scores of an evaluator: bounds, statuses, and what users add."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evaluators.outcome import Status
from warehouse.schema.quoting import literal
from warehouse.validation.expectation import Batch, Expectation, expect_no_rows
from warehouse.validation.from_schema import expect_between

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assets.project import Project
    from evaluators.evaluator import Evaluator

STATUSES = [status.value for status in Status]
SAMPLE = ("benchmark", "system", "question_id")


def score_columns(evaluator: Evaluator) -> tuple[str, ...]:
    """Return the columns of the batch `scores/<evaluator>`: two columns per metric."""
    return (
        *SAMPLE,
        *(name for each in evaluator.sample_metrics for name in (each.name, f"{each.name}_status")),
    )


def build_score_batches(project: Project, stage: str, benchmarks: Sequence[str]) -> Iterator[Batch]:
    """Yield the batches of the stage `scores/<evaluator>`.

    Benchmarks on which the evaluator has the same metrics and bounds share a batch.
    """
    name = stage.partition("/")[2]
    groups: dict[tuple[object, ...], dict[str, Evaluator]] = {}
    for benchmark in benchmarks:
        for evaluator in project.benchmarks[benchmark].evaluators:
            if evaluator.name == name:
                shape = tuple((each.name, each.bounds) for each in evaluator.sample_metrics)
                groups.setdefault(shape, {})[benchmark] = evaluator
    for group in groups.values():
        evaluator = next(iter(group.values()))
        yield Batch(
            table=stage,
            sql=_select_scores(group),
            key=SAMPLE,
            expectations=tuple(_expect_metrics(evaluator)),
            prefix=f"{', '.join(group)}: " if len(groups) > 1 else "",
        )
        for benchmark, configured in group.items():
            added = project.benchmarks[benchmark].expectations.get(stage, ())
            if added:
                yield build_added_batch(
                    benchmark, stage, _select_scores({benchmark: configured}), SAMPLE, added
                )


def build_added_batch(
    benchmark: str, table: str, sql: str, key: tuple[str, ...], added: Sequence[Expectation]
) -> Batch:
    """Build the batch of the expectations that the configuration adds for one benchmark."""
    prefix = f"{benchmark}: "
    return Batch(
        table=table, sql=sql, key=key, expectations=tuple(added), prefix=prefix, is_added=True
    )


def _select_scores(group: Mapping[str, Evaluator]) -> str:
    """Return the query of an evaluator's grades, with two columns per metric."""
    evaluator = next(iter(group.values()))
    columns = "".join(
        f', "values"[{at}] AS "{metric.name}"'
        f", coalesce(statuses[{at}], 'scored') AS \"{metric.name}_status\""
        for at, metric in enumerate(evaluator.sample_metrics, start=1)
    )
    # One condition per signature: one per benchmark would be evaluated for every row.
    by_signature: dict[str, list[str]] = {}
    for name, each in group.items():
        by_signature.setdefault(each.signature, []).append(literal(name))
    condition = " OR ".join(
        f"(signature = {literal(signature)} AND benchmark IN ({', '.join(names)}))"
        for signature, names in by_signature.items()
    )
    return (
        f"SELECT {', '.join(SAMPLE)}{columns} FROM grades "  # noqa: S608
        f"WHERE evaluator = {literal(evaluator.name)} AND ({condition})"
    )


def _expect_metrics(evaluator: Evaluator) -> Iterator[Expectation]:
    conditions = []
    for metric in evaluator.sample_metrics:
        low, high = (end if math.isfinite(end) else None for end in metric.bounds)
        if low is not None or high is not None:
            yield expect_between(metric.name, low, high)
        yield Expectation(
            kind="expect_column_values_to_be_in_set",
            kwargs={"column": f"{metric.name}_status", "value_set": STATUSES},
            meaning=f"{metric.name}_status is one of {', '.join(STATUSES)}",
        )
        conditions += [
            f'("{metric.name}" IS NULL) <> ("{metric.name}_status" <> \'scored\')',
            f'NOT isfinite("{metric.name}")',
        ]
    yield expect_no_rows(
        " OR ".join(conditions),
        "a value is null exactly when its status is not `scored`, and never infinite",
    )
