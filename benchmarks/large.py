"""One large benchmark: time and memory of `scoreline run` from one to ten million questions.

`python -m benchmarks.large --rows 1000000 3000000 --memory-limit 1GB` writes questions and
predictions, runs Scoreline on them and prints the time and the memory of all its processes.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import psutil

from benchmarks.measure import program, table

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIGURATION = """\
warehouse: warehouse.duckdb
memory_limit: {memory_limit}
benchmarks:
  large:
    questions: questions.jsonl
    predictions: predictions-{{system}}.jsonl
    evaluators: [document_retrieval, citation]
    parameters: {{document_retrieval: {{cutoffs: [1, 5]}}}}
"""

QUESTIONS = """
SELECT
    printf('q%08d', i) AS question_id,
    printf('What does the handbook say about item %d?', i)
        || repeat(' ' || md5(i::VARCHAR), {words}) AS question,
    printf('It says that item %d is kept in the shed.', i) AS expected_answer,
    ['doc' || hash(i) % 100000] AS gold_doc_ids,
    ['S' || 1 + hash(i, 1) % 20, 'S' || 21 + hash(i, 2) % 20] AS gold_sentence_ids
FROM range({rows}) AS numbers(i)
"""

PREDICTIONS = """
SELECT
    printf('q%08d', i) AS question_id,
    printf('Item %d is kept in the shed.', i) AS answer,
    [
        {{
            'doc_id': 'doc' || (
                (hash(i) % 100000)::BIGINT + 100000 + 7 * ((hash(i, 3) % 15)::BIGINT + 1 - k)
            ) % 100000,
            'rank': k,
            'score': 20.0 - k
        }}
        for k in range(1, 11)
    ] AS retrieved,
    ['S' || 1 + hash(i, 1 + hash(i, 4) % 2) % 20, 'S' || 21 + hash(i, 2) % 20]
        AS cited_sentence_ids
FROM range({rows}) AS numbers(i)
"""
"""Two rankings in three have the gold document, at any of the ten ranks."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run of `rows` questions took; memory is the resident sum of all its processes."""

    rows: int
    wall_s: float
    cpu_s: float
    peak_bytes: int
    warehouse_bytes: int


WORD_BYTES = 33


def write_input(rows: int, folder: Path, memory_limit: str, question_bytes: int = 0) -> None:
    """Write questions, predictions of one system and the configuration.

    Args:
        rows: The number of questions.
        folder: The folder of the files.
        memory_limit: The configuration's `memory_limit`.
        question_bytes: How much longer than a sentence each question is.
    """
    words = question_bytes // WORD_BYTES
    with duckdb.connect(config={"memory_limit": "1GB", "threads": 2}) as connection:
        for name, query in (("questions", QUESTIONS), ("predictions-model", PREDICTIONS)):
            target = folder / f"{name}.jsonl"
            chosen = query.format(rows=rows, words=words)
            connection.execute(f"COPY ({chosen}) TO '{target}' (FORMAT json)")
    text = CONFIGURATION.format(memory_limit=memory_limit)
    (folder / "scoreline.yaml").write_text(text, encoding="utf-8")


def measure_run(command: Sequence[str], folder: Path) -> tuple[float, float, int]:
    """Run a command; return its seconds, its processor seconds and its peak memory in bytes.

    The memory is the largest sum of the resident memory of the process and its descendants, looked
    at ten times a second. Memory that they share counts for each of them.

    Raises:
        RuntimeError: The command failed; with the end of its output.
    """
    output = folder / "output.txt"
    peak, cpu, done = 0, {}, threading.Event()

    def watch(root: psutil.Process) -> None:
        nonlocal peak
        while not done.wait(0.1):
            resident = 0
            try:
                family = [root, *root.children(recursive=True)]
            except psutil.Error:
                continue
            for process in family:
                try:
                    times = process.cpu_times()
                    resident += process.memory_info().rss
                    cpu[process.pid] = times.user + times.system
                except psutil.Error:
                    continue
            peak = max(peak, resident)

    with output.open("wb") as file:
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=file, stderr=subprocess.STDOUT)
        watcher = threading.Thread(target=watch, args=(psutil.Process(process.pid),))
        watcher.start()
        code = process.wait()
        wall = time.perf_counter() - began
        done.set()
        watcher.join()
    if code != 0:
        said = output.read_text(encoding="utf-8", errors="replace")[-4000:]
        raise RuntimeError(f"{' '.join(command)} ended with code {code}:\n{said}")
    return wall, sum(cpu.values()), peak


def measure(rows: int, folder: Path, memory_limit: str, question_bytes: int = 0) -> Measured:
    """Write the input and run Scoreline on it; see `write_input` for the arguments."""
    write_input(rows, folder, memory_limit, question_bytes)
    wall, cpu, peak = measure_run([program("scoreline"), "run"], folder)
    return Measured(rows, wall, cpu, peak, (folder / "warehouse.duckdb").stat().st_size)


def report(measured: Sequence[Measured]) -> str:
    """Return a Markdown table with one line per size."""
    heads = ["rows", "s", "CPU s", "CPU us a row", "peak MB", "warehouse MB"]
    lines = [
        [
            f"{m.rows:,}",
            f"{m.wall_s:.1f}",
            f"{m.cpu_s:.1f}",
            f"{m.cpu_s / m.rows * 1e6:.1f}",
            f"{m.peak_bytes / 1e6:.0f}",
            f"{m.warehouse_bytes / 1e6:.0f}",
        ]
        for m in measured
    ]
    return table(heads, lines)


def main() -> None:
    """Measure every size that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 3_000_000])
    parser.add_argument("--memory-limit", default="1GB", help="the configuration's memory_limit")
    parser.add_argument("--question-bytes", type=int, default=0, help="text added to each question")
    parser.add_argument("--folder", type=Path, help="where to write (default: a temporary folder)")
    arguments = parser.parse_args()
    measured = []
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory(prefix="scoreline-", dir=arguments.folder) as folder:
            measured.append(
                measure(rows, Path(folder), arguments.memory_limit, arguments.question_bytes)
            )
        print(report(measured), flush=True)


if __name__ == "__main__":
    main()
