"""Validates the rows of each stage, before later stages use them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING

from assets.checks.score_expectations import build_added_batch, build_score_batches
from assets.fingerprints.digests import LEADERBOARD, PREDICTIONS, QUESTIONS, digest_of, scores_stage
from warehouse.schema.quoting import literal
from warehouse.schema.tables import table_named
from warehouse.validation.expectation import Batch, Expectation, expect_no_rows
from warehouse.validation.from_schema import build_table_batch, select_rows
from warehouse.validation.results import record_verdicts
from warehouse.validation.sql_proof import prove_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assets.project import Project
    from warehouse.publish.snapshot import OpenSnapshot
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
"""The tables that a stage writes; every evaluator has a stage of its own, `scores/<evaluator>`."""


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The result of validating one stage.

    Attributes:
        benchmarks: The validated benchmarks, without those unchanged since they last passed.
        verdicts: One verdict for each expectation.
    """

    benchmarks: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    @property
    def failed(self) -> tuple[Verdict, ...]:
        """The verdicts of failed expectations, the blocking ones first."""
        failed = [each for each in self.verdicts if not each.success]
        return tuple(sorted(failed, key=lambda each: not each.is_blocking))


def start_validator(project: Project) -> None:
    """Load Great Expectations in the background if the steps of the run will need it.

    Only expectations that users add need it for certain. Steps that run in processes of their own
    start it there.
    """
    is_needed = any(benchmark.expectations for benchmark in project.benchmarks.values())
    if is_needed and project.validation == FULL and project.execution.is_in_process:
        from warehouse.validation.validator import VALIDATOR

        VALIDATOR.start()


def validate_stages(
    warehouse: Warehouse,
    project: Project,
    selected: Sequence[str],
    benchmarks: Sequence[str],
    run_id: str,
    *,
    force: bool = False,
) -> dict[str, ValidationResult]:
    """Validate the rows of stages, and record the results in the warehouse.

    Args:
        warehouse: The warehouse that holds the rows and receives the results.
        project: The project.
        selected: The stages, such as `predictions` or `scores/citation`.
        benchmarks: The benchmarks.
        run_id: The run that the results belong to.
        force: Also validate what has not changed since it last passed, and everything with Great
            Expectations. Otherwise it validates only what SQL does not prove.

    Returns:
        The results by stage.

    Raises:
        WarehouseError: An expectation cannot be built.
    """
    if project.validation != FULL:
        return {stage: ValidationResult() for stage in selected}
    known = fetch_fingerprints(warehouse)
    due: dict[str, dict[str, str | None]] = {stage: {} for stage in selected}
    for stage in selected:
        for name in benchmarks:
            fingerprints = known.get(name, {})
            digest = expectations_digest(project, name, stage, fingerprints)
            if force or digest is None or fingerprints.get(expectations_stage(stage)) != digest:
                due[stage][name] = digest
    batches = {
        stage: list(build_batches(project, stage, list(names))) for stage, names in due.items()
    }
    all_batches = [batch for stage_batches in batches.values() for batch in stage_batches]
    if not all_batches:
        return {stage: ValidationResult() for stage in selected}
    verdicts = iter(_validate(warehouse, all_batches, force=force))
    results = {
        stage: ValidationResult(
            tuple(due[stage]),
            tuple(next(verdicts) for batch in stage_batches for _ in batch.expectations),
        )
        for stage, stage_batches in batches.items()
    }
    passed = [
        (name, expectations_stage(stage), digest)
        for stage, names in due.items()
        if not any(verdict.is_blocking for verdict in results[stage].verdicts)
        for name, digest in names.items()
        if digest is not None
    ]
    all_verdicts = [verdict for each in results.values() for verdict in each.verdicts]
    record_verdicts(warehouse, run_id, all_verdicts, passed)
    return results


def _validate(warehouse: Warehouse, batches: Sequence[Batch], *, force: bool) -> list[Verdict]:
    """Return one verdict for each expectation, in the order of the batches."""
    proofs = [None] * len(batches) if force else prove_batches(warehouse, batches)
    unproven = [batch for batch, proof in zip(batches, proofs, strict=True) if proof is None]
    validated: Iterator[Verdict] = iter(())
    if unproven:
        from warehouse.validation.validator import VALIDATOR

        validated = iter(VALIDATOR.validate(warehouse, unproven))
    return [
        verdict
        for batch, proof in zip(batches, proofs, strict=True)
        for verdict in (proof or islice(validated, len(batch.expectations)))
    ]


def build_batches(project: Project, stage: str, benchmarks: Sequence[str]) -> Iterator[Batch]:
    """Yield the batches of a stage: one for all benchmarks, and one for each that adds its own."""
    if not benchmarks:
        return
    if stage in TABLES:
        for table in TABLES[stage]:
            bounds = _expect_bounds(project, benchmarks) if table == "leaderboard" else ()
            yield build_table_batch(table, benchmarks, bounds)
            for name in benchmarks:
                added = project.benchmarks[name].expectations.get(table, ())
                if added:
                    key = table_named(table).key
                    yield build_added_batch(name, table, select_rows(table, [name]), key, added)
        return
    yield from build_score_batches(project, stage, benchmarks)


def expectations_stage(stage: str) -> str:
    """Return the stage under which the fingerprint of a validated stage is recorded."""
    return f"expectations/{stage}"


def expectations_digest(
    project: Project, benchmark: str, stage: str, fingerprints: Mapping[str, str]
) -> str | None:
    """Return the digest of a stage's rows and expectations; None where the stage is not done."""
    if stage not in fingerprints:
        return None
    batches = [_as_json(batch) for batch in build_batches(project, stage, [benchmark])]
    return digest_of(fingerprints[stage], batches)


def _as_json(batch: Batch) -> dict[str, object]:
    # Not `asdict`, which copies every value of every expectation.
    expected = [{name: getattr(each, name) for name in _EXPECTATION} for each in batch.expectations]
    return {name: getattr(batch, name) for name in _BATCH} | {"expectations": expected}


def expectations_fingerprints(
    project: Project, benchmark: str, fingerprints: Mapping[str, str]
) -> dict[str, str]:
    """Return the fingerprints of a benchmark whose stages were all validated and passed."""
    if project.validation != FULL:
        return {}
    used = [scores_stage(each.name) for each in project.benchmarks[benchmark].evaluators]
    digests = {
        expectations_stage(stage): expectations_digest(project, benchmark, stage, fingerprints)
        for stage in (*TABLES, *used)
    }
    return {stage: digest for stage, digest in digests.items() if digest is not None}


def _expect_bounds(project: Project, benchmarks: Sequence[str]) -> tuple[Expectation, ...]:
    """Return the expectation that means lie within the bounds of their metrics."""
    bounds = {
        (evaluator.name, metric.name): metric.bounds
        for benchmark in benchmarks
        for evaluator in project.benchmarks[benchmark].evaluators
        for metric in evaluator.measured()
    }
    rows = ", ".join(
        f"({literal(evaluator)}, {literal(metric)}, '{low}'::DOUBLE, '{high}'::DOUBLE)"
        for (evaluator, metric), (low, high) in sorted(bounds.items())
    )
    return (
        expect_no_rows(
            f"EXISTS (SELECT 1 FROM (VALUES {rows}) AS m(evaluator, metric, low, high) "  # noqa: S608
            "WHERE m.evaluator = broken.evaluator AND m.metric = broken.metric "
            "AND (broken.mean < m.low - 1e-9 OR broken.mean > m.high + 1e-9))",
            "a mean lies within the bounds of its metric",
        ),
    )


def fetch_fingerprints(source: Warehouse | OpenSnapshot) -> dict[str, dict[str, str]]:
    """Return the recorded fingerprints by benchmark, then by stage."""
    fingerprints: dict[str, dict[str, str]] = {}
    for name, stage, digest in source.fetch(
        "SELECT benchmark, stage, digest FROM marks"
    ).iter_rows():
        fingerprints.setdefault(name, {})[stage] = digest
    return fingerprints
