"""A spool gives what a query gives, without holding the warehouse."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
from polars.testing import assert_frame_equal

from tests.services import takes_minutes
from warehouse.schema.tables import TABLES
from warehouse.storage.location import Lake
from warehouse.storage.scratch import ScratchFolders

if TYPE_CHECKING:
    from warehouse.store import Warehouse


def test_a_spool_gives_what_fetch_gives(warehouse: Warehouse) -> None:
    rows = pl.DataFrame(
        {
            "benchmark": "b",
            "question_id": [f"q{i:05}" for i in range(5000)],
            "tags": [[{"key": "k", "value": str(i % 3)}] if i % 2 else [] for i in range(5000)],
            "rubric": [None if i % 3 else '{"a":1}' for i in range(5000)],
            "gold_doc_ids": [[None, [], ["d"]][i % 3] for i in range(5000)],
        }
    )
    warehouse.replace("questions", rows, {})
    sql = (
        "SELECT question_id, tags, rubric, gold_doc_ids FROM questions "
        "WHERE question_id < $last ORDER BY question_id"
    )
    with warehouse.fetch_to_disk(sql, {"last": "q04500"}) as spool:
        assert spool.rows == 4500
        batches = list(spool.batches(rows=1000))
        assert [batch.height for batch in batches] == [1000, 1000, 1000, 1000, 500]
        expected = warehouse.fetch(sql, {"last": "q04500"})
        assert_frame_equal(pl.concat(batches), expected)
        assert_frame_equal(spool.frame(), expected)
        # The warehouse is free while the spool is being read.
        warehouse.replace("questions", rows, {})
    assert not spool.path.exists()
    assert not list(ScratchFolders(warehouse.path).existing())


def test_spools_of_many_threads_do_not_disturb_each_other(warehouse: Warehouse) -> None:
    patient = replace(warehouse, patience_s=30.0)

    def rows(number: int) -> int:
        with patient.fetch_to_disk("SELECT unnest(range($n))", {"n": number}) as spool:
            return spool.frame().height

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(rows, range(1, 201))) == list(range(1, 201))
    assert not list(ScratchFolders(patient.path).existing())


def test_an_empty_spool_has_no_batches(warehouse: Warehouse) -> None:
    with warehouse.fetch_to_disk("SELECT * FROM questions") as spool:
        assert (spool.rows, list(spool.batches())) == (0, [])
        assert spool.frame().columns == list(TABLES["questions"].column_names)


def test_a_stream_gives_the_same_while_it_is_read(warehouse: Warehouse) -> None:
    rows = pl.DataFrame(
        {
            "benchmark": "b",
            "question_id": [f"q{i:05}" for i in range(5000)],
            "rubric": [None if i % 3 else '{"a":1}' for i in range(5000)],
            "gold_doc_ids": [[None, [], ["d", None]][i % 3] for i in range(5000)],
        }
    )
    warehouse.replace("questions", rows, {})
    sql = "SELECT question_id, rubric, gold_doc_ids FROM questions WHERE question_id < $last"
    with warehouse.stream(sql, {"last": "q04500"}, rows=1000) as frames:
        batches = list(frames)
    assert len(batches) > 1
    with warehouse.fetch_to_disk(sql, {"last": "q04500"}) as spool:
        expected = spool.frame().sort("question_id")
    assert_frame_equal(pl.concat(batches).sort("question_id"), expected)
    with warehouse.stream(sql, {"last": ""}) as frames:
        assert sum(frame.height for frame in frames) == 0
    # Nobody holds the warehouse any more.
    warehouse.replace("questions", rows, {})


@takes_minutes
def test_queries_spill_to_disk_after_scratch_folders_were_removed(warehouse: Warehouse) -> None:
    small = replace(warehouse, memory_limit="150MB", threads=1)
    with small.fetch_to_disk("SELECT 1"):
        pass
    numbered = (
        "SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY t) AS n "
        "FROM (SELECT md5(i::VARCHAR) || repeat('x', 300) AS t FROM range($n) r(i)))"
    )
    assert small.fetch(numbered, {"n": 800_000}).item() == 800_000
    # The DuckDB of a lake lives as long as its process, and so does its folder.
    own = {ScratchFolders(small.path).spill_folder} if isinstance(small.path, Lake) else set()
    assert set(ScratchFolders(small.path).existing()) <= own


def test_folders_of_killed_processes_are_removed_those_of_others_are_not(
    warehouse: Warehouse,
) -> None:
    folders = ScratchFolders(warehouse.path)
    own = folders.spill_folder
    host = own.name.partition("@")[2].partition("~")[0]
    others = [
        own.with_name(own.name.replace(f"{os.getpid()}@", "999999999@")),
        own.with_name(own.name.replace(f"@{host}~", f"@{host}-b~")),
        own.with_name(own.name.replace(f"{os.getpid()}@", f"{os.getppid()}@")),
    ]
    for each in (own, *others):
        each.mkdir(parents=True)
    warehouse.append("questions", pl.DataFrame({"benchmark": ["b"], "question_id": ["q"]}))
    assert set(folders.existing()) <= {own, *others[1:]}
    assert set(folders.existing()) >= set(others[1:])
