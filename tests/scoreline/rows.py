"""Questions and answers of a small benchmark whose metrics are easy to compute by hand."""

from __future__ import annotations

from typing import Any

QUESTIONS: list[dict[str, Any]] = [
    {
        "question_id": f"q{number}",
        "question": f"When does harbour {number} open?",
        "expected_answer": f"At {number} o'clock.",
        "gold_sentence_ids": ["S1", "S2"],
        "language": "de" if number % 4 == 0 else "en",
    }
    for number in range(24)
]


def answers(wrong_every: int) -> list[dict[str, Any]]:
    """Answers that cite half of the evidence, and nothing of it in every so many."""
    return [
        {
            "question_id": question["question_id"],
            "answer": question["expected_answer"] if number % wrong_every else "Never, please.",
            "cited_sentence_ids": ["S1"] if number % wrong_every else ["S9"],
        }
        for number, question in enumerate(QUESTIONS)
    ]


ANSWERS = {"good": answers(12), "poor": answers(2)}
F1 = 2 / 3
"""Of an answer that cites one of two sentences and nothing else."""
MEANS = {"good": F1 * 22 / 24, "poor": F1 * 12 / 24}
