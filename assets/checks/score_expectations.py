"""What is expected of the scores of one evaluator: bounds, statuses, and what users add."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evaluators.outcome import Status
from warehouse.schema.ddl import literal
from warehouse.validation.expectation import Batch, Expectation, expect_no_rows
from warehouse.validation.from_schema import expect_between

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assets.project import Project
    from evaluators.evaluator import Evaluator

STATUSES = [status.value for status in Status]
SAMPLE = ("benchmark", "system", "question_id")


def score_columns(evaluator: Evaluator) -> tuple[str, ...]:
    """The columns of the batch `scores/<evaluator>`: one row a sample, two columns a metric."""
    return (
        *SAMPLE,
        *(name for each in evaluator.sample_metrics for name in (each.name, f"{each.name}_status")),
    )


def build_score_batches(project: Project, stage: str, benchmarks: Sequence[str]) -> Iterator[Batch]:
    """What is expected of the scores of the stage `scores/<evaluator>` on some benchmarks."""
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
            sql=_wide(group),
            key=SAMPLE,
            expectations=tuple(_measured(evaluator)),
            prefix=f"{', '.join(group)}: " if len(groups) > 1 else "",
        )
        for benchmark, own_evaluator in group.items():
            own = project.benchmarks[benchmark].expectations.get(stage, ())
            if own:
                yield build_added_batch(
                    benchmark, stage, _wide({benchmark: own_evaluator}), SAMPLE, own
                )


def build_added_batch(
    benchmark: str, table: str, sql: str, key: tuple[str, ...], own: Sequence[Expectation]
) -> Batch:
    """What one benchmark expects beyond what all do."""
    prefix = f"{benchmark}: "
    return Batch(table=table, sql=sql, key=key, expectations=tuple(own), prefix=prefix)


def _wide(group: Mapping[str, Evaluator]) -> str:
    """The query of one evaluator's grades, one column a metric and one for its status."""
    evaluator = next(iter(group.values()))
    columns = "".join(
        f', "values"[{at}] AS "{metric.name}"'
        f", coalesce(statuses[{at}], 'scored') AS \"{metric.name}_status\""
        for at, metric in enumerate(evaluator.sample_metrics, start=1)
    )
    # Few signatures, however many benchmarks: a condition for each benchmark would be held against
    # every row.
    alike: dict[str, list[str]] = {}
    for name, each in group.items():
        alike.setdefault(each.signature, []).append(literal(name))
    whose = " OR ".join(
        f"(signature = {literal(signature)} AND benchmark IN ({', '.join(names)}))"
        for signature, names in alike.items()
    )
    return (
        f"SELECT {', '.join(SAMPLE)}{columns} FROM grades "  # noqa: S608
        f"WHERE evaluator = {literal(evaluator.name)} AND ({whose})"
    )


def _measured(evaluator: Evaluator) -> Iterator[Expectation]:
    odd = []
    for metric in evaluator.sample_metrics:
        low, high = (end if math.isfinite(end) else None for end in metric.bounds)
        if low is not None or high is not None:
            yield expect_between(metric.name, low, high)
        yield Expectation(
            kind="expect_column_values_to_be_in_set",
            kwargs={"column": f"{metric.name}_status", "value_set": STATUSES},
            meaning=f"{metric.name}_status is one of {', '.join(STATUSES)}",
        )
        odd += [
            f'("{metric.name}" IS NULL) <> ("{metric.name}_status" <> \'scored\')',
            f'NOT isfinite("{metric.name}")',
        ]
    yield expect_no_rows(
        " OR ".join(odd),
        "a value is null exactly when its status is not `scored`, and never infinite",
    )
