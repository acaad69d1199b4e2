"""Four RAGAS metrics by Scoreline, ragas and DeepEval: same rows, same server, calls counted.

`python -m benchmarks.judge_peers` makes an environment for each of the others on demand, in a
folder that is kept; one that cannot be installed is left out with the reason. Each is run as it
comes and with as many requests under way as Scoreline has, 64 and 128; Scoreline also with one
question for all passages of a sample (`batched`), which the others do not offer. Imports are left
out of the times.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.judge import CONCURRENCY, ROOT, requests, rows, settings
from benchmarks.measure import table
from calls.litellm_model import litellm
from evaluators import catalog
from evaluators.engines.judge.ledger_judge import LedgerJudge
from evaluators.flows.protocols import Engines
from evaluators.flows.requests import EMBEDDING, Embed
from evaluators.kinds.flow import FlowEvaluator
from evaluators.scoring import run_flows, score
from tests.support.ledgers import FolderLedger
from tests.support.samples import samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.flows.requests import Request

METRICS: dict[str, dict[str, object]] = {
    "faithfulness": {},
    "answer_relevancy": {},
    "context_precision": {},
    "context_recall": {"claims": False},  # a metric of ours that the others do not have
}
CACHE = Path.home() / ".cache" / "scoreline-bench"
LATENCY_S = 0.5

# ragas 0.4.3 names modules of LangChain that later releases no longer have.
OLD_LANGCHAIN = ["langchain<1", "langchain-core<1", "langchain-community<0.4", "langchain-openai<1"]
RIVALS = {"ragas": ["ragas==0.4.3", *OLD_LANGCHAIN], "deepeval": ["deepeval==4.3.1"]}
USUAL_WORKERS = {"ragas": 16, "deepeval": 20}
MANY = (CONCURRENCY, 2 * CONCURRENCY)
"""How many requests are under way for everybody, beside each library's own number."""


class Hashed:
    """Vectors that follow from the text, made at once."""

    identity = "hashed"

    def unavailable_reason(self) -> str | None:
        """None: there is nothing to load."""
        return None

    def answer(self, requests: Sequence[Request]) -> Sequence[Any]:
        """One vector of length 1 for each text."""
        return [_vector(request.text) for request in requests if isinstance(request, Embed)]


def _vector(text: str) -> Any:
    raw = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype=np.uint8)
    numbers = raw.astype(np.float32)
    return numbers / np.linalg.norm(numbers)


def made_rows(count: int) -> list[dict[str, Any]]:
    """Questions with three contexts, an answer and an expected answer, all different."""
    return [
        {
            "question_id": row["question_id"],
            "question": row["question"],
            "contexts": row["contexts"],
            "answer": f"The ferry left in entry {place}. It carried forty goats and a bell.",
            "expected": f"The ferry left Orrin. It was the last of its kind, entry {place}.",
        }
        for place, row in enumerate(rows(count))
    ]


def ours(address: str, file: str, workers: int, *, batched: bool) -> None:
    """Score the rows by Scoreline; print seconds and how many values there are."""
    given = json.loads(Path(file).read_text(encoding="utf-8"))
    frame = samples([{"expected_answers": [row.pop("expected")], **row} for row in given])
    litellm()
    importlib.import_module("openai.resources")  # LiteLLM does so at its first call
    chosen = METRICS | ({"context_precision": {"batched": True}} if batched else {})
    built = [catalog.build(name, parameters) for name, parameters in chosen.items()]
    evaluators = [each for each in built if isinstance(each, FlowEvaluator)]
    values = 0
    started = time.perf_counter()
    with LedgerJudge(replace(settings(address), concurrency=workers), FolderLedger()) as judge:
        engines = Engines(judge=judge, models={EMBEDDING: Hashed()})
        run_flows(((evaluator, frame) for evaluator in evaluators), engines)
        for evaluator in evaluators:
            long = score(evaluator, frame, engines).long()
            primary = next(metric.name for metric in evaluator.metrics if metric.primary)
            values += long.filter(metric=primary, status="scored").height
    print(json.dumps([time.perf_counter() - started, values]))


def environment(name: str) -> Path:
    """The interpreter of a library's own environment, made on demand.

    Raises:
        CalledProcessError: It cannot be installed.
    """
    folder = CACHE / name
    python = folder / "bin" / "python"
    done = folder / "installed"
    if not done.exists():
        venv.create(folder, with_pip=True)
        install = [str(python), "-m", "pip", "install", "-q", *RIVALS[name]]
        subprocess.run(install, check=True, capture_output=True, text=True)
        done.touch()
    return python


def took(command: Sequence[str], address: str, folder: Path) -> tuple[float, int, int]:
    """Seconds, values and calls of one program."""
    before = requests(address)
    told = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    seconds, values = json.loads(told.stdout.strip().splitlines()[-1])
    return seconds, values, requests(address) - before


def compare(count: int) -> str:
    """Each library in turn."""
    found: dict[str, tuple[float, int, int]] = {}
    serve = [sys.executable, "-m", "benchmarks.peers.server", "--latency", str(LATENCY_S)]
    with (
        tempfile.TemporaryDirectory() as made,
        subprocess.Popen(serve, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process,
    ):
        try:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            address = f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
            folder = Path(made)
            file = str(folder / "rows.json")
            Path(file).write_text(json.dumps(made_rows(count)), encoding="utf-8")
            command = [sys.executable, "-m", "benchmarks.judge_peers"]
            scored = [*command, "--ours", file, "--address", address]
            for workers in MANY:
                every = [*scored, "--workers", str(workers)]
                found[f"scoreline, {workers}"] = took(every, address, ROOT)
                found[f"the same, batched, {workers}"] = took([*every, "--batched"], address, ROOT)
            for name, usual in USUAL_WORKERS.items():
                try:
                    python = environment(name)
                except subprocess.CalledProcessError as error:
                    print(f"{name} is left out: it cannot be installed: {error.stderr[-500:]}")
                    continue
                script = str(Path(__file__).parent / "peers" / f"{name}_four.py")
                for workers in (usual, *MANY):
                    command = [str(python), "-W", "ignore", script, address, file, str(workers)]
                    found[f"{name}, {workers}"] = took(command, address, folder)
        finally:
            process.kill()
    ours_s = next(iter(found.values()))[0]
    heads = ["library, concurrency", "s", "calls", "calls per row", "values", "times as long"]
    lines = [
        [name, f"{s:.1f}", f"{calls:,}", f"{calls / count:.1f}", f"{n}", f"{s / ours_s:.1f}"]
        for name, (s, n, calls) in found.items()
    ]
    return table(heads, lines)


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--ours", help="score these rows (used by itself)")
    parser.add_argument("--address")
    parser.add_argument("--workers", type=int, default=CONCURRENCY)
    parser.add_argument(
        "--batched", action="store_true", help="ask about all passages of a sample at once"
    )
    given = parser.parse_args()
    if given.ours:
        ours(given.address, given.ours, given.workers, batched=given.batched)
    else:
        print(compare(given.rows))


if __name__ == "__main__":
    main()
