"""Asset checks of the tables: a failed one blocks the assets downstream."""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg
from dagster._core.definitions.metadata import RawMetadataValue

from assets import metadata
from assets.checks.data_docs import write_expectations_page
from assets.checks.drift import check_drift
from assets.checks.expectations import ValidationResult, validate_stages
from assets.keys import (
    LEADERBOARD,
    PREDICTIONS,
    QUESTIONS,
    WAREHOUSE,
    StageConfig,
    scores_key,
    warehouse_of,
)
from assets.project import Project, find_evaluator, used_evaluators
from warehouse.store import Warehouse
from warehouse.validation.integrity import Grid, check_counts, check_grids, check_tables
from warehouse.validation.results import record_verdicts

AS_DESCRIBED = "as_described"
COMPLETE_GRID = "complete_grid"
COUNTS_ADD_UP = "counts_add_up"
DRIFT = "drift"
MAX_FAILED = 5
"""The most failed expectations that a check lists."""


def build_table_checks(project: Project) -> Sequence[dg.AssetChecksDefinition]:
    """Build the checks of every table; each checks the benchmarks of its run only."""
    return [
        _build_input_check(project, QUESTIONS, ("questions", "documents")),
        _build_input_check(project, PREDICTIONS, ("predictions",)),
        _build_score_checks(project),
        _build_leaderboard_checks(project),
    ]


def _build_input_check(
    project: Project, asset: dg.AssetKey, tables: Sequence[str]
) -> dg.AssetChecksDefinition:
    stage = asset.path[-1]
    spec = dg.AssetCheckSpec(
        AS_DESCRIBED,
        asset=project.namespace.key(asset),
        blocking=True,
        description=_describe_tables(*tables),
    )

    @dg.multi_asset_check(
        name=project.namespace.name(f"{stage}_{AS_DESCRIBED}"),
        specs=[spec],
        required_resource_keys={project.namespace.name(WAREHOUSE)},
    )
    def described(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        warehouse = warehouse_of(context, project)
        (key,) = context.selected_asset_check_keys
        benchmarks = select_benchmarks(context, project)
        faults = check_tables(warehouse, tables, benchmarks)
        # Expectations need the columns.
        results = {} if faults else _validate(context, warehouse, project, [stage], benchmarks)
        yield _build_result(key.asset_key, AS_DESCRIBED, benchmarks, faults, results.get(stage))

    return described


def _build_score_checks(project: Project) -> dg.AssetChecksDefinition:
    specs = [
        dg.AssetCheckSpec(
            COMPLETE_GRID,
            asset=project.namespace.key(scores_key(name)),
            blocking=True,
            description=f"`{name}`, as configured, has graded every sample, and nothing else; "
            "a value is null exactly when its status is not `scored`; every value lies within "
            "the bounds of its metric.",
        )
        for name in used_evaluators(project)
    ]

    # One step for all checks: starting a step costs more than its query.
    @dg.multi_asset_check(
        name=project.namespace.name("check_scores"),
        specs=specs,
        can_subset=True,
        required_resource_keys={project.namespace.name(WAREHOUSE)},
    )
    def check_scores(
        context: dg.AssetCheckExecutionContext, config: StageConfig
    ) -> Iterator[dg.AssetCheckResult]:
        warehouse = warehouse_of(context, project)
        benchmarks = select_benchmarks(context, project)
        evaluators = [key.asset_key.path[-1] for key in context.selected_asset_check_keys]
        selected = [f"scores/{name}" for name in evaluators]
        results = _validate(context, warehouse, project, selected, benchmarks)
        # SQL does not check values again that Great Expectations has just validated.
        grids = [
            grid
            for name in evaluators
            for grid in _build_grids(
                project, benchmarks, name, results[f"scores/{name}"].benchmarks
            )
        ]
        grid_faults = check_grids(warehouse, grids, config.systems)
        for key in sorted(context.selected_asset_check_keys):
            by_benchmark = {
                grid.benchmark: faults
                for grid, faults in zip(grids, grid_faults, strict=True)
                if grid.evaluator == key.asset_key.path[-1]
            }
            faults = [f"{name}: {each}" for name, own in by_benchmark.items() for each in own]
            result = results[f"scores/{key.asset_key.path[-1]}"]
            yield _build_result(key.asset_key, COMPLETE_GRID, list(by_benchmark), faults, result)

    return check_scores


def _build_leaderboard_checks(project: Project) -> dg.AssetChecksDefinition:
    leaderboard = project.namespace.key(LEADERBOARD)
    specs = [
        dg.AssetCheckSpec(
            AS_DESCRIBED,
            asset=leaderboard,
            blocking=True,
            description=_describe_tables("leaderboard", "system_scores"),
        ),
        dg.AssetCheckSpec(
            COUNTS_ADD_UP,
            asset=leaderboard,
            blocking=True,
            description="Every row accounts for each of its samples once: scored, not applicable, "
            "undefined, or failed; and the slice `all` counts every prediction of the system.",
        ),
        dg.AssetCheckSpec(
            DRIFT,
            asset=leaderboard,
            description="Failures, coverage and costs are close to those last published; a warning "
            "that blocks nothing.",
        ),
    ]

    @dg.multi_asset_check(
        name=project.namespace.name("check_leaderboard"),
        specs=specs,
        can_subset=True,
        required_resource_keys={project.namespace.name(WAREHOUSE)},
    )
    def check_leaderboard(
        context: dg.AssetCheckExecutionContext, config: StageConfig
    ) -> Iterator[dg.AssetCheckResult]:
        warehouse = warehouse_of(context, project)
        benchmarks = select_benchmarks(context, project)
        selected = {key.name: key.asset_key for key in context.selected_asset_check_keys}
        table_faults = check_tables(warehouse, ("leaderboard", "system_scores"), benchmarks)
        # All other checks need the columns of the tables.
        if AS_DESCRIBED in selected:
            stage = LEADERBOARD.path[-1]
            results = (
                {} if table_faults else _validate(context, warehouse, project, [stage], benchmarks)
            )
            yield _build_result(
                selected[AS_DESCRIBED], AS_DESCRIBED, benchmarks, table_faults, results.get(stage)
            )
        if COUNTS_ADD_UP in selected:
            faults = table_faults or check_counts(warehouse, benchmarks, config.systems)
            yield _build_result(selected[COUNTS_ADD_UP], COUNTS_ADD_UP, benchmarks, faults)
        if DRIFT in selected:
            verdicts = [] if table_faults else check_drift(warehouse, project, benchmarks)
            if verdicts:
                record_verdicts(warehouse, context.run.run_id, verdicts, [])
            drift = ValidationResult(tuple(benchmarks), tuple(verdicts))
            yield _build_result(selected[DRIFT], DRIFT, benchmarks, [], drift)

    return check_leaderboard


def _validate(
    context: dg.AssetCheckExecutionContext,
    warehouse: Warehouse,
    project: Project,
    stages: Sequence[str],
    benchmarks: Sequence[str],
) -> Mapping[str, ValidationResult]:
    """Validate stages, and write the page of expectations if one of them fails.

    A check that runs alone, without partitions, also validates what has not changed.
    """
    results = validate_stages(
        warehouse,
        project,
        stages,
        benchmarks,
        context.run.run_id,
        force=not _has_partitions(context),
    )
    if any(each.failed for each in results.values()):
        write_expectations_page(warehouse, project.publish)
    return results


def select_benchmarks(context: dg.AssetCheckExecutionContext, project: Project) -> list[str]:
    """Return the benchmarks of the run; all of them if a check runs alone, without partitions."""
    return list(context.partition_keys if _has_partitions(context) else project.benchmarks)


def _has_partitions(context: dg.AssetCheckExecutionContext) -> bool:
    return bool(context.has_partition_key or context.has_partition_key_range)


def _build_grids(
    project: Project, benchmarks: Sequence[str], evaluator: str, validated: Sequence[str]
) -> Iterator[Grid]:
    for benchmark in benchmarks:
        configured = find_evaluator(project, benchmark, evaluator)
        if configured is not None:
            yield Grid(
                benchmark=benchmark,
                evaluator=evaluator,
                signature=configured.signature,
                bounds={metric.name: metric.bounds for metric in configured.sample_metrics},
                with_values=benchmark not in validated,
            )


def _describe_tables(*tables: str) -> str:
    names = " and ".join(f"`{table}`" for table in tables)
    return (
        f"{names}: the columns match the schema page, no two rows of the run's benchmarks have "
        "the same key, and the expectations of the rows hold."
    )


def _build_result(
    key: dg.AssetKey,
    name: str,
    benchmarks: Sequence[str],
    faults: Sequence[str],
    validation: ValidationResult | None = None,
) -> dg.AssetCheckResult:
    failed = () if validation is None else validation.failed
    sentences = [*faults, *map(str, failed[:MAX_FAILED])]
    if len(failed) > MAX_FAILED:
        sentences.append(f"and {len(failed) - MAX_FAILED} more")
    is_error = bool(faults) or not failed or failed[0].is_blocking
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=name,
        passed=not (faults or failed),
        severity=dg.AssetCheckSeverity.ERROR if is_error else dg.AssetCheckSeverity.WARN,
        description="; ".join(sentences) or None,
        metadata={
            "benchmarks": ", ".join(benchmarks) or "none: no benchmark of this run uses it",
            **_validation_metadata(validation),
        },
    )


def _validation_metadata(validation: ValidationResult | None) -> dict[str, RawMetadataValue]:
    if validation is None or not validation.verdicts:
        return {}
    rows = [
        {
            "expected": each.expectation,
            "outcome": "holds" if each.success else each.severity,
            "found": each.observed or ("" if not each.unexpected else f"{each.unexpected:,} rows"),
        }
        for each in sorted(
            validation.verdicts, key=lambda each: (each.success, not each.is_blocking)
        )
    ]
    return {
        "expectations": len(rows),
        "quarantined rows": sum(len(each.rows) for each in validation.verdicts),
        "validated": dg.MetadataValue.md(metadata.markdown_table(rows)),
    }
