"""The last stage: the warehouse as people and their SQL see it, swapped in at once."""

from concurrent.futures import ThreadPoolExecutor

import dagster as dg
import polars as pl

from assets.checks.data_docs import write_expectations_page
from assets.checks.expectations import FULL
from assets.fingerprints.digests import digest_of
from assets.keys import (
    CALIBRATION,
    INSIGHTS,
    LEADERBOARD,
    OWNERS,
    PROBLEMS,
    PUBLISHED,
    RESULTS,
)
from assets.leaderboard.aggregate import metric_facts
from assets.project import Project, used
from evaluators import catalog
from warehouse.publish import snapshot
from warehouse.store import Warehouse


@dg.asset(
    key=PUBLISHED,
    deps=[LEADERBOARD, CALIBRATION, PROBLEMS, INSIGHTS],
    group_name=RESULTS,
    kinds={"duckdb"},
    owners=OWNERS,
    code_version="2",
    description="The read-only copy of the warehouse that analysts query, and the report that "
    "people read. Both are written beside the old ones and take their place by renaming, so that "
    "readers never wait or see half of them.",
)
def published(
    warehouse: dg.ResourceParam[Warehouse], project: dg.ResourceParam[Project]
) -> dg.MaterializeResult[None]:
    """Bring the catalogue up to date, publish a copy of the whole warehouse, and show it."""
    from assets.charts.vega import vega_bundle
    from assets.publishing.report.write import write_report

    catalogue = metrics_table(project)
    kept = warehouse.fetch("SELECT * FROM metrics ORDER BY evaluator, metric")
    if not catalogue.equals(kept.select(catalogue.columns)):
        warehouse.replace("metrics", catalogue, where={})
    # Where the scripts of the charts are not in the user's cache, putting them together takes a
    # core as long as copying takes the disk.
    with ThreadPoolExecutor(1) as beside:
        beside.submit(vega_bundle)
        path = snapshot.publish(warehouse, project.publish)
    if project.validation == FULL:
        write_expectations_page(warehouse, project.publish)
    report = write_report(snapshot.Snapshot(path), project.publish)
    return dg.MaterializeResult[None](
        metadata={
            "path": dg.MetadataValue.path(path),
            "bytes": path.stat().st_size,
            "report": dg.MetadataValue.path(report),
            "catalogue": digest_of(catalogue.rows()),
        }
    )


def metrics_table(project: Project) -> pl.DataFrame:
    """The table `metrics`: every metric of the catalogue and those that parameters add."""
    every = [catalog.build(name) for name in catalog.catalogue()]
    configured = [evaluator for group in used(project).values() for evaluator in group]
    facts = metric_facts([*every, *configured]).drop("signature")
    families = {evaluator.name: catalog.family(evaluator.name) for evaluator in every}
    return (
        facts.with_columns(family=pl.col("evaluator").replace_strict(families))
        .unique(["evaluator", "metric"], keep="last")
        .sort("evaluator", "metric")
    )
