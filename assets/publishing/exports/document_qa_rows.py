"""One system's results question by question, in the form of document-grounded answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SystemResults:
    """One system's scores and answers.

    Attributes:
        questions: question_id, gold_doc_id, gold_sentences and has_rubric of each question.
        answers: By question: `top`, the document that was retrieved first, and `cited`.
        scores: By question and `evaluator.metric`: value, reason and detail.
    """

    questions: list[Row]
    answers: dict[str, Row]
    scores: dict[tuple[str, str], Row]

    def _value(self, question: Row, metric: str) -> float | None:
        row = self.scores.get((question["question_id"], metric))
        return None if row is None else row["value"]

    def _has(self, evaluator: str) -> bool:
        return any(metric.startswith(f"{evaluator}.") for _, metric in self.scores)

    def _cited(self, question: Row) -> list[str]:
        return sorted(set(self.answers.get(question["question_id"], {}).get("cited", ())))

    def retrieval(self) -> Row | None:
        """Recall at 1 and 5: sums, and whether each question's document was found."""
        if not self._has("document_retrieval"):
            return None
        metrics = ("recall_at_1", "recall_at_5")
        rows = []
        for question in self.questions:
            values = {
                name: _whole(self._value(question, f"document_retrieval.{name}"))
                for name in metrics
            }
            rows.append(
                {
                    "question_id": question["question_id"],
                    "gold_doc_id": question["gold_doc_id"],
                    "retrieved_top_1": self.answers.get(question["question_id"], {}).get("top"),
                    **values,
                }
            )
        sums = {name: _whole(_sum(rows, name)) for name in metrics}
        total = len(rows)
        shares = {f"{name}_pct": 100 * sums[name] / total for name in metrics} if total else {}
        return {**sums, "total": total, "per_question": rows, **shares}

    def citation(self) -> Row | None:
        """Precision, recall and F1 of the cited sentences, of questions that have evidence."""
        if not self._has("citation"):
            return None
        metrics = ("precision", "recall", "f1")
        asked = [question for question in self.questions if question["gold_sentences"]]
        rows = [
            {
                "question_id": question["question_id"],
                "gold_doc_id": question["gold_doc_id"],
                "gold_sentences": sorted(question["gold_sentences"]),
                "pred_sentences": self._cited(question),
                **{name: self._value(question, f"citation.{name}") for name in metrics},
            }
            for question in asked
        ]
        return {
            "total_questions": len(self.questions),
            "questions_with_evidence": len(asked),
            **{f"{name}_sum": _sum(rows, name) for name in metrics},
            "per_question": rows,
            **{f"avg_{name}": _mean(rows, name) for name in metrics},
        }

    def judged(self, weight: float | None) -> Row | None:
        """The judge's grades, the evidence cited, and both combined; null without any grade."""
        asked = [question for question in self.questions if question["has_rubric"]]
        rows = [self._grade(question) for question in asked]
        if all(row["answer_score_raw"] is None for row in rows):
            return None
        names = {
            "answer_score": "answer_score_raw",
            "evidence_score": "evidence_score",
            "combined_score": "combined_score",
        }
        return {
            "total_questions": len(self.questions),
            "questions_with_rubrics": len(asked),
            **{f"{short}_sum": _sum(rows, name) for short, name in names.items()},
            "lambda_weight": weight,
            "per_question": rows,
            **{f"avg_{short}": _mean(rows, name) for short, name in names.items()},
        }

    def _grade(self, question: Row) -> Row:
        grade = self.scores.get((question["question_id"], "rubric_judge.raw_score"), {})
        detail = json.loads(grade["detail"]) if grade.get("detail") else {}
        return {
            "question_id": question["question_id"],
            "answer_score_raw": _whole(grade.get("value")),
            "answer_score_normalized": self._value(question, "rubric_judge.answer_score"),
            "answer_rationale": detail.get("reasoning") or grade.get("reason") or "",
            "evidence_score": self._value(question, "evidence_overlap.evidence_recall"),
            "combined_score": self._value(question, "rubric_combined.combined"),
            "gold_sentences": sorted(question["gold_sentences"]),
            "pred_sentences": self._cited(question),
        }


def _whole(value: float | None) -> Any:
    """A number without a fraction as a whole one."""
    return int(value) if value is not None and value == int(value) else value


def _sum(rows: list[Row], name: str) -> float:
    total: float = sum(row[name] for row in rows if row[name] is not None)
    return total


def _mean(rows: list[Row], name: str) -> float | None:
    values = [row[name] for row in rows if row[name] is not None]
    return sum(values) / len(values) if values else None
