"""The straightforward script that Scoreline is compared with: retrieval and citation figures.

Usage: `python plain_script.py QUESTIONS.jsonl PREDICTIONS.jsonl RESULTS.json`. One pass over
dictionaries and sets, as one writes it for a few hundred questions; nothing in it is slowed down.
Recall@1 and @5 are the share of questions whose gold document is among the first one or five.
Precision, recall and F1 of the cited sentence ids are averaged over the questions that have gold
evidence; citing nothing is 0. Results for each question are saved beside the averages.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def read_jsonl(path: str) -> list[dict]:
    """One object a line."""
    with Path(path).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main(questions_path: str, predictions_path: str, results_path: str) -> None:
    """Evaluate one system and save what came of it."""
    questions = read_jsonl(questions_path)
    predictions = {row["question_id"]: row for row in read_jsonl(predictions_path)}
    results = []
    sums = {"recall_at_1": 0, "recall_at_5": 0, "precision": 0.0, "recall": 0.0, "f1": 0.0}
    with_evidence = 0
    for question in questions:
        prediction = predictions.get(question["question_id"], {})
        docs = [doc["doc_id"] for doc in prediction.get("retrieved", [])]
        gold_doc = question["gold_doc_ids"][0]
        result = {
            "question_id": question["question_id"],
            "recall_at_1": int(gold_doc in docs[:1]),
            "recall_at_5": int(gold_doc in docs[:5]),
        }
        gold = set(question["gold_sentence_ids"])
        if gold:
            with_evidence += 1
            cited = set(prediction.get("cited_sentence_ids", []))
            both = len(gold & cited)
            precision = both / len(cited) if cited else 0.0
            recall = both / len(gold)
            f1 = 2 * precision * recall / (precision + recall) if both else 0.0
            result.update(precision=precision, recall=recall, f1=f1)
        for name in sums:
            sums[name] += result.get(name, 0)
        results.append(result)
    counts = {
        name: len(questions) if name.startswith("recall_at") else with_evidence for name in sums
    }
    averages = {name: total / counts[name] for name, total in sums.items()}
    with Path(results_path).open("w", encoding="utf-8") as file:
        json.dump({"averages": averages, "results": results}, file, indent=2)
    for name, average in averages.items():
        print(f"{name}: {average:.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
