"""The assets `scores/<evaluator>`: one for each evaluator that the project uses."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial

import dagster as dg
from dagster._core.definitions.metadata import RawMetadataValue

from assets import metadata
from assets.fingerprints.digests import digest_of
from assets.keys import (
    BACKFILL,
    MODELS_POOL,
    PREDICTIONS,
    QUESTIONS,
    WAREHOUSE,
    StageConfig,
    judgments_key,
    partitions_of,
    scores_key,
    warehouse_of,
)
from assets.metadata import add_partition_metadata
from assets.project import UNUSED, Project, find_evaluator, is_judged, used_evaluators
from assets.scoring.refresh import ScoringResult, refresh_scores
from evaluators import catalog
from evaluators.evaluator import Evaluator
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.metric import Metric
from evaluators.sample import KEYS
from warehouse.queries.benchmarks import answers_per_question

GRADE = ("value", "status", "reason", "detail")
"""The columns of `scores` that an evaluator computes."""

STEP = "score"
"""One step runs all evaluators, so that each model is loaded once."""


def build_scores(project: Project) -> dg.AssetsDefinition:
    """Return the assets, of which a run may select a subset."""
    specs = [_spec(project, name, group) for name, group in used_evaluators(project).items()]

    @dg.multi_asset(
        name=project.namespace.name(STEP),
        specs=specs,
        can_subset=True,
        partitions_def=partitions_of(project),
        backfill_policy=BACKFILL,
        pool=MODELS_POOL,
        required_resource_keys={project.namespace.name(WAREHOUSE)},
    )
    def score(
        context: dg.AssetExecutionContext, config: StageConfig
    ) -> Iterator[dg.MaterializeResult[None]]:
        """Refresh the selected evaluators' scores of each benchmark.

        Judge replies come from the ledger; no judge is called.
        """
        warehouse = warehouse_of(context, project)
        selected = {key.path[-1]: key for key in context.selected_asset_keys}
        repeats = cache(partial(answers_per_question, warehouse, context.partition_keys))
        with project.engines.replay(warehouse, context.run.run_id) as engines:
            for name in used_evaluators(project):
                if name not in selected:
                    continue
                key = selected[name]
                found = {
                    benchmark: find_evaluator(project, benchmark, name)
                    for benchmark in context.partition_keys
                }
                used = {benchmark: own for benchmark, own in found.items() if own is not None}
                results = refresh_scores(
                    warehouse,
                    [(project.benchmarks[benchmark], own) for benchmark, own in used.items()],
                    run_id=context.run.run_id,
                    systems=config.systems,
                    force=config.force,
                    engines=engines,
                    find_repeats=repeats,
                )
                added: dict[tuple[dg.AssetKey, str], Mapping[str, RawMetadataValue]] = {}
                added |= {(key, benchmark): UNUSED for benchmark in found}
                for benchmark, own in used.items():
                    added[key, benchmark] = _partition_metadata(own, results[benchmark])
                add_partition_metadata(context, added)
                # Even if no benchmark uses it: without a result, Dagster skips later stages.
                yield dg.MaterializeResult[None](asset_key=key)

    return score


def _spec(project: Project, name: str, group: Sequence[Evaluator]) -> dg.AssetSpec:
    evaluator = group[0]
    signatures = sorted({each.signature for each in group})
    return dg.AssetSpec(
        scores_key(name),
        deps=_deps(group),
        group_name=catalog.family_of(evaluator),
        kinds={"polars", "duckdb"},
        code_version=signatures[0] if len(signatures) == 1 else digest_of(*signatures),
        description="\n\n".join(
            [
                inspect.getdoc(type(evaluator)) or "",
                "\n".join(map(_describe_metric, evaluator.measured())),
                "One row is one score of one sample, or the reason why there is none.",
            ]
        ),
        metadata={
            "signatures": dg.MetadataValue.json(signatures),
            **metadata.column_lineage(_sources(project, group)),
            **metadata.code_references(evaluator),
        },
    )


def _sources(
    project: Project, group: Sequence[Evaluator]
) -> Mapping[str, Sequence[tuple[dg.AssetKey, str]]]:
    """Return where the columns of an evaluator's scores come from."""
    evaluator = group[0]
    full_key = project.namespace.key
    if isinstance(evaluator, CompositeEvaluator):
        parts = [full_key(key) for key in _deps(group)]
        return {name: [(key, name) for key in parts] for name in (*KEYS, *GRADE)}
    predictions = full_key(PREDICTIONS)
    read = {column for each in group for column in each.columns} - set(KEYS)
    sources = metadata.sample_sources(project, read)
    if any(map(is_judged, group)):
        sources.append((full_key(judgments_key(evaluator.name)), "digest"))
    return {
        **{name: [(predictions, name)] for name in KEYS},
        **dict.fromkeys(GRADE, sources),
    }


def _deps(group: Sequence[Evaluator]) -> list[dg.AssetKey]:
    evaluator = group[0]
    if isinstance(evaluator, CompositeEvaluator):
        parts = {part.partition(".")[0] for part in evaluator.parts}
        return [scores_key(name) for name in sorted(parts)]
    judged = [judgments_key(evaluator.name)] if any(map(is_judged, group)) else []
    return [QUESTIONS, PREDICTIONS, *judged]


def _describe_metric(metric: Metric) -> str:
    """Return a Markdown list item about a metric."""
    low, high = metric.bounds
    primary = ", primary" if metric.primary else ""
    return (
        f"* `{metric.name}` ({low:g} to {high:g}, {metric.best} is best{primary}): {metric.summary}"
    )


def _partition_metadata(
    evaluator: Evaluator, result: ScoringResult
) -> Mapping[str, RawMetadataValue]:
    return {
        "dagster/partition_row_count": (result.scored + result.current)
        * len(evaluator.sample_metrics),
        **metadata.counts(
            {"scored": result.scored, "up to date": result.current, "removed": result.removed}
        ),
        "signature": evaluator.signature,
    }
