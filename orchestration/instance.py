"""The project's own Dagster instance: its folder, its settings and its benchmark partitions."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from orchestration.errors import OrchestrationError
from orchestration.executors.orphans import close_orphans
from warehouse.storage.file_lock import FileLock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import dagster as dg

    from assets.project import Project

DAGSTER_YAML = """\
# The Dagster instance of this project. It holds the history of the runs; the results are in the
# warehouse, so that this folder may be deleted. Written once: changes made here are kept.
# All keys: https://docs.dagster.io/deployment/oss/dagster-yaml

# Nothing is reported to anyone.
telemetry:
  enabled: false

# The interface does not ask for an e-mail address.
nux:
  enabled: false

# The pipeline writes structured metadata, not console output, so that there is none to keep.
compute_logs:
  module: dagster._core.storage.noop_compute_log_manager
  class: NoOpComputeLogManager

# One run at a time: a DuckDB file has one writer, and a second run would only wait for it. Should
# you allow more, still only one of them at a time asks the judge, and one uses local models.
concurrency:
  runs:
    max_concurrent_runs: 1
  pools:
    granularity: run
    default_limit: 1

# Runs that do not start, or do not end when they are told to, are called failed or canceled.
run_monitoring:
  enabled: true
  start_timeout_seconds: 300
  cancel_timeout_seconds: 300

# A run whose process was killed is started again, one that failed is not: neither bad files nor a
# failed check become better by themselves. Steps that ask the judge try again by themselves.
run_retries:
  enabled: true
  max_retries: 2
  retry_on_asset_or_op_failure: false

# The interface shows leaderboards that have become too old.
freshness:
  enabled: true

# Ticks of schedules and sensors are kept for these numbers of days.
retention:
  schedule:
    purge_after_days: 90
  sensor:
    purge_after_days:
      skipped: 7
      failure: 30
      success: -1
"""

SETTINGS = "dagster.yaml"
PATIENCE_S = 30.0
"""The seconds to wait for another process that makes the instance, or its partitions."""


def home(project: Project) -> Path:
    """The folder of the project's Dagster instance, beside its warehouse."""
    return project.warehouse.parent / "dagster"


def prepare(project: Project) -> Path:
    """Creates the instance where it is missing, and returns its folder."""
    folder = home(project)
    if not (folder / SETTINGS).exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            if folder.is_dir():
                _write_settings(folder)
            else:
                _make(folder)
    for path in (folder, *folder.rglob("*.db")):
        if not os.access(path, os.W_OK):
            raise OrchestrationError(
                f"Dagster's records cannot be written: Permission denied: {str(path)!r}"
            )
    return folder


def _make(folder: Path) -> None:
    """Make an instance elsewhere and move it, so that one that is there is always complete.

    Dagster's own tables are not made in one go, nor can two processes make them at once.
    """
    from dagster import DagsterInstance

    with TemporaryDirectory(prefix=".dagster-", dir=folder.parent) as beside:
        made = type(folder)(beside) / folder.name
        made.mkdir()
        _write_settings(made)
        with DagsterInstance.from_config(str(made)):
            pass
        made.rename(folder)


def _write_settings(folder: Path) -> None:
    file = folder / SETTINGS
    if not file.exists():
        file.write_text(DAGSTER_YAML, encoding="utf-8")


def _alone(folder: Path) -> AbstractContextManager[None]:
    return FileLock(folder, PATIENCE_S).exclusive()


@contextmanager
def opened(project: Project) -> Iterator[dg.DagsterInstance]:
    """The project's instance, with a partition for each benchmark that is configured."""
    from dagster import DagsterInstance

    folder = prepare(project)
    # Some parts of Dagster find the instance by this variable only.
    os.environ["DAGSTER_HOME"] = str(folder)
    with DagsterInstance.from_config(str(folder)) as instance:
        with _alone(folder):
            close_orphans(instance)
            register(instance, list(project.benchmarks))
            limit_pools(instance)
        yield instance


def register(instance: dg.DagsterInstance, benchmarks: Sequence[str]) -> None:
    """Makes the dynamic partitions those of the configuration, in its order."""
    from assets.keys import BENCHMARKS

    name = BENCHMARKS.name
    if name is None:
        raise TypeError("the benchmarks are not dynamic partitions")
    present = instance.get_dynamic_partitions(name)
    if list(present) == list(benchmarks):
        return
    # Dagster selects a range by the order in which partitions were added.
    for partition in present:
        instance.delete_dynamic_partition(name, partition)
    instance.add_dynamic_partitions(name, list(benchmarks))


def limit_pools(instance: dg.DagsterInstance) -> None:
    """Gives each pool that has no limit yet the default one.

    Left alone, the queue does so when it first meets a run of a pool, but only after it has let all
    runs of that look go.
    """
    from assets.keys import POOLS

    storage = instance.event_log_storage
    known = {pool.name for pool in storage.get_pool_limits()}
    for pool in POOLS:
        if pool not in known:
            storage.initialize_concurrency_limit_to_default(pool)


def write_workspace(folder: Path) -> Path:
    """Writes the workspace file that names the one code location, and returns its path."""
    import json

    location = {
        "module_name": "orchestration.definitions",
        "location_name": "scoreline",
        "executable_path": sys.executable,
    }
    path = folder / "workspace.yaml"
    path.write_text(json.dumps({"load_from": [{"python_module": location}]}), encoding="utf-8")
    return path


def main(arguments: Sequence[str]) -> None:
    """Make the instance of the project of a configuration file ready, with all its partitions."""
    from pathlib import Path

    from orchestration.config import load

    with opened(load.read(Path(arguments[0])).project):
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
