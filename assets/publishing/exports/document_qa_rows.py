"""One system's results per question, as sections of the document-grounded QA format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SystemResults:
    """One system's scores and answers.

    Where questions have several answers, scores are their means. What belongs to one answer is then
    a list with an entry for each.

    Attributes:
        questions: question_id, gold_doc_id, gold_sentences and has_rubric of each question.
        answers: By question `top` (the first retrieved document), `cited` and `rationale` (the
            judge's, or why there is none) of each answer.
        scores: The row with its `value` by question and `evaluator.metric`.
    """

    questions: list[Row]
    answers: dict[str, list[Row]]
    scores: dict[tuple[str, str], Row]

    def _value(self, question: Row, metric: str) -> float | None:
        row = self.scores.get((question["question_id"], metric))
        return None if row is None else row["value"]

    def _has(self, evaluator: str) -> bool:
        return any(metric.startswith(f"{evaluator}.") for _, metric in self.scores)

    def _given(self, question: Row, name: str) -> Any:
        """Return what a system gave to a question, or a list of it if it answered several times."""
        found = [each[name] for each in self.answers.get(question["question_id"], [])]
        if any(len(each) > 1 for each in self.answers.values()):
            return found
        return found[0] if found else None

    def _cited(self, question: Row) -> list[Any]:
        return self._given(question, "cited") or []

    def retrieval(self) -> Row | None:
        """Return recall at 1 and 5: sums and one row per question; None if not evaluated."""
        if not self._has("document_retrieval"):
            return None
        metrics = ("recall_at_1", "recall_at_5")
        rows = []
        for question in self.questions:
            values = {
                name: _as_int(self._value(question, f"document_retrieval.{name}"))
                for name in metrics
            }
            rows.append(
                {
                    "question_id": question["question_id"],
                    "gold_doc_id": question["gold_doc_id"],
                    "retrieved_top_1": self._given(question, "top"),
                    **values,
                }
            )
        sums = {name: _as_int(_sum(rows, name)) for name in metrics}
        total = len(rows)
        shares = {f"{name}_pct": 100 * sums[name] / total for name in metrics} if total else {}
        return {**sums, "total": total, "per_question": rows, **shares}

    def citation(self) -> Row | None:
        """Return precision, recall and F1 of citations for questions with evidence."""
        if not self._has("citation"):
            return None
        metrics = ("precision", "recall", "f1")
        with_evidence = [each for each in self.questions if each["gold_sentences"]]
        rows = [
            {
                "question_id": question["question_id"],
                "gold_doc_id": question["gold_doc_id"],
                "gold_sentences": sorted(question["gold_sentences"]),
                "pred_sentences": self._cited(question),
                **{name: self._value(question, f"citation.{name}") for name in metrics},
            }
            for question in with_evidence
        ]
        return {
            "total_questions": len(self.questions),
            "questions_with_evidence": len(with_evidence),
            **{f"{name}_sum": _sum(rows, name) for name in metrics},
            "per_question": rows,
            **{f"avg_{name}": _mean(rows, name) for name in metrics},
        }

    def llm_judge(self, weight: float | None) -> Row | None:
        """Return judge scores, evidence scores and both combined; None without any judge score."""
        with_rubric = [question for question in self.questions if question["has_rubric"]]
        rows = [self._judge_row(question) for question in with_rubric]
        if all(row["answer_score_raw"] is None for row in rows):
            return None
        names = {
            "answer_score": "answer_score_raw",
            "evidence_score": "evidence_score",
            "combined_score": "combined_score",
        }
        return {
            "total_questions": len(self.questions),
            "questions_with_rubrics": len(with_rubric),
            **{f"{short}_sum": _sum(rows, name) for short, name in names.items()},
            "lambda_weight": weight,
            "per_question": rows,
            **{f"avg_{short}": _mean(rows, name) for short, name in names.items()},
        }

    def _judge_row(self, question: Row) -> Row:
        score = self.scores.get((question["question_id"], "rubric_judge.raw_score"), {})
        return {
            "question_id": question["question_id"],
            "answer_score_raw": _as_int(score.get("value")),
            "answer_score_normalized": self._value(question, "rubric_judge.answer_score"),
            "answer_rationale": self._given(question, "rationale") or "",
            "evidence_score": self._value(question, "evidence_overlap.evidence_recall"),
            "combined_score": self._value(question, "rubric_combined.combined"),
            "gold_sentences": sorted(question["gold_sentences"]),
            "pred_sentences": self._cited(question),
        }


def _as_int(value: float | None) -> Any:
    """Return a number without fraction as an integer."""
    return int(value) if value is not None and value == int(value) else value


def _sum(rows: list[Row], name: str) -> float:
    total: float = sum(row[name] for row in rows if row[name] is not None)
    return total


def _mean(rows: list[Row], name: str) -> float | None:
    values = [row[name] for row in rows if row[name] is not None]
    return sum(values) / len(values) if values else None
