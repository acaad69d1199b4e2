"""Whole runs with a judge: what the first takes, what a rerun asks, and what 20,000 samples need.

`python -m benchmarks.judge_runs` runs `scoreline run` twice as processes on made samples, against
the scripted judge of `benchmarks.judge`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from benchmarks.judge import LATENCY_S, requests, rows, server
from benchmarks.measure import Cost, cost_of, program, table

CONFIGURATION = """\
warehouse: warehouse.duckdb
judge:
  model: openai/judge
  api_base: {address}
  concurrency: 64
benchmarks:
  judged:
    questions: questions.jsonl
    predictions: predictions-{{system}}.jsonl
    evaluators: [context_relevancy]
"""


def runs(count: int, latency_s: float) -> tuple[Cost, Cost, int, int]:
    """`scoreline run` on so many samples, and again: the cost of both, and what each asked."""
    with tempfile.TemporaryDirectory() as made, server(latency_s) as address:
        folder = Path(made)
        (folder / "scoreline.yaml").write_text(CONFIGURATION.format(address=address), "utf-8")
        with (
            (folder / "questions.jsonl").open("w", encoding="utf-8") as asked,
            (folder / "predictions-model.jsonl").open("w", encoding="utf-8") as answered,
        ):
            for row in rows(count):
                prediction = {"question_id": row["question_id"], "answer": "The ferry."}
                prediction["contexts"] = row.pop("contexts")
                asked.write(json.dumps(row) + "\n")
                answered.write(json.dumps(prediction) + "\n")
        command = [program("scoreline"), "run"]
        first = cost_of(command, folder=folder)
        put = requests(address)
        rerun = cost_of(command, folder=folder)
        return first, rerun, put, requests(address) - put


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--asks", type=int, default=2_000)
    parser.add_argument("--samples", type=int, default=20_000)
    given = parser.parse_args()
    heads = ["samples", "latency s", "first run s", "calls", "peak MB", "rerun s", "calls again"]
    lines = []
    for count, latency_s in ((given.asks, LATENCY_S), (given.samples, 0.05)):
        first, rerun, put, again = runs(count, latency_s)
        line = [f"{count:,}", f"{latency_s}", f"{first.wall_s:.1f}", f"{put:,}"]
        lines.append([*line, f"{first.peak_mb:.0f}", f"{rerun.wall_s:.1f}", f"{again}"])
    print(table(heads, lines))


if __name__ == "__main__":
    main()
