"""The databases of the instance are those that Dagster would create, and stay open in a run."""

import sqlite3
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.instance import InstanceRef

from orchestration.runs import storage


@dg.asset
def numbers() -> int:
    return 1


def _content(file: Path) -> tuple[list[object], ...]:
    """Return the schema of a database, its version and the migrations that are noted as done."""
    with sqlite3.connect(file) as connection:
        names = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
        schema = connection.execute(names).fetchall()
        tables = {name for kind, name, *_ in schema if kind == "table"}
        version = connection.execute("SELECT * FROM alembic_version").fetchall()
        mode = connection.execute("PRAGMA journal_mode").fetchall()
        done: list[object] = []
        if "secondary_indexes" in tables:
            query = "SELECT name, migration_completed IS NULL FROM secondary_indexes ORDER BY name"
            done = connection.execute(query).fetchall()
    connection.close()
    normal = [(*row[:3], "".join((row[3] or "").split())) for row in schema]
    return normal, version, mode, done


def _open(folder: Path) -> dg.DagsterInstance:
    pointer = {
        "module": storage.__name__,
        "class": storage.RunningStorage.__name__,
        "config": {"base_dir": str(folder)},
    }
    overrides = {"storage": {"custom": pointer}}
    return dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(folder), overrides=overrides))


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    own, theirs = tmp_path / "own", tmp_path / "theirs"
    for folder in (own, theirs):
        folder.mkdir()
        (folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    storage.create_databases(own)
    return own, theirs


def test_the_databases_are_those_that_dagster_creates(folders: tuple[Path, Path]) -> None:
    own, theirs = folders
    with _open(own) as ours, dg.DagsterInstance.from_config(str(theirs)) as dagsters:
        runs = [dg.materialize([numbers], instance=each).run_id for each in (ours, dagsters)]
    for name in storage.DATABASES:
        assert _content(own / name) == _content(theirs / name)
    runs_of = zip(folders, runs, strict=True)
    events = [folder / "history" / "runs" / f"{run}.db" for folder, run in runs_of]
    assert _content(events[0]) == _content(events[1])


KINDS = dg.StaticPartitionsDefinition(["a", "b", "c"])


@dg.asset(partitions_def=KINDS, backfill_policy=dg.BackfillPolicy.single_run())
def letters() -> dg.MaterializeResult[None]:
    return dg.MaterializeResult(metadata={"size": 1}, tags={"origin": "test"})


@dg.asset(partitions_def=KINDS, deps=[letters], backfill_policy=dg.BackfillPolicy.single_run())
def words() -> None:
    pass


def _events(folder: Path, run_id: str) -> dict[str, list[tuple[object, ...]]]:
    """Return what is stored of events, but for times and the names of runs."""
    stored = "SELECT id, dagster_event_type, step_key, asset_key, partition FROM event_logs"
    keys = (
        "SELECT k.asset_key, last_run_id = ?, e.dagster_event_type, e.partition "
        "FROM asset_keys AS k "
        "LEFT JOIN event_logs AS e ON e.id = json_extract(last_materialization, '$.storage_id')"
    )
    tags = (
        "SELECT e.partition, t.asset_key, t.key, t.value FROM asset_event_tags AS t "
        "JOIN event_logs AS e ON e.id = t.event_id WHERE t.key NOT LIKE '%data_version%' "
        "AND t.key NOT LIKE '%input%' ORDER BY 1, 2, 3, 4"
    )
    with (
        sqlite3.connect(folder / "history" / "runs" / f"{run_id}.db") as run,
        sqlite3.connect(folder / "history" / "runs" / "index.db") as index,
    ):
        return {
            "run": run.execute(f"{stored} ORDER BY id").fetchall(),
            "index": index.execute(f"{stored} ORDER BY id").fetchall(),
            "keys": index.execute(f"{keys} ORDER BY 1", (run_id,)).fetchall(),
            "tags": index.execute(tags).fetchall(),
        }


def test_events_stored_together_are_those_that_dagster_stores(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_EVENT_BATCH_SIZE", "2")
    own, theirs = folders
    chosen = dg.PartitionKeyRange("a", "c")
    with _open(own) as ours, dg.DagsterInstance.from_config(str(theirs)) as dagsters:
        found = []
        for folder, instance in zip(folders, (ours, dagsters), strict=True):
            run = dg.materialize(
                [letters, words],
                instance=instance,
                tags={
                    "dagster/asset_partition_range_start": chosen.start,
                    "dagster/asset_partition_range_end": chosen.end,
                },
            )
            found.append(_events(folder, run.run_id))
            assert instance.get_materialized_partitions(words.key) == set("abc")
    assert found[0] == found[1]
    assert sum(row[1] == "ASSET_MATERIALIZATION" for row in found[0]["index"]) == 6


def test_dagster_sees_each_event_while_the_run_lasts(folders: tuple[Path, Path]) -> None:
    own, _ = folders
    seen: list[tuple[str, int]] = []

    @dg.op
    def look(context: dg.OpExecutionContext) -> None:
        with dg.DagsterInstance.from_config(str(own)) as other:
            run = other.get_run_by_id(context.run_id)
            assert run is not None
            seen.append((run.status.value, len(other.all_logs(context.run_id))))

    @dg.job
    def watched() -> None:
        look()

    with _open(own) as instance:
        result = watched.execute_in_process(instance=instance)
        stored = instance.all_logs(result.run_id)
    (status, count) = seen[0]
    assert status == "STARTED"
    assert 0 < count < len(stored)
    with dg.DagsterInstance.from_config(str(own)) as other:
        assert [each.dagster_event for each in other.all_logs(result.run_id)] == [
            each.dagster_event for each in stored
        ]


def test_a_run_database_that_another_process_has_created_is_kept(
    folders: tuple[Path, Path],
) -> None:
    own, _ = folders
    with dg.DagsterInstance.from_config(str(own)) as instance:
        instance.event_log_storage.get_logs_for_run("shown-early")
    opened = storage.EventStorage(str(own / "history" / "runs"))
    assert opened.get_logs_for_run("shown-early") == []
    opened.dispose()
