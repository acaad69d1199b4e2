"""Checks of the tables: what follows from a table is not made while one of them fails."""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg
from dagster._core.definitions.metadata import RawMetadataValue

from assets import metadata
from assets.checks.data_docs import write_expectations_page
from assets.checks.drift import check_drift
from assets.checks.expectations import ValidationResult, validate_stages
from assets.keys import LEADERBOARD, PREDICTIONS, QUESTIONS, StageConfig, scores_key
from assets.project import Project, configured, used
from warehouse.store import Warehouse
from warehouse.validation.expectation import Verdict
from warehouse.validation.integrity import Grid, check_counts, check_grids, check_tables
from warehouse.validation.results import record_verdicts

AS_DESCRIBED = "as_described"
COMPLETE_GRID = "complete_grid"
COUNTS_ADD_UP = "counts_add_up"
DRIFT = "drift"
SHOWN = 5
"""The expectations that do not hold that a check names."""


def build_table_checks(project: Project) -> Sequence[dg.AssetChecksDefinition]:
    """The checks of every table; each looks at the benchmarks of its run only."""
    return [
        _inputs(QUESTIONS, ("questions", "documents")),
        _inputs(PREDICTIONS, ("predictions",)),
        _scores(project),
        _leaderboard(),
    ]


def _inputs(key: dg.AssetKey, tables: Sequence[str]) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=key, name=AS_DESCRIBED, blocking=True, description=_described_as(*tables))
    def described(
        context: dg.AssetCheckExecutionContext,
        warehouse: dg.ResourceParam[Warehouse],
        project: dg.ResourceParam[Project],
    ) -> dg.AssetCheckResult:
        benchmarks = select_benchmarks(context, project)
        faults = check_tables(warehouse, tables, benchmarks)
        stage = key.path[-1]
        # Of rows without their columns nothing can be expected.
        found = {} if faults else _validated(context, warehouse, project, [stage], benchmarks)
        return _result(key, AS_DESCRIBED, benchmarks, faults, found.get(stage))

    return described


def _scores(project: Project) -> dg.AssetChecksDefinition:
    specs = [
        dg.AssetCheckSpec(
            COMPLETE_GRID,
            asset=scores_key(name),
            blocking=True,
            description=f"`{name}` as it is configured has graded every sample, and nothing else; "
            "a value is null exactly when its status is not `scored`; every value lies within "
            "the bounds of its metric.",
        )
        for name in used(project)
    ]

    # One step for all: a step costs more than its query.
    @dg.multi_asset_check(name="check_scores", specs=specs, can_subset=True)
    def check_scores(
        context: dg.AssetCheckExecutionContext,
        config: StageConfig,
        warehouse: dg.ResourceParam[Warehouse],
        project: dg.ResourceParam[Project],
    ) -> Iterator[dg.AssetCheckResult]:
        benchmarks = select_benchmarks(context, project)
        evaluators = [key.asset_key.path[-1] for key in context.selected_asset_check_keys]
        wanted = [f"scores/{name}" for name in evaluators]
        validated = _validated(context, warehouse, project, wanted, benchmarks)
        # The values that Great Expectations has looked at just now need no second look.
        grids = [
            grid
            for name in evaluators
            for grid in _grids(project, benchmarks, name, validated[f"scores/{name}"].benchmarks)
        ]
        found = dict(zip(_names(grids), check_grids(warehouse, grids, config.systems), strict=True))
        for key in sorted(context.selected_asset_check_keys):
            own = {
                benchmark: faults
                for (benchmark, evaluator), faults in found.items()
                if evaluator == key.asset_key.path[-1]
            }
            told = [f"{name}: {fault}" for name, faults in own.items() for fault in faults]
            held = validated["/".join(key.asset_key.path)]
            yield _result(key.asset_key, COMPLETE_GRID, list(own), told, held)

    return check_scores


def _leaderboard() -> dg.AssetChecksDefinition:
    specs = [
        dg.AssetCheckSpec(
            AS_DESCRIBED,
            asset=LEADERBOARD,
            blocking=True,
            description=_described_as("leaderboard", "system_scores"),
        ),
        dg.AssetCheckSpec(
            COUNTS_ADD_UP,
            asset=LEADERBOARD,
            blocking=True,
            description="Every row accounts for each of its samples once: scored, not applicable, "
            "undefined, or failed; and the slice `all` counts every prediction of the system.",
        ),
        dg.AssetCheckSpec(
            DRIFT,
            asset=LEADERBOARD,
            description="Failures, coverage and costs have not moved far since what was last "
            "published; a warning, which stops nothing.",
        ),
    ]

    @dg.multi_asset_check(name="check_leaderboard", specs=specs, can_subset=True)
    def check_leaderboard(
        context: dg.AssetCheckExecutionContext,
        config: StageConfig,
        warehouse: dg.ResourceParam[Warehouse],
        project: dg.ResourceParam[Project],
    ) -> Iterator[dg.AssetCheckResult]:
        benchmarks = select_benchmarks(context, project)
        wanted = {key.name for key in context.selected_asset_check_keys}
        described = check_tables(warehouse, ("leaderboard", "system_scores"), benchmarks)
        if AS_DESCRIBED in wanted:
            stage = LEADERBOARD.path[-1]
            found = (
                {} if described else _validated(context, warehouse, project, [stage], benchmarks)
            )
            yield _result(LEADERBOARD, AS_DESCRIBED, benchmarks, described, found.get(stage))
        if COUNTS_ADD_UP in wanted:
            # Columns that are missing cannot be added up.
            faults = described or check_counts(warehouse, benchmarks, config.systems)
            yield _result(LEADERBOARD, COUNTS_ADD_UP, benchmarks, faults)
        if DRIFT in wanted:
            moved = [] if described else check_drift(warehouse, project, benchmarks)
            if moved:
                record_verdicts(warehouse, context.run.run_id, moved, [])
            held = ValidationResult(tuple(benchmarks), tuple(moved))
            yield _result(LEADERBOARD, DRIFT, benchmarks, [], held)

    return check_leaderboard


def _validated(
    context: dg.AssetCheckExecutionContext,
    warehouse: Warehouse,
    project: Project,
    wanted: Sequence[str],
    benchmarks: Sequence[str],
) -> Mapping[str, ValidationResult]:
    """Hold stages against their contracts; where one is broken, the page of them says so at once.

    Carried out by itself, a check looks also at what has not changed.
    """
    alone = not (context.has_partition_key or context.has_partition_key_range)
    found = validate_stages(warehouse, project, wanted, benchmarks, context.run.run_id, again=alone)
    if any(each.failed for each in found.values()):
        write_expectations_page(warehouse, project.publish)
    return found


def select_benchmarks(context: dg.AssetCheckExecutionContext, project: Project) -> list[str]:
    """The benchmarks of the run; all of them where a check is carried out by itself."""
    if context.has_partition_key or context.has_partition_key_range:
        return list(context.partition_keys)
    return list(project.benchmarks)


def _grids(
    project: Project, benchmarks: Sequence[str], evaluator: str, validated: Sequence[str]
) -> Iterator[Grid]:
    for benchmark in benchmarks:
        found = configured(project, benchmark, evaluator)
        if found is not None:
            yield Grid(
                benchmark=benchmark,
                evaluator=evaluator,
                signature=found.signature,
                bounds={metric.name: metric.bounds for metric in found.sample_metrics},
                with_values=benchmark not in validated,
            )


def _names(grids: Sequence[Grid]) -> Sequence[tuple[str, str]]:
    return [(grid.benchmark, grid.evaluator) for grid in grids]


def _described_as(*tables: str) -> str:
    named = " and ".join(f"`{table}`" for table in tables)
    return (
        f"{named}: the columns are those of the schema page, no two rows of the run's "
        "benchmarks have the same key, and what is expected of the rows holds."
    )


def _result(
    key: dg.AssetKey,
    name: str,
    benchmarks: Sequence[str],
    faults: Sequence[str],
    validated: ValidationResult | None = None,
) -> dg.AssetCheckResult:
    looked_at = ", ".join(benchmarks) or "none: no benchmark of this run uses it"
    failed = () if validated is None else validated.failed
    told = [*faults, *map(str, failed[:SHOWN])]
    if len(failed) > SHOWN:
        told.append(f"and {len(failed) - SHOWN} more")
    serious = bool(faults) or not failed or failed[0].is_blocking
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=name,
        passed=not (faults or failed),
        severity=dg.AssetCheckSeverity.ERROR if serious else dg.AssetCheckSeverity.WARN,
        description="; ".join(told) or None,
        metadata={"benchmarks": looked_at, **_expectations(validated)},
    )


def _expectations(validated: ValidationResult | None) -> dict[str, RawMetadataValue]:
    if validated is None or not validated.verdicts:
        return {}
    rows = [
        {
            "expected": each.expectation,
            "outcome": "holds" if each.success else each.severity,
            "found": each.observed or ("" if not each.unexpected else f"{each.unexpected:,} rows"),
        }
        for each in _worst_first(validated.verdicts)
    ]
    return {
        "expectations": len(rows),
        "quarantined rows": sum(len(each.rows) for each in validated.verdicts),
        "validated": dg.MetadataValue.md(metadata.markdown_table(rows)),
    }


def _worst_first(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return sorted(verdicts, key=lambda each: (each.success, not each.is_blocking))
