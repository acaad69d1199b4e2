"""A spool gives what a query gives, without holding the warehouse."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
from polars.testing import assert_frame_equal

from warehouse.schema.tables import TABLES
from warehouse.storage.scratch import ScratchFolder

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
    assert not warehouse.path.with_name(warehouse.path.name + ".scratch").exists()


def test_spools_of_many_threads_do_not_disturb_each_other(warehouse: Warehouse) -> None:
    patient = replace(warehouse, patience_s=30.0)

    def rows(number: int) -> int:
        with patient.fetch_to_disk("SELECT unnest(range($n))", {"n": number}) as spool:
            return spool.frame().height

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(rows, range(1, 201))) == list(range(1, 201))
    assert not ScratchFolder(patient.path).folder.exists()


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
