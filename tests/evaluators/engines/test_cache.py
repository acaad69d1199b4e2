"""The cache: bounded, shared, separate by model, and safe to delete."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.engines.cache import AnswerCache, LruCache
from evaluators.engines.cache_store import FILE, CacheStore
from evaluators.errors import EvaluatorError

if TYPE_CHECKING:
    from pathlib import Path


def keys(count: int, first: int = 0) -> list[bytes]:
    return [number.to_bytes(16, "big") for number in range(first, first + count)]


def test_memory_drops_what_was_not_asked_for_the_longest() -> None:
    memory = LruCache(3 * 300)
    one, two, three, four = keys(4)
    for key in (one, two, three):
        memory.put(key, bytes(100))
    assert memory.get(one)
    memory.put(four, bytes(100))
    assert [memory.get(key) is not None for key in (one, two, three, four)] == [
        True,
        False,
        *[True] * 2,
    ]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 500)), max_size=60))
def test_memory_never_exceeds_its_limit(puts: list[tuple[int, int]]) -> None:
    memory = LruCache(2_000)
    for key, size in puts:
        memory.put(keys(1, key)[0], bytes(size))
        kept = [memory.get(known) for known in keys(10)]
        assert sum(len(value) + 200 for value in kept if value is not None) <= 2_000


def test_the_store_gives_back_what_it_was_given(tmp_path: Path) -> None:
    answers = {key: key * 3 for key in keys(1_234)}
    CacheStore(tmp_path).put("minilm", answers)
    other = CacheStore(tmp_path)
    assert other.get("minilm", [*answers, *keys(5, 9_000)]) == answers
    assert other.get("other model", list(answers)) == {}
    other.put("minilm", dict.fromkeys(keys(1), b"new"))
    assert other.get("minilm", keys(1)) == {keys(1)[0]: b"new"}


def test_the_store_stays_within_its_limit_and_keeps_what_was_used_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, day = CacheStore(tmp_path, limit_bytes=1_000_000), 86_400.0
    monkeypatch.setattr("time.time", lambda: 100 * day)
    store.put("m", dict.fromkeys(keys(300), bytes(1_500)))
    monkeypatch.setattr("time.time", lambda: 101 * day)
    assert len(store.get("m", keys(100))) == 100
    for start in range(1_000, 3_000, 100):
        store.put("m", dict.fromkeys(keys(100, start), bytes(1_500)))
        store.get("m", keys(100))
    assert store.path.stat().st_size < 1_400_000
    assert len(store.get("m", keys(200, 100))) == 0
    assert len(store.get("m", keys(100, 2_900))) == 100


def test_two_processes_may_use_the_store_at_once(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from evaluators.engines.cache_store import CacheStore
store = CacheStore(Path(sys.argv[1]))
for number in range(50):
    key = (int(sys.argv[2]) * 1000 + number).to_bytes(16, "big")
    store.put("m", {key: b"x" * 100})
    assert store.get("m", [key])
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    running = [subprocess.Popen([*command, str(number)]) for number in range(2)]
    assert [process.wait(60) for process in running] == [0, 0]
    assert len(CacheStore(tmp_path).get("m", [*keys(50), *keys(50, 1_000)])) == 100


def test_a_file_that_is_no_store_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database at all, and long enough to look like one" * 100)
    with pytest.raises(EvaluatorError, match=r"encodings\.sqlite.*may be deleted"):
        CacheStore(tmp_path).get("m", keys(1))


def test_a_deleted_cache_file_is_created_again(tmp_path: Path) -> None:
    store = CacheStore(tmp_path / "deep" / "er")
    store.put("m", {keys(1)[0]: b"x"})
    store.close()
    store.path.unlink()
    assert store.get("m", keys(1)) == {}


def test_the_cache_reads_memory_first(tmp_path: Path) -> None:
    cache = AnswerCache(LruCache(10_000), CacheStore(tmp_path))
    cache.put("m", {keys(1)[0]: b"x"})
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("DELETE FROM answers")
    assert cache.get("m", keys(2)) == {keys(1)[0]: b"x"}
    assert AnswerCache(LruCache(10_000)).get("m", keys(2)) == {}
