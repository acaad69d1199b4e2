"""Export leaderboards as runs of MLflow: one for each system, in an experiment per benchmark."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assets.publishing.exports.errors import ExportFailed, missing_extra
from assets.publishing.exports.mlflow_artifacts import artifact_location, log_report, log_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    from warehouse.publish.snapshot import OpenSnapshot

TRACKING_URI: Final = "MLFLOW_TRACKING_URI"
FILE: Final = "mlflow.db"
EXPORT: Final = "scoreline.export"
"""The tag that identifies a publication of a system, so that it is exported once."""

VERSION: Final = 2
"""Increment it when the same publication gives other runs."""

FIGURES: Final = ("ci_low", "ci_high", "coverage", "n_scored", "rank")
"""The columns of the leaderboard that become metrics beside the mean."""

ARTIFACTS: Final = "mlruns"
"""The folder for artifacts that MLflow chooses, in the current folder."""

MOST_METRICS: Final = 1_000
MOST_PARAMS: Final = 100
"""What MLflow accepts in one call."""

_ROWS = """
SELECT system, evaluator, metric, mean, ci_low, ci_high, coverage, n_scored, rank, signature,
    epoch_ms(published_at) AS time_ms, published_at::VARCHAR AS published
FROM leaderboard WHERE benchmark = $benchmark AND slice = 'all'
ORDER BY system, evaluator, metric
"""


def log_runs(
    snapshot: OpenSnapshot, benchmark: str, folder: Path | None, publish: Path
) -> list[str]:
    """Log the leaderboard of a benchmark and return the id of each system's run.

    Its artifacts are the report and a table of the questions.

    The experiment is `scoreline/<benchmark>`, the run is called after the system. What the
    published copy holds is logged once; if it is logged already, the id is that of the earlier run.

    Args:
        snapshot: The published copy.
        benchmark: The benchmark.
        folder: The folder for a store in SQLite, `mlflow.db`; null: the store that
            `MLFLOW_TRACKING_URI` names.
        publish: The folder with the report.

    Raises:
        ExportFailed: MLflow is not installed, no store is named, or the store is not reachable.
    """
    if folder is None and not os.environ.get(TRACKING_URI):
        raise ExportFailed(
            f"no store is named: set {TRACKING_URI}, for example to http://127.0.0.1:5000 or "
            f"sqlite:///{FILE}, or give `--out DIR` for a store in DIR/{FILE}"
        )
    # Nothing but the results leaves this machine.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    try:
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
    except ImportError as error:
        raise missing_extra("mlflow") from error
    systems: dict[str, list[dict[str, Any]]] = {}
    for row in snapshot.fetch(_ROWS, {"benchmark": benchmark}).iter_rows(named=True):
        systems.setdefault(row["system"], []).append(row)
    try:
        store = os.environ[TRACKING_URI] if folder is None else _store(folder.absolute() / FILE)
        _prepare(store)
        client = MlflowClient(store)
        place = None if folder is None else artifact_location(folder, benchmark)
        experiment = _experiment(client, f"scoreline/{benchmark}", place)

        def log_artifacts(run: str, system: str) -> None:
            log_table(client, run, snapshot, benchmark, system)
            log_report(client, run, benchmark, publish)

        return [
            _log_system(client, experiment, benchmark, system, rows, log_artifacts)
            for system, rows in systems.items()
        ]
    except (MlflowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise ExportFailed(f"MLflow does not accept the results: {reason}") from error


def _store(file: Path) -> str:
    """Return the address of a store in SQLite; MLflow takes the path in it as it is."""
    from warehouse.storage.file_system import plain_path

    return f"sqlite:///{plain_path(file)}"


def _prepare(store: str) -> None:
    """Create the tables of a database, and the experiment that MLflow expects in it.

    MLflow writes the current folder into SQL as it is, which fails with quotes in its path. As a
    URL it has none.
    """
    from mlflow.store.db.db_types import DATABASE_ENGINES
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    if store.partition(":")[0].partition("+")[0] in DATABASE_ENGINES:
        SqlAlchemyStore(store, Path(ARTIFACTS).absolute().as_uri())  # type: ignore[no-untyped-call]


def _experiment(client: MlflowClient, name: str, place: str | None) -> str:
    found = client.get_experiment_by_name(name)
    return str(client.create_experiment(name, place) if found is None else found.experiment_id)


def _log_system(
    client: MlflowClient,
    experiment: str,
    benchmark: str,
    system: str,
    rows: list[dict[str, Any]],
    log_artifacts: Callable[[str, str], None],
) -> str:
    from mlflow.entities import Metric, Param

    values = [[row["evaluator"], row["metric"], row["mean"], row["signature"]] for row in rows]
    parts = json.dumps([VERSION, benchmark, system, rows[0]["published"], values])
    digest = hashlib.sha256(parts.encode()).hexdigest()
    earlier = client.search_runs(
        [experiment], f"tags.`{EXPORT}` = '{digest}' and attributes.status = 'FINISHED'"
    )
    if earlier:
        return str(earlier[0].info.run_id)
    tags = {EXPORT: digest, "scoreline.benchmark": benchmark, "scoreline.system": system}
    tags["scoreline.published_at"] = rows[0]["published"]
    run = str(client.create_run(experiment, tags=tags, run_name=system).info.run_id)
    status = "FAILED"
    try:
        metrics = [
            Metric(name, value, row["time_ms"], 0) for row in rows for name, value in _figures(row)
        ]
        signatures = {row["evaluator"]: row["signature"] for row in rows}
        params = [Param(f"{name}.signature", value) for name, value in signatures.items()]
        _log(client, run, metrics, params)
        log_artifacts(run, system)
        status = "FINISHED"
    finally:
        client.set_terminated(run, status)
    return run


def _figures(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the names and values of a row of the leaderboard, without unknown ones."""
    name = f"{row['evaluator']}.{row['metric']}"
    named = {name: row["mean"]} | {f"{name}/{figure}": row[figure] for figure in FIGURES}
    for each, value in named.items():
        if value is not None:
            yield each, float(value)


def _log(client: MlflowClient, run: str, metrics: list[Metric], params: list[Param]) -> None:
    for start in range(0, len(params), MOST_PARAMS):
        client.log_batch(run, params=params[start : start + MOST_PARAMS])
    for start in range(0, len(metrics), MOST_METRICS):
        client.log_batch(run, metrics=metrics[start : start + MOST_METRICS])
