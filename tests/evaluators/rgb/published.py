"""Published runs of RGB, shaped as samples; the files are no part of the repository."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


MARKS = ("accuracy", "rejected", "error_detected", "error_corrected", "gold_present")


@dataclass(frozen=True)
class Output:
    """One published answer of a question whose right answer is known, and its authors' marks."""

    system: str
    question: int
    sample: dict[str, Any]
    marks: dict[str, int]


def figures(shared: Path, name: str) -> list[dict[str, str]]:
    """The lines of a file of figures."""
    with (shared / "data" / "rgb" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def lines(shared: Path, name: str) -> list[dict[str, Any]]:
    """The objects of a file with one on each line."""
    raw = (shared / "data" / "rgb" / name).read_bytes()
    text = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode()
    return [json.loads(line) for line in text.splitlines() if line]


def gold(answer: Any) -> dict[str, Any]:
    """RGB's answers as sample columns: all members of the outer list, any of an inner one."""
    parts = [
        part if isinstance(part, list) else [part]
        for part in (answer if isinstance(answer, list) else [answer])
    ]
    return {"expected_answers": parts[0]} if len(parts) == 1 else {"expected_parts": parts}


def output_samples(shared: Path) -> list[dict[str, Any]]:
    """The 150 outputs of one model at three noise ratios, as samples."""
    return [
        {
            "system": row["model"],
            "question_id": f"{row['id']}@{row['noise_rate']}",
            "noise_ratio": row["noise_rate"],
            "answer": row["response"],
            **gold(row["answers"]),
        }
        for row in lines(shared, "outputs50_with_docs.jsonl.gz")
    ]


def outputs(shared: Path, ability: str) -> list[Output]:
    """The outputs of three models in one ability, where the right answers are known (or needless).

    Those of noise robustness are known for the first fifty questions, those of the
    counterfactual questions for all; for rejections they are not needed.
    """
    golds: dict[int, dict[str, Any]] = {}
    if ability == "noise_robustness":
        golds = {row["id"]: gold(row["answers"]) for row in lines(shared, "answers_en50.jsonl")}
    elif ability.startswith("counterfactual"):
        golds = {row["id"]: gold(row["answer"]) for row in lines(shared, "en_fact.jsonl")}
    if ability == "counterfactual_robustness":
        for row in lines(shared, "en_fact.jsonl"):
            golds[row["id"]]["counterfactual_answer"] = row["fakeanswer"]
    found = []
    for row in lines(shared, "outputs_v2.jsonl.gz"):
        if row["ability"] != ability or (golds and row["id"] not in golds):
            continue
        sample = {
            "system": row["model"],
            "question_id": f"{row['id']}@{row['noise_ratio']}",
            "answer": row["response"],
            **golds.get(row["id"], {}),
        }
        marks = {name: row[name] for name in MARKS if name in row}
        found.append(Output(row["model"], row["id"], sample, marks))
    return found
