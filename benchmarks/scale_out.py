"""Judged work of two worker processes on one lake, against that of one.

`python -m benchmarks.scale_out` runs `scoreline run` on two benchmarks whose judge takes half a
second for each reply, with 64 requests in flight in each worker: first one worker for both, then
two workers, each with a folder of its own as on two machines. A third measurement limits the
requests per minute, which has to hold over both workers together. It makes a schema of its own in a
PostgreSQL on loopback (`--catalog` names another) and drops it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from bisect import bisect_left
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from benchmarks.judge import CONCURRENCY, LATENCY_S, rows, server
from benchmarks.lake import drop, lake
from benchmarks.measure import program, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warehouse.storage.location import Lake

NAMES = ("north", "south")
MINUTE_S = 60.0
CATALOG = "dbname=postgres host=127.0.0.1 user=postgres"


@dataclass(frozen=True)
class Measured:
    """What a judge saw of a measurement.

    Attributes:
        calls: The number of its requests.
        repeated: The number of requests that had been made before.
        seconds: From the first request to the last reply.
        most: The largest number of requests within a minute.
    """

    calls: int
    repeated: int
    seconds: float
    most: int

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.calls / self.seconds


def write_project(folder: Path, place: Lake, samples: int, judge: dict[str, Any]) -> None:
    """Write the files of a worker: two benchmarks, of which no two questions are equal."""
    folder.mkdir()
    benchmarks = {}
    for name in NAMES:
        with (
            (folder / f"{name}.jsonl").open("w", encoding="utf-8") as questions,
            (folder / f"{name}-model.jsonl").open("w", encoding="utf-8") as predictions,
        ):
            for row in rows(samples):
                answer = {"question_id": row["question_id"], "answer": "The ferry."}
                answer["contexts"] = [f"{name}: {text}" for text in row.pop("contexts")]
                row["question"] = f"{name}: {row['question']}"
                questions.write(json.dumps(row) + "\n")
                predictions.write(json.dumps(answer) + "\n")
        benchmarks[name] = {
            "questions": f"{name}.jsonl",
            "predictions": f"{name}-{{system}}.jsonl",
            "evaluators": ["context_relevancy"],
        }
    document = {
        "warehouse": {
            "catalog": str(place),
            "data_path": place.data_path,
            "catalog_schema": place.schema,
        },
        "judge": judge,
        "benchmarks": benchmarks,
    }
    (folder / "scoreline.yaml").write_text(yaml.safe_dump(document), "utf-8")


@contextmanager
def new_lake(catalog: str, folder: Path) -> Iterator[Lake]:
    """A lake with an empty ledger, dropped at the end."""
    place = lake(catalog, folder)
    try:
        yield place
    finally:
        drop(place)


def measure(catalog: str, samples: int, workers: int, latency_s: float, **judge: Any) -> Measured:
    """Run workers side by side, each with its share of the benchmarks.

    Raises:
        RuntimeError: A worker fails; with the end of its output.
    """
    with (
        tempfile.TemporaryDirectory(prefix="scoreline-scale-out-") as made,
        server(latency_s) as address,
        new_lake(catalog, Path(made)) as place,
    ):
        settings = {
            "model": "openai/gpt-4o-mini",  # in the price list, like the models that people ask
            "api_base": address,
            "concurrency": CONCURRENCY,
            **judge,
        }
        running = []
        for number in range(workers):
            folder = Path(made) / f"machine-{number}"
            write_project(folder, place, samples, settings)
            share = [word for name in NAMES[number::workers] for word in ("--benchmark", name)]
            with (folder / "output.txt").open("wb") as output:
                command = [program("scoreline"), "run", *share]
                running.append(
                    (folder, subprocess.Popen(command, cwd=folder, stdout=output, stderr=output))
                )
        for folder, process in running:
            if process.wait() != 0:
                text = (folder / "output.txt").read_text("utf-8", errors="replace")
                raise RuntimeError(f"a worker failed:\n{text[-4000:]}")
        return _measured(address, latency_s)


def _measured(address: str, latency_s: float) -> Measured:
    import httpx

    arrivals = httpx.get(address.replace("/v1", "/asked"), timeout=60).json()
    times = sorted(at for at, _ in arrivals)
    return Measured(
        calls=len(times),
        repeated=len(times) - len({digest for _, digest in arrivals}),
        seconds=times[-1] - times[0] + latency_s,
        most=max(bisect_left(times, at + MINUTE_S) - n for n, at in enumerate(times)),
    )


def compare(catalog: str, samples: int, per_minute: int, latency_s: float) -> str:
    """Measure one worker, two workers, and two workers with a limit; return a table."""
    alone = measure(catalog, samples, 1, latency_s)
    both = measure(catalog, samples, 2, latency_s)
    limited = measure(catalog, samples, 2, 0.0, requests_per_minute=per_minute)
    heads = ["workers", "calls", "repeated", "s", "calls/s", "times faster", "most per minute"]
    lines = [
        [
            what,
            f"{each.calls:,}",
            f"{each.repeated}",
            f"{each.seconds:.1f}",
            f"{each.rate:.1f}",
            f"{each.rate / alone.rate:.2f}" if each is not limited else "",
            f"{each.most:,}",
        ]
        for what, each in (
            ("1", alone),
            ("2", both),
            (f"2, at most {per_minute} per minute", limited),
        )
    ]
    return table(heads, lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--catalog", default=CATALOG)
    parser.add_argument("--samples", type=int, default=3_000, help="per benchmark")
    parser.add_argument("--per-minute", type=int, default=3_000)
    parser.add_argument("--latency", type=float, default=LATENCY_S, help="seconds per reply")
    given = parser.parse_args()
    print(compare(given.catalog, given.samples, given.per_minute, given.latency))


if __name__ == "__main__":
    main()
