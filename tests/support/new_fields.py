"""A program that uses two new fields of predictions with the packages on its path.

It runs in an empty folder and prints what each way in and out shows of them, as one JSON object.
"""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

LOOKUPS = [{"tool": "search", "hits": 3, "terms": ["boat"]}, {"tool": "open", "hits": 1}]
ANSWER = {"answer": "A boat.", "confidence": 0.75, "lookups": LOOKUPS, "plans": None}
QUESTIONS = [
    {"question_id": f"q{n}", "question": f"What is {n}?", "expected_answer": "A boat."}
    for n in range(3)
]
CONFIGURATION = """
systems:
  asked:
    http:
      url: http://127.0.0.1:{port}/
      body: {{question: "{{{{ question }}}}"}}
      answer: $.answer
      confidence: $.confidence
      lookups: $.lookups
benchmarks:
  lines:
    questions: questions.jsonl
    predictions: lines/{{system}}.jsonl
    systems: [asked]
    evaluators: [rouge]
  rows:
    questions: questions.jsonl
    predictions: rows/{{system}}.json
    evaluators: [rouge]
"""


class Service(BaseHTTPRequestHandler):
    """Answers every question alike."""

    def do_POST(self) -> None:
        """Send the answer."""
        content = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def write_project(port: int) -> list[dict[str, Any]]:
    """Write the files of the project; return the predictions."""
    predictions = [{"question_id": each["question_id"], **ANSWER} for each in QUESTIONS]
    Path("questions.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)), "utf-8")
    Path("lines").mkdir()
    Path("lines", "a.jsonl").write_text("\n".join(map(json.dumps, predictions)), "utf-8")
    Path("rows").mkdir()
    Path("rows", "a.json").write_text(json.dumps(predictions), "utf-8")
    Path("scoreline.yaml").write_text(CONFIGURATION.format(port=port), "utf-8")
    return predictions


def command(*arguments: str) -> str:
    """Run a command of `scoreline`; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "scoreline", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout


def is_fast() -> bool:
    """Return whether the fast path reads the JSON lines, and refuses wrong values."""
    from warehouse.ingest.fast_path import NotFastPath, scan_predictions

    wrong: list[dict[str, Any]] = [
        {"confidence": "high"},
        {"lookups": [{"tool": 1.5}]},
        {"lookups": ["search"]},
    ]
    scan_predictions(Path("lines", "a.jsonl"), "a")
    for each in wrong:
        file = Path("wrong.jsonl")
        file.write_text(json.dumps({"question_id": "q0", **each}), "utf-8")
        try:
            scan_predictions(file, "a")
        except NotFastPath:
            continue
        return False
    return True


def main() -> None:
    """Print what every way in and out shows of the fields."""
    server = HTTPServer(("127.0.0.1", 0), Service)
    Thread(target=server.serve_forever, daemon=True).start()
    predictions = write_project(server.server_port)
    command("run", "--quiet")
    found: dict[str, Any] = {"fast": is_fast()}
    query = (
        "SELECT benchmark, system, count(*) AS n, any_value(confidence) AS confidence, "
        "any_value(lookups) AS lookups, sum(len(lookups)) AS n_lookups "
        "FROM predictions GROUP BY ALL ORDER BY ALL"
    )
    found["sql"] = json.loads(command("sql", query, "--format", "json"))

    import scoreline

    @scoreline.metric
    def sure(confidence: float, lookups: list[dict[str, Any]]) -> float:
        """How sure it is, if it looked something up."""
        return confidence if lookups[0]["hits"] == 3 else 0.0

    results = scoreline.evaluate(QUESTIONS, {"a": predictions}, evaluators=[sure])
    found["evaluate"] = results.scores["value"].to_list()

    command("export", "--benchmark", "rows", "--as", "predictions", "--out", "out")
    found["export"] = json.loads(Path("out", "a.jsonl").read_text("utf-8").splitlines()[0])
    command("export", "--benchmark", "lines", "--as", "parquet", "--out", "tables")
    import polars as pl

    (table,) = Path("tables").rglob("predictions.parquet")
    found["parquet"] = pl.read_parquet(table)["confidence"].to_list()
    (file,) = Path("published", "report").glob("rows-*/data/answers-0.js")
    packed = file.read_text("utf-8").split('"')[3]
    content = gzip.decompress(base64.b64decode(packed)).decode()
    found["report"] = [title for title in ("Confidence", "Lookups") if title in content]
    print(json.dumps(found))  # noqa: T201 - what the test reads


if __name__ == "__main__":
    main()
