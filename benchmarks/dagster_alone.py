"""What Dagster needs for the steps of a small run that do nothing.

`python -m benchmarks.dagster_alone FOLDER` runs ten assets in five steps, and eight checks in four,
of one partition, with Dagster's own storage in a folder, which the first run creates. A run of the
starter project has as many steps.
"""

from __future__ import annotations

import sys
from pathlib import Path

import dagster as dg

ASSETS = (("questions", "predictions", "documents"), ("scores_a", "scores_b"), ("leaderboard",))
ASSETS += (("problems", "insights", "labels"), ("published",))
CHECKS = (("questions",), ("predictions",), ("scores_a",) * 3, ("leaderboard",) * 3)
BENCHMARKS = dg.DynamicPartitionsDefinition(name="benchmark")


def step(names: tuple[str, ...], after: tuple[str, ...]) -> dg.AssetsDefinition:
    """Return a step of assets that do nothing, after those of another step."""

    @dg.multi_asset(
        name=f"make_{names[0]}",
        specs=[dg.AssetSpec(name, deps=list(after)) for name in names],
        partitions_def=BENCHMARKS,
    )
    def make():  # noqa: ANN202 - Dagster reads the annotation
        for name in names:
            yield dg.MaterializeResult(asset_key=name)

    return make


def check_step(names: tuple[str, ...]) -> dg.AssetChecksDefinition:
    """Return a step of blocking checks that pass."""
    checks = [
        dg.AssetCheckSpec(f"check_{at}", asset=name, blocking=True) for at, name in enumerate(names)
    ]

    @dg.multi_asset_check(name=f"check_{names[0]}", specs=checks)
    def check():  # noqa: ANN202 - Dagster reads the annotation
        for each in checks:
            yield dg.AssetCheckResult(passed=True, asset_key=each.asset_key, check_name=each.name)

    return check


def main(folder: str) -> None:
    """Run the job once."""
    assets = [step(*each) for each in zip(ASSETS, ((), *ASSETS[:-1]), strict=True)]
    definitions = dg.Definitions(
        assets=assets,
        asset_checks=[check_step(names) for names in CHECKS],
        jobs=[dg.define_asset_job("evaluate", selection="*")],
    )
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    Path(folder).mkdir(exist_ok=True)
    with dg.DagsterInstance.local_temp(folder) as instance:
        instance.add_dynamic_partitions("benchmark", ["harbour"])
        job = definitions.resolve_job_def("evaluate")
        run = job.execute_in_process(quiet, instance=instance, partition_key="harbour")
        if not run.success:
            raise SystemExit("the job failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
