"""The asset `published`: the copy of the warehouse for SQL users, and the report."""

from collections.abc import Sequence
from pathlib import Path

import dagster as dg
import polars as pl

from assets.checks.data_docs import write_expectations_page
from assets.checks.expectations import FULL
from assets.fingerprints.digests import digest_of
from assets.fingerprints.installed_code import cached_by_code
from assets.keys import (
    CALIBRATION,
    INSIGHTS,
    LEADERBOARD,
    PROBLEMS,
    PUBLISHED,
    REPORT_ROUTE,
    RESULTS,
    WAREHOUSE,
    warehouse_of,
)
from assets.leaderboard.metric_facts import metric_facts
from assets.leaderboard.score_variance import with_repeats
from assets.project import CLUSTERS, Project
from evaluators import catalog
from evaluators.evaluator import Evaluator
from evaluators.kinds.composite import CompositeEvaluator
from warehouse.publish import snapshot
from warehouse.publish.publications import Kept, record_publication
from warehouse.store import Warehouse

STEP = "published"

DOCUMENTS = "document_sentences"
"""The sample column that comes from documents."""


def build_published(project: Project) -> dg.AssetsDefinition:
    """Return the asset, which has no partitions."""
    spec = dg.AssetSpec(
        PUBLISHED,
        deps=[LEADERBOARD, CALIBRATION, PROBLEMS, INSIGHTS],
        group_name=RESULTS,
        kinds={"duckdb"},
        code_version="2",
        description="The read-only copy of the warehouse that analysts query, and the report. Both "
        "are written next to the old ones and swapped in by a rename, so readers never wait or see "
        "partial results.",
    )

    @dg.multi_asset(
        name=project.namespace.name(STEP),
        specs=[spec],
        required_resource_keys={project.namespace.name(WAREHOUSE)},
    )
    def published(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        """Update the catalogue of metrics, publish a copy of the warehouse and write the report."""
        warehouse = warehouse_of(context, project)

        from assets.publishing.report.write import write_report

        catalogue = build_metrics_table(warehouse, project)
        current = warehouse.fetch("SELECT * FROM metrics ORDER BY evaluator, metric")
        if not catalogue.equals(current.select(catalogue.columns)):
            warehouse.replace("metrics", catalogue, where={})
        _record_clusters(warehouse, project)
        _record_publication(warehouse, project, context.run.run_id)
        path = snapshot.publish(warehouse, project.publish)
        if project.validation == FULL:
            write_expectations_page(warehouse, project.publish, has_report=True)
        report = write_report(project.open_copy(), project.publish)
        return dg.MaterializeResult[None](
            metadata={
                "path": dg.MetadataValue.path(path),
                "bytes": path.stat().st_size,
                "report": dg.MetadataValue.url(report_link(project, report)),
                "catalogue": digest_of(catalogue.rows()),
            }
        )

    return published


def report_link(project: Project, report: Path) -> str:
    """Return the address of the report for Dagster's interface.

    A team's own Dagster does not serve the report, and knows no other address than the file.
    """
    if project.report_url is not None:
        return project.report_url
    return report.absolute().as_uri() if project.namespace.is_shared else REPORT_ROUTE


def _record_clusters(warehouse: Warehouse, project: Project) -> None:
    """Record the field of clusters of each benchmark, for comparisons on the copy alone."""
    names = [CLUSTERS + name for name in project.benchmarks]
    fields = [benchmark.cluster for benchmark in project.benchmarks.values()]
    found = pl.DataFrame({"name": names, "value": fields}, schema_overrides={"value": pl.String})
    found = found.drop_nulls().sort("name")
    query = "SELECT name, value FROM meta WHERE starts_with(name, $prefix) ORDER BY name"
    if not found.equals(warehouse.fetch(query, {"prefix": CLUSTERS})):
        warehouse.replace("meta", found, where={"name": names})


def _record_publication(warehouse: Warehouse, project: Project, run_id: str) -> None:
    """Record the publication, with the versions of the systems that are asked."""
    versions = {name: each.version or each.digest for name, each in project.systems.items()}
    kept = Kept(**project.history.model_dump())
    record_publication(warehouse, run_id, kept, versions, _document_readers(project))


def _document_readers(project: Project) -> list[tuple[str, str]]:
    """Return benchmarks with the evaluators that read documents, themselves or by their parts."""
    found = []
    for name, benchmark in project.benchmarks.items():
        reading = {each.name for each in benchmark.evaluators if DOCUMENTS in each.columns}
        found += [
            (name, each.name)
            for each in benchmark.evaluators
            if each.name in reading
            or (
                isinstance(each, CompositeEvaluator)
                and any(part.partition(".")[0] in reading for part in each.parts)
            )
        ]
    return found


def build_metrics_table(warehouse: Warehouse, project: Project) -> pl.DataFrame:
    """Return the table `metrics`: all of the catalogue, and those that parameters or repeats add.

    Args:
        warehouse: The warehouse with the predictions.
        project: The project.
    """
    benchmarks = with_repeats(warehouse, list(project.benchmarks.values()))
    configured = [evaluator for benchmark in benchmarks for evaluator in benchmark.evaluators]
    # The evaluator with the most metrics last.
    configured.sort(key=lambda each: each.repeats)
    used = _metric_rows(configured)
    every = pl.DataFrame(
        cached_by_code("metrics", _catalogue_rows), schema=used.schema, orient="row"
    )
    return (
        pl.concat([every, used])
        .unique(["evaluator", "metric"], keep="last")
        .sort("evaluator", "metric")
    )


def _catalogue_rows() -> list[tuple[object, ...]]:
    """Return the rows of all evaluators with their default parameters; imports all of them."""
    return _metric_rows([catalog.build(name) for name in catalog.catalogue()]).rows()


def _metric_rows(evaluators: Sequence[Evaluator]) -> pl.DataFrame:
    unused = ("signature", "best_value", "worst_value", "position")
    families = [{"evaluator": each.name, "family": catalog.family_of(each)} for each in evaluators]
    schema = dict.fromkeys(("evaluator", "family"), pl.String)
    return (
        metric_facts(evaluators)
        .drop(unused)
        .join(pl.DataFrame(families, schema=schema).unique(), on="evaluator", how="left")
    )
