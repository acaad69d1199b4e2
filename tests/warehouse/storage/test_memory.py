"""The memory limit: what users write, what containers allow, and who spills where."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import duckdb
import psutil
import pytest

from tests.support.services import takes_minutes
from tests.warehouse.conftest import questions
from warehouse import store
from warehouse.ingest.ingest import QUESTIONS, ingest
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.publish.parquet import write_parquet
from warehouse.publish.snapshot import Snapshot, publish
from warehouse.queries.report import hardest_questions
from warehouse.storage.memory import available_memory, parse_memory
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator

MACHINE = psutil.virtual_memory().total
SPILL_FOLDER = "SELECT current_setting('temp_directory')"
LIMIT = "SELECT current_setting('memory_limit')"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4_000_000_000),
        ("512MB", 512_000_000),
        ("512 mib", 512 * 2**20),
        ("1.5GB", 1_500_000_000),
        ("100000KB", 100_000_000),
        ("1TiB", 2**40),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["4", "4G", "GB", "-4GB", "4 bytes", "50%", "4,5GB", "lots"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_memory(text)


def threads(warehouse: Warehouse) -> int:
    return int(warehouse.fetch("SELECT current_setting('threads')").item())


@pytest.mark.parametrize("limit", ["100MB", "199MB", "64MB"])
def test_each_thread_has_enough_memory(
    tmp_path: Path, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "SMALL_BYTES", 0)
    warehouse = Warehouse(tmp_path / "w.duckdb", memory_limit=limit)
    assert threads(warehouse) == 1
    assert threads(replace(warehouse, memory_limit="1TB")) == os.cpu_count()


def test_one_thread_reads_a_small_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb", memory_limit="1TB")
    assert threads(warehouse) == 1
    assert threads(replace(warehouse, threads=2)) == 2
    monkeypatch.setattr(store, "SMALL_BYTES", 1_000)
    assert threads(warehouse) == os.cpu_count()


def write(root: Path, file: str, text: str) -> None:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="ascii")


def test_the_memory_of_a_machine_without_limits(tmp_path: Path) -> None:
    assert available_memory(tmp_path) == MACHINE
    write(tmp_path, "proc/self/cgroup", "4:memory:/a\n0::/b\n")
    write(tmp_path, "sys/fs/cgroup/b/memory.max", "max\n")
    write(tmp_path, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n")
    assert available_memory(tmp_path) == MACHINE


@pytest.mark.parametrize("file", ["memory.max", "memory.high"])
@pytest.mark.parametrize("group", ["", "pod", "pod/container"])
def test_the_limit_of_a_control_group_or_one_around_it(
    tmp_path: Path, file: str, group: str
) -> None:
    write(tmp_path, "proc/self/cgroup", "0::/pod/container\n")
    write(tmp_path, f"sys/fs/cgroup/{group}/{file}", "123456789\n")
    write(tmp_path, "sys/fs/cgroup/pod/container/memory.current", "1\n")
    assert available_memory(tmp_path) == 123_456_789


@pytest.mark.parametrize("group", ["", "docker/0123"])
def test_the_limit_of_a_control_group_of_version_1(tmp_path: Path, group: str) -> None:
    write(tmp_path, "proc/self/cgroup", "9:cpu,cpuacct:/\n4:memory:/docker/0123\n0::/\n")
    write(tmp_path, f"sys/fs/cgroup/memory/{group}/memory.limit_in_bytes", "123456789\n")
    assert available_memory(tmp_path) == 123_456_789


@contextmanager
def control_group(size: int) -> Iterator[Path]:
    """Create a control group of this size inside the own one."""
    by_name = {}
    for line in Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
        _, names, path = line.split(":", 2)
        by_name |= {name: path.lstrip("/") for name in names.split(",")}
    if "memory" in by_name:
        around, limit = Path("/sys/fs/cgroup/memory", by_name["memory"]), "memory.limit_in_bytes"
    else:
        around, limit = Path("/sys/fs/cgroup", by_name[""]), "memory.max"
    group = around / f"scoreline-{uuid4().hex}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be created here: {error}")
    try:
        if not (group / limit).exists():
            pytest.skip("the memory of control groups is not limited here")
        (group / limit).write_text(str(size), encoding="ascii")
        yield group
    finally:
        group.rmdir()


@pytest.mark.skipif(sys.platform != "linux", reason="there are no control groups here")
def test_the_default_is_half_of_what_the_container_has(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "Path(sys.argv[1], 'cgroup.procs').write_text(str(os.getpid()))\n"
        "from warehouse.store import Warehouse\n"
        f'print(Warehouse(Path(sys.argv[2])).fetch("{LIMIT}").item())\n'
    )
    with control_group(2**30) as group:
        told = subprocess.run(
            [sys.executable, "-c", code, str(group), str(tmp_path / "w.duckdb")],
            capture_output=True,
            text=True,
            check=True,
        )
    assert told.stdout.strip() == "511.9 MiB"


def test_every_connection_has_the_limit(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb", memory_limit="256MiB")
    warehouse.replace("questions", questions("q1"))
    assert warehouse.fetch(LIMIT).item() == "256.0 MiB"
    copy = Snapshot(publish(warehouse, tmp_path / "published"), memory_limit="128MiB")
    assert copy.fetch(LIMIT).item() == "128.0 MiB"
    assert write_parquet(copy, tmp_path, "b")


def test_a_copy_that_is_not_writable_spills_to_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    copy = Snapshot(publish(warehouse, tmp_path / "published"))
    assert Path(copy.fetch(SPILL_FOLDER).item()).parent == tmp_path / "published"
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert Path(copy.fetch(SPILL_FOLDER).item()).parent != tmp_path / "published"


def test_databases_of_one_process_spill_to_different_folders(tmp_path: Path) -> None:
    first = Warehouse(tmp_path / "w.duckdb")
    second = Warehouse(tmp_path / "w.duckdb", threads=2)
    third = Warehouse(tmp_path / "w.duckdb", memory_limit="256MB")
    with ExitStack() as stack:
        opened = [stack.enter_context(each.reading()) for each in (first, second, third)]
        folders = {each.execute(SPILL_FOLDER).fetchone() for each in opened}
    assert len(folders) == 3


READ = """
import sys
from pathlib import Path
from warehouse.publish.snapshot import Snapshot
copy = Snapshot(Path(sys.argv[1]), memory_limit="100MB")
print(*copy.fetch(sys.argv[2]).row(0))
"""

SORTED = (
    "SELECT max(n), min(length(t)), max(length(t)) FROM (SELECT t, row_number() OVER (ORDER BY t) "
    "AS n FROM (SELECT md5(i::VARCHAR) || repeat('x', 300) AS t FROM range(1200000) r(i)))"
)


def read(copy: Path, sql: str) -> str:
    told = subprocess.run(
        [sys.executable, "-c", READ, str(copy), sql], capture_output=True, text=True, check=True
    )
    return told.stdout.strip()


@takes_minutes
def test_processes_that_read_one_copy_spill_to_different_folders(tmp_path: Path) -> None:
    copy = publish(Warehouse(tmp_path / "w.duckdb"), tmp_path / "published")
    assert read(copy, SPILL_FOLDER) != read(copy, SPILL_FOLDER)


@takes_minutes
def test_processes_that_read_one_copy_spill_at_once(tmp_path: Path) -> None:
    copy = publish(Warehouse(tmp_path / "w.duckdb"), tmp_path / "published")
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: read(copy, SORTED), range(2)))
    assert found == ["1200000 332 332"] * 2
    assert not list(copy.parent.glob("*~duckdb*"))


@takes_minutes
def test_texts_larger_than_the_limit_are_read_and_reported(tmp_path: Path) -> None:
    rows, file = 80_000, tmp_path / "questions.jsonl"
    text = "list_aggregate([md5((50 * i + k)::VARCHAR) for k in range(50)], 'string_agg', ' ')"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT 'q' || i AS question_id, {text} AS question FROM range({rows}) t(i)) "
            f"TO '{file}'"
        )
    small = Warehouse(tmp_path / "w.duckdb", memory_limit="100MB")
    files = BenchmarkFiles(benchmark="b", format="canonical", questions=[file])
    assert ingest(small, [files], kinds=[QUESTIONS])["b", QUESTIONS].rows == rows
    found = small.fetch(*hardest_questions(["b"], 10_000))
    assert found.height == 10_000
    assert set(found["question"].str.len_chars()) == {200}
