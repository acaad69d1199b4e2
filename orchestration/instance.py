"""Creates and opens the Dagster instance of a project: its settings, partitions and past runs."""

from __future__ import annotations

import json
import math
import os
import socket
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psutil
import yaml

from calls.file_system import special_file, why_unwritable
from orchestration.errors import DamagedHistory, OrchestrationError
from orchestration.leftovers import remove_leftovers
from orchestration.runs.run_files import EVENTS, RUNS, SCHEDULES, describe_damage
from warehouse.storage.file_lock import FileLock
from warehouse.storage.file_system import plain_path
from warehouse.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import dagster as dg

    from assets.project import Project

DAGSTER_YAML = """\
# The Dagster instance of this project. It holds the history of the runs. The results are in the
# warehouse, so you may delete this folder. Scoreline writes this file once and keeps your changes.
# All keys: https://docs.dagster.io/deployment/oss/dagster-yaml

# No telemetry.
telemetry:
  enabled: false

# The interface does not ask for an email address.
nux:
  enabled: false

# The pipeline writes structured metadata, not console output, so there are no logs to store.
compute_logs:
  module: dagster._core.storage.noop_compute_log_manager
  class: NoOpComputeLogManager

# One run at a time: a DuckDB file has one writer, and a second run would only wait for it. If you
# allow more, still only one run at a time calls the judge, and one uses local models.
concurrency:
  runs:
    max_concurrent_runs: 1
  pools:
    granularity: run
    default_limit: 1

# The daemon fails runs that do not start in time, and cancels those that do not stop in time.
run_monitoring:
  enabled: true
  start_timeout_seconds: 300
  cancel_timeout_seconds: 300

# A run whose process was killed starts again. A run that failed does not: the same files and checks
# would fail again. Steps that call the judge retry by themselves.
run_retries:
  enabled: true
  max_retries: 2
  retry_on_asset_or_op_failure: false

# The interface marks leaderboards that are overdue.
freshness:
  enabled: true

# The days for which ticks of schedules and sensors are stored.
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
DAMAGED = ("file is not a database", "database disk image is malformed", "no such table")
"""What SQLite says of files that are not as it wrote them."""

OWN_STORAGE = {"storage", "run_storage", "event_log_storage", "schedule_storage", "instance_class"}
"""The settings that name other databases than those in the folder."""

PROCESS = ".dagster/scoreline_process"
"""The tag of a run that names its process. The interface does not show tags with this prefix."""


def home(project: Project) -> Path:
    """Return the folder of the project's Dagster instance, beside its warehouse.

    Dagster writes the path into URLs and patterns of `glob` as it is.

    Raises:
        WarehouseError: Dagster cannot use its path, and no link to it can be created.
    """
    return plain_path(project.warehouse.parent / "dagster")


def create_instance(project: Project) -> Path:
    """Create the instance if it does not exist, and return its folder."""
    folder = home(project)
    if not (folder / SETTINGS).exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder):
            if folder.is_dir():
                _write_settings(folder)
            else:
                _create(folder)
    for path in (folder, *folder.rglob("*.db")):
        if not os.access(path, os.W_OK):
            raise OrchestrationError(
                f"cannot write to the Dagster instance {str(path)!r}: {why_unwritable(path)}"
            )
    return folder


def _create(folder: Path) -> None:
    """Create an instance in a scratch folder and move it, so that it is never incomplete."""
    from orchestration.runs.storage import create_databases

    with scratch_folder(folder.parent) as scratch:
        created = scratch / folder.name
        created.mkdir()
        _write_settings(created)
        create_databases(created)
        created.rename(folder)


def _write_settings(folder: Path) -> None:
    file = folder / SETTINGS
    if not file.exists():
        file.write_text(DAGSTER_YAML, encoding="utf-8")


def _lock(folder: Path) -> AbstractContextManager[None]:
    return FileLock(folder, math.inf).exclusive()


@contextmanager
def open_instance(project: Project) -> Iterator[dg.DagsterInstance]:
    """Open the project's instance, with one partition per configured benchmark."""
    remove_leftovers(project)
    folder = create_instance(project)
    # Some parts of Dagster find the instance only through this variable.
    os.environ["DAGSTER_HOME"] = str(folder)
    with naming_damage(project), _open(folder) as instance:
        with _lock(folder):
            fail_orphaned_runs(instance)
            set_partitions(instance, list(project.benchmarks))
            initialize_pool_limits(instance)
        yield instance


@contextmanager
def naming_damage(project: Project) -> Iterator[None]:
    """Say what to do about databases of Dagster that cannot be read.

    Raises:
        DamagedHistory: One of them is not, or no longer, what Dagster wrote.
        OrchestrationError: The settings of the instance cannot be read.
    """
    folder = home(project)
    if _read_settings(folder).keys().isdisjoint(OWN_STORAGE):
        found = (folder / name for name in (RUNS, EVENTS, SCHEDULES))
        damage = next(
            filter(None, (describe_damage(file) for file in found if file.exists())), None
        )
        if damage is not None:
            raise _damaged(project, damage)
    try:
        yield
    except Exception as error:
        causes = [error, error.__cause__, error.__context__]
        said = next((each for each in causes if any(sign in str(each) for sign in DAMAGED)), None)
        if said is None or not type(said).__module__.startswith(("sqlite3", "sqlalchemy")):
            raise
        raise _damaged(project, str(said).splitlines()[0]) from error


def _damaged(project: Project, reason: str) -> DamagedHistory:
    folder = project.warehouse.parent / "dagster"
    return DamagedHistory(
        f"the history of runs in {str(folder)!r} is damaged: {reason}. Delete this folder and run "
        "again: it holds only what the interface shows of past runs; the results are in the "
        "warehouse"
    )


def _read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of an instance; empty where there are none."""
    file = folder / SETTINGS
    hint = "correct it, or delete it: the next run writes it again"
    special = special_file(file)
    if special is not None:
        raise OrchestrationError(f"{str(file)!r} is {special}, expected a file: {hint}")
    if not file.exists():
        return {}
    try:
        settings = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise OrchestrationError(f"{str(file)!r} is not YAML: {reason}; {hint}") from error
    if not isinstance(settings, dict):
        raise OrchestrationError(f"{str(file)!r} has no keys, expected settings of Dagster: {hint}")
    return settings


def _open(folder: Path) -> dg.DagsterInstance:
    """Open an instance; its databases stay open unless its settings name others."""
    from dagster import DagsterInstance
    from dagster._core.instance import InstanceRef

    from orchestration.runs import storage

    # The materializations that a step reports for its partitions are stored together.
    os.environ.setdefault("DAGSTER_EVENT_BATCH_SIZE", str(storage.BATCH_SIZE))
    overrides = {}
    if _read_settings(folder).keys().isdisjoint(OWN_STORAGE) and storage.has_databases(folder):
        overrides["storage"] = {
            "custom": {
                "module": storage.__name__,
                "class": storage.RunningStorage.__name__,
                "config": {"base_dir": str(folder)},
            }
        }
    return DagsterInstance.from_ref(InstanceRef.from_dir(str(folder), overrides=overrides))


def set_partitions(instance: dg.DagsterInstance, benchmarks: Sequence[str]) -> None:
    """Make the benchmarks the dynamic partitions, in the order of the configuration."""
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


def initialize_pool_limits(instance: dg.DagsterInstance) -> None:
    """Set the default limit of each pool that has none yet.

    Dagster's queue would set it only after it has started every run that was waiting.
    """
    from assets.keys import POOLS

    storage = instance.event_log_storage
    known = {pool.name for pool in storage.get_pool_limits()}
    for pool in POOLS:
        if pool not in known:
            storage.initialize_concurrency_limit_to_default(pool)


def process_tags() -> dict[str, str]:
    """Return the tag that names this process as the one that executes a run."""
    return {PROCESS: f"{os.getpid()}@{socket.gethostname()}"}


def fail_orphaned_runs(instance: dg.DagsterInstance) -> int:
    """Report runs as failed or canceled whose process on this machine no longer exists.

    A killed process cannot report its own end, and the queue would wait for its run. Dagster's
    server reports the runs that it started, unless it was killed with them.

    Returns:
        The number of runs reported.
    """
    from dagster import DagsterRunStatus, RunsFilter

    reported = 0
    canceling = DagsterRunStatus.CANCELING
    statuses = [DagsterRunStatus.STARTED, DagsterRunStatus.STARTING, canceling]
    for run in instance.get_runs(RunsFilter(statuses=statuses)):
        pid, _, host = _process(instance, run).partition("@")
        if pid.isdigit() and host == socket.gethostname() and not psutil.pid_exists(int(pid)):
            message = f"process {pid} ended before the run was done"
            if run.status is canceling:
                instance.report_run_canceled(run, message)
            else:
                instance.report_run_failed(run, message)
            reported += 1
    return reported


def _process(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """Return the process that executes a run, or an empty text if the run has not named it."""
    process = run.tags.get(PROCESS, "")
    parent = instance.get_run_by_id(run.parent_run_id) if run.parent_run_id else None
    # A re-execution has its parent's tags until it starts.
    is_inherited = parent is not None and parent.tags.get(PROCESS) == process
    return "" if is_inherited else process


def write_workspace(folder: Path) -> Path:
    """Write the workspace file that names the code location, and return its path."""
    location = {
        "module_name": f"{__package__}.definitions",
        "location_name": "scoreline",
        "executable_path": sys.executable,
        # Dagster imports from this folder, by default the current one. This one has no modules.
        "working_directory": str(folder),
    }
    path = folder / "workspace.yaml"
    path.write_text(json.dumps({"load_from": [{"python_module": location}]}), encoding="utf-8")
    return path
