"""What a run of MLflow gets beside its numbers: the report, and a table of the questions."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from assets.fingerprints.report_files import FOLDER, STATE_FILE
from assets.project import REPORT_FILE

if TYPE_CHECKING:
    from mlflow import MlflowClient

    from warehouse.publish.snapshot import OpenSnapshot

REPORT: Final = "report"
TABLE: Final = "per_question.json"
"""The names of the artifacts."""

UNSCORED: Final = "not_scored"
"""The column that says why metrics have no value."""

_ANSWERS = """
SELECT q.question_id, any_value(q.question) AS question,
    any_value(q.expected_answers) AS expected_answer,
    list(p.answer ORDER BY p.repeat) AS answer, list(p.error ORDER BY p.repeat) AS error,
    avg(p.latency_s) AS latency_s, avg(p.cost_usd) AS cost_usd
FROM predictions AS p JOIN questions AS q USING (benchmark, question_id)
WHERE benchmark = $benchmark AND p.system = $system
GROUP BY q.question_id ORDER BY q.question_id
"""

_SCORES = """
SELECT s.question_id, s.evaluator || '.' || s.metric AS name, s.value, s.status, s.reason
FROM scores AS s
SEMI JOIN leaderboard AS l USING (benchmark, system, evaluator, metric, signature)
WHERE benchmark = $benchmark AND s.system = $system
ORDER BY s.evaluator, s.metric
"""

_PAGE = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={address}">
<title>Report</title>
<a href="{address}">Report</a>
"""


def log_table(
    client: MlflowClient, run: str, snapshot: OpenSnapshot, benchmark: str, system: str
) -> None:
    """Log a row for each question: texts, answer, every metric, and why one has no value."""
    names = {"benchmark": benchmark, "system": system}
    rows = {
        row["question_id"]: {name: _plain(value) for name, value in row.items()}
        for row in snapshot.fetch(_ANSWERS, names).iter_rows(named=True)
    }
    metrics: dict[str, None] = {}
    for score in snapshot.fetch(_SCORES, names).iter_rows(named=True):
        row = rows.setdefault(score["question_id"], {"question_id": score["question_id"]})
        metrics.setdefault(score["name"])
        row[score["name"]] = score["value"]
        if score["value"] is None:
            said = f"{score['name']}: {score['status']}"
            said += f" ({score['reason']})" if score["reason"] else ""
            row[UNSCORED] = f"{row[UNSCORED]}; {said}" if row.get(UNSCORED) else said
    texts = ("question_id", "question", "expected_answer", "answer", "error")
    columns = [*texts, "latency_s", "cost_usd", *metrics, UNSCORED]
    table = {name: [row.get(name) for row in rows.values()] for name in columns}
    with warnings.catch_warnings():
        # MLflow calls what the next pandas will change.
        warnings.simplefilter("ignore", DeprecationWarning)
        client.log_table(run, table, TABLE)


def _plain(value: object) -> Any:
    """Return the only item of a list instead of it; null for a list of nulls."""
    if isinstance(value, list):
        if all(each is None for each in value):
            return None
        return value[0] if len(value) == 1 else json.dumps(value, ensure_ascii=False)
    return value


def log_report(client: MlflowClient, run: str, benchmark: str, publish: Path) -> None:
    """Log the page of a benchmark with all files that it loads; nothing if there is no report."""
    root = publish / FOLDER
    try:
        names = json.loads((root / STATE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    page = re.compile(re.escape(benchmark) + "-[0-9a-f]{12}")
    own = [name for name in names if page.fullmatch(name) and (root / name).is_dir()]
    if not own:
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in names:
            if (root / name).is_file():
                _copy(root / name, folder / FOLDER / name)
        shutil.copytree(root / own[0], folder / FOLDER / own[0])
        # The page of all benchmarks would link to pages that are not here.
        address = quote(f"{FOLDER}/{own[0]}/{REPORT_FILE}")
        (folder / REPORT_FILE).write_text(_PAGE.format(address=address), encoding="utf-8")
        client.log_artifacts(run, str(folder), REPORT)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def artifact_location(folder: Path, benchmark: str) -> str:
    """Return where a store in a folder keeps the artifacts of a benchmark."""
    return (folder / "artifacts" / quote(benchmark, safe="")).absolute().as_uri()
