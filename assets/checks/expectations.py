"""Contracts: what is expected of the rows of each stage before anything is made from them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from assets.checks.score_expectations import added, scores_contract
from assets.fingerprints.digests import LEADERBOARD, PREDICTIONS, QUESTIONS, digest_of, scores_stage
from warehouse.schema.ddl import literal
from warehouse.schema.tables import table_named
from warehouse.validation.expectation import Batch, Expectation, broken_by
from warehouse.validation.from_schema import described, rows_of
from warehouse.validation.results import record
from warehouse.validation.validator import VALIDATOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assets.project import Project
    from warehouse.store import Warehouse
    from warehouse.validation.expectation import Verdict

FULL = "full"
_BATCH = tuple(each.name for each in fields(Batch))
_EXPECTATION = tuple(each.name for each in fields(Expectation))
TABLES: Mapping[str, tuple[str, ...]] = {
    QUESTIONS: ("questions", "documents"),
    PREDICTIONS: ("predictions",),
    LEADERBOARD: ("leaderboard", "system_scores"),
}
"""The tables that a stage fills; those of scores are one for each evaluator."""


@dataclass(frozen=True, slots=True)
class Validated:
    """What came of the expectations of one stage.

    Attributes:
        benchmarks: The benchmarks that were looked at; those that had not changed since they were
            last found in order are not among them.
        verdicts: One for each expectation.
    """

    benchmarks: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    @property
    def failed(self) -> tuple[Verdict, ...]:
        """What does not hold, the worst first."""
        broken = [each for each in self.verdicts if not each.success]
        return tuple(sorted(broken, key=lambda each: not each.blocks))


def begin(project: Project) -> None:
    """Start to load Great Expectations in the background, if this process will need it."""
    if project.validation == FULL and project.execution.is_in_process:
        VALIDATOR.begin()


def validate(
    warehouse: Warehouse,
    project: Project,
    wanted: Sequence[str],
    benchmarks: Sequence[str],
    run_id: str,
    *,
    again: bool = False,
) -> dict[str, Validated]:
    """Hold the rows of some stages against what is expected of them, and keep what came of it.

    Args:
        warehouse: Where the rows are, and where results are kept.
        project: The project.
        wanted: The stages, such as `predictions` or `scores/citation`.
        benchmarks: The benchmarks.
        run_id: The run that this belongs to.
        again: Look also at what has not changed since it was last found in order.

    Returns:
        What came of it, by stage.

    Raises:
        WarehouseError: An expectation cannot be built.
    """
    if project.validation != FULL:
        return {stage: Validated() for stage in wanted}
    known = _marks(warehouse)
    due: dict[str, dict[str, str | None]] = {stage: {} for stage in wanted}
    for stage in wanted:
        for name in benchmarks:
            marks = known.get(name, {})
            digest = contract_digest(project, name, stage, marks)
            if again or digest is None or marks.get(mark_of(stage)) != digest:
                due[stage][name] = digest
    batches = {stage: list(contract(project, stage, list(names))) for stage, names in due.items()}
    every = [batch for own in batches.values() for batch in own]
    if not every:
        return {stage: Validated() for stage in wanted}
    verdicts = iter(VALIDATOR.validate(warehouse, every))
    found = {
        stage: Validated(
            tuple(due[stage]),
            tuple(next(verdicts) for batch in own for _ in batch.expectations),
        )
        for stage, own in batches.items()
    }
    in_order = [
        (name, mark_of(stage), digest)
        for stage, names in due.items()
        if not any(verdict.blocks for verdict in found[stage].verdicts)
        for name, digest in names.items()
        if digest is not None
    ]
    record(warehouse, run_id, [v for each in found.values() for v in each.verdicts], in_order)
    return found


def contract(project: Project, stage: str, benchmarks: Sequence[str]) -> Iterator[Batch]:
    """What is expected of the rows of a stage: of all benchmarks, and what each adds itself."""
    if not benchmarks:
        return
    if stage in TABLES:
        for table in TABLES[stage]:
            more = _bounds(project, benchmarks) if table == "leaderboard" else ()
            yield described(table, benchmarks, more)
            for name in benchmarks:
                own = project.benchmarks[name].expectations.get(table, ())
                if own:
                    key = table_named(table).key
                    yield added(name, table, rows_of(table, [name]), key, own)
        return
    yield from scores_contract(project, stage, benchmarks)


def mark_of(stage: str) -> str:
    """The mark of a stage whose rows were found as expected."""
    return f"expectations/{stage}"


def contract_digest(
    project: Project, benchmark: str, stage: str, marks: Mapping[str, str]
) -> str | None:
    """What the validation of a stage depends on; None where the stage itself is not done."""
    if stage not in marks:
        return None
    batches = [_plain(batch) for batch in contract(project, stage, [benchmark])]
    return digest_of(marks[stage], batches)


def _plain(batch: Batch) -> dict[str, object]:
    """A batch as JSON can hold it; `asdict` would copy each value of each of its expectations."""
    expected = [{name: getattr(each, name) for name in _EXPECTATION} for each in batch.expectations]
    return {name: getattr(batch, name) for name in _BATCH} | {"expectations": expected}


def contract_marks(project: Project, benchmark: str, marks: Mapping[str, str]) -> dict[str, str]:
    """The marks of a benchmark whose stages were all found as expected."""
    if project.validation != FULL:
        return {}
    used = [scores_stage(each.name) for each in project.benchmarks[benchmark].evaluators]
    digests = {
        mark_of(stage): contract_digest(project, benchmark, stage, marks)
        for stage in (*TABLES, *used)
    }
    return {mark: digest for mark, digest in digests.items() if digest is not None}


def _bounds(project: Project, benchmarks: Sequence[str]) -> tuple[Expectation, ...]:
    """The expectation that means lie within the bounds of their metrics."""
    ends = {
        (evaluator.name, metric.name): metric.bounds
        for benchmark in benchmarks
        for evaluator in project.benchmarks[benchmark].evaluators
        for metric in evaluator.measured()
    }
    rows = ", ".join(
        f"({literal(evaluator)}, {literal(metric)}, '{low}'::DOUBLE, '{high}'::DOUBLE)"
        for (evaluator, metric), (low, high) in sorted(ends.items())
    )
    return (
        broken_by(
            f"EXISTS (SELECT 1 FROM (VALUES {rows}) AS m(evaluator, metric, low, high) "  # noqa: S608
            "WHERE m.evaluator = broken.evaluator AND m.metric = broken.metric "
            "AND (broken.mean < m.low - 1e-9 OR broken.mean > m.high + 1e-9))",
            "a mean lies within the bounds of its metric",
        ),
    )


def _marks(warehouse: Warehouse) -> dict[str, dict[str, str]]:
    marks: dict[str, dict[str, str]] = {}
    for name, stage, digest in warehouse.fetch(
        "SELECT benchmark, stage, digest FROM marks"
    ).iter_rows():
        marks.setdefault(name, {})[stage] = digest
    return marks
