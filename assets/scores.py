"""The scoring stage: one asset for each evaluator that the project uses."""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg

from assets import reporting
from assets.freshness import digest_of
from assets.grading import Graded, grade
from assets.ingest import RunChoices
from assets.keys import BACKFILL, BENCHMARKS, OWNERS, PREDICTIONS, QUESTIONS, scores_key
from assets.project import Project
from evaluators import catalog
from evaluators.evaluator import Evaluator
from warehouse.store import Warehouse

STEP = "score"
"""One step scores with every evaluator that needs no engine."""


def used(project: Project) -> Mapping[str, Sequence[Evaluator]]:
    """The evaluators that some benchmark uses, by name, each as every benchmark configures it."""
    found: dict[str, list[Evaluator]] = {}
    for benchmark in project.benchmarks.values():
        for evaluator in benchmark.evaluators:
            found.setdefault(evaluator.name, []).append(evaluator)
    return {name: found[name] for name in catalog.catalogue() if name in found}


def scores(project: Project) -> dg.AssetsDefinition:
    """The assets `scores/<evaluator>`, of which a run may select any."""
    specs = [_spec(name, configured) for name, configured in used(project).items()]

    @dg.multi_asset(
        name=STEP,
        specs=specs,
        can_subset=True,
        partitions_def=BENCHMARKS,
        backfill_policy=BACKFILL,
    )
    def score(
        context: dg.AssetExecutionContext,
        config: RunChoices,
        warehouse: dg.ResourceParam[Warehouse],
        project: dg.ResourceParam[Project],
    ) -> Iterator[dg.MaterializeResult[None]]:
        """Bring the selected evaluators' scores of each benchmark up to date."""
        selected = {key.path[-1] for key in context.selected_asset_keys}
        for name in used(project):
            if name not in selected:
                continue
            done = {}
            for benchmark in context.partition_keys:
                evaluator = _configured(project, benchmark, name)
                if evaluator is not None:
                    done[benchmark] = grade(
                        warehouse,
                        benchmark,
                        evaluator,
                        run_id=context.run.run_id,
                        systems=config.systems,
                        force=config.force,
                    )
            if done:
                yield _report(warehouse, name, done)

    return score


def _spec(name: str, configured: Sequence[Evaluator]) -> dg.AssetSpec:
    evaluator = configured[0]
    primary = next(metric for metric in evaluator.measured() if metric.primary)
    text = type(evaluator).__doc__ or ""
    question = text.strip().splitlines()[0]
    signatures = sorted({each.signature for each in configured})
    return dg.AssetSpec(
        scores_key(name),
        deps=[QUESTIONS, PREDICTIONS],
        # A benchmark may not use this evaluator: then there is nothing to materialise.
        skippable=True,
        group_name=catalog.family(name),
        kinds={"polars", "duckdb"},
        owners=OWNERS,
        code_version=signatures[0] if len(signatures) == 1 else digest_of(*signatures),
        description=f"{question} Primary metric: `{primary.name}`. {primary.summary} One row is "
        "one number about one sample, or the reason why there is none.",
        metadata={"signatures": dg.MetadataValue.json(signatures)},
    )


def _configured(project: Project, benchmark: str, evaluator: str) -> Evaluator | None:
    for candidate in project.benchmarks[benchmark].evaluators:
        if candidate.name == evaluator:
            return candidate
    return None


def _report(
    warehouse: Warehouse, evaluator: str, done: Mapping[str, Graded]
) -> dg.MaterializeResult[None]:
    totals = {
        "scored": sum(each.scored for each in done.values()),
        "up to date": sum(each.current for each in done.values()),
        "removed": sum(each.removed for each in done.values()),
    }
    return dg.MaterializeResult[None](
        asset_key=scores_key(evaluator),
        metadata={
            "dagster/partition_row_count": totals["scored"] + totals["up to date"],
            **reporting.counts(totals),
            **reporting.table_metadata("scores", str(warehouse.path)),
        },
    )
