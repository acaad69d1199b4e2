"""Leak detectors on 100,000 answers of 600 characters, each with two passages that others share.

Compared with a plain Python loop of the same rules over every text. One text in fifty holds
something. The verdicts must be the same.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import TYPE_CHECKING

import polars as pl

from benchmarks.measure import table
from evaluators import catalog
from evaluators.detectors.leakage import LeakageEvaluator
from evaluators.scoring import score

if TYPE_CHECKING:
    from collections.abc import Sequence

WORDS = [
    "the",
    "model",
    "reads",
    "2024",
    "a",
    "passage",
    "and",
    "writes",
    "15",
    "words",
    "about",
    "lamps",
    "boats",
    "or",
    "ferries",
    "to",
]
LEAKS = (
    "card 4539 5787 6362 1486",
    "SSN 536-22-8145",
    "anna@bank.com",
    "AKIA" + "Q3EXHJ4MTPKW2RZB",
    "ghp_" + "StSs3dErO7Qyyolqz7MbHiOpJ6R0JEDKyTmv",
)
HARMLESS = ("order 4539578763621487", "part 536-00-8145", "see a@b", "sk-learn", "12345-67890")


def text(draw: random.Random, characters: int) -> str:
    """Prose with digits; now and then something that is a leak, or looks like one."""
    words = draw.choices(WORDS, k=characters // 6)
    if draw.random() < 1 / 50:
        words.insert(draw.randrange(len(words)), draw.choice(LEAKS))
    if draw.random() < 1 / 50:
        words.insert(draw.randrange(len(words)), draw.choice(HARMLESS))
    if draw.random() < 1 / 20:
        words.append("— naïve, 北京")
    return " ".join(words)


def samples(answers: int, characters: int, seed: int = 5) -> pl.DataFrame:
    """Ten systems answer the same questions; the passages belong to the questions."""
    draw = random.Random(seed)
    questions = max(1, answers // 10)
    passages = [[text(draw, characters) for _ in range(2)] for _ in range(questions)]
    return pl.DataFrame(
        {
            "benchmark": ["leaks"] * answers,
            "system": [f"s{number // questions}" for number in range(answers)],
            "question_id": [f"q{number % questions}" for number in range(answers)],
            "answer": [text(draw, characters) for _ in range(answers)],
            "contexts": [passages[number % questions] for number in range(answers)],
            "error": pl.Series([None] * answers, dtype=pl.String),
        }
    )


def plain_loop(evaluator: LeakageEvaluator, frame: pl.DataFrame) -> list[float]:
    """Whether each sample fails, by reading every text."""

    def leaks(given: Sequence[str]) -> bool:
        return any(evaluator.counts(f) for found in map(evaluator.find, given) for f in found)

    rows = frame.select("answer", "contexts").iter_rows()
    return [float(leaks([answer, *contexts])) for answer, contexts in rows]


def main() -> None:
    """Measure both detectors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--characters", type=int, default=600)
    arguments = parser.parse_args()
    frame = samples(arguments.answers, arguments.characters)
    rows = []
    for name in ("pii_leakage", "sensitive_data_leakage"):
        evaluator = catalog.build(name)
        if not isinstance(evaluator, LeakageEvaluator):
            raise TypeError(f"{name} is no leak detector")
        start = time.perf_counter()
        grades = score(evaluator, frame)
        middle = time.perf_counter()
        expected = plain_loop(evaluator, frame)
        end = time.perf_counter()
        place = grades.metrics.index("failures")
        failures = grades.frame["values"].list.get(place).to_list()
        if failures != expected:
            raise SystemExit(f"{name}: the loop gives other verdicts")
        ours, theirs = middle - start, end - middle
        share = sum(failures) / len(failures)
        rows.append([name, f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.1f}", f"{share:.3f}"])
    print(f"{arguments.answers:,} answers and their passages of {arguments.characters} characters")
    print(table(["", "Scoreline s", "plain loop s", "ratio", "share that fails"], rows))


if __name__ == "__main__":
    main()
