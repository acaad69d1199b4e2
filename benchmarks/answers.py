"""RGB on 100,000 answers against a plain loop of the same rules; MCQA on a million questions.

Ten systems answer the same questions; three answers in ten are short and said by many. The loop
applies the evaluator's own rules to every answer. The numbers must be the same.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from assets.scoring.batches import score_batches
from benchmarks.measure import table
from evaluators import catalog
from evaluators.kinds.row import RowEvaluator
from evaluators.outcome import Unscored, as_graded
from evaluators.sample import SAMPLE_COLUMNS, Sample
from evaluators.scoring import score
from warehouse.storage.scratch import ScratchResult

WORDS = [
    "the",
    "ferry",
    "left",
    "Orrin",
    "in",
    "1987",
    "with",
    "forty",
    "goats",
    "and",
    "a",
    "bell",
]
SHORT = [
    "I can not answer the question because of the insufficient information in documents.",
    "In 1987.",
    "There are factual errors in the provided documents. It was 1987.",
]


def rgb_samples(answers: int) -> pl.DataFrame:
    """Answers of about sixty words to questions with two spellings each."""
    draw = random.Random(7)
    questions = max(1, answers // 10)
    expected = [[" ".join(draw.choices(WORDS, k=3)), "1987"] for _ in range(questions)]
    rows = [
        {
            "benchmark": "rgb",
            "system": f"s{number // questions}",
            "question_id": f"q{number % questions}",
            "answer": draw.choice(SHORT)
            if draw.random() < 3 / 10
            else " ".join(draw.choices(WORDS, k=60)),
            "expected_answers": expected[number % questions],
            "counterfactual_answer": "1978",
        }
        for number in range(answers)
    ]
    return pl.DataFrame(
        [dict.fromkeys(SAMPLE_COLUMNS) | row for row in rows], schema=SAMPLE_COLUMNS
    )


def plain_loop(evaluator: RowEvaluator, frame: pl.DataFrame) -> list[list[float | None]]:
    """Every answer graded for itself."""
    names = [metric.name for metric in evaluator.sample_metrics]
    found = []
    for row in frame.iter_rows(named=True):
        scores = as_graded(evaluator.grade(Sample.of(row))).scores
        found.append(
            [None if isinstance(scores[name], Unscored) else scores[name] for name in names]
        )
    return found


def measure_rgb(answers: int) -> None:
    """Print the times of the four RGB evaluators."""
    frame = rgb_samples(answers)
    lines = []
    for name in catalog.families()["rgb"]:
        evaluator = catalog.build(name)
        if not isinstance(evaluator, RowEvaluator):
            raise TypeError(f"{name} does not grade row by row")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "samples.parquet"
            frame.select(
                "benchmark", "system", "question_id", *sorted(evaluator.columns | {"error"})
            ).write_parquet(path)
            grades = Path(folder) / "grades"
            grades.mkdir()
            start = time.perf_counter()
            score_batches(evaluator, ScratchResult(path, frame.height), grades)
            ours = time.perf_counter() - start
            found = pl.concat(pl.read_parquet(file) for file in sorted(grades.iterdir()))
        start = time.perf_counter()
        expected = plain_loop(evaluator, frame)
        theirs = time.perf_counter() - start
        if found["values"].to_list() != expected:
            raise SystemExit(f"{name}: the loop gives other numbers")
        lines.append([name, f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.1f}"])
    print(f"RGB, {answers:,} answers")
    print(table(["", "Scoreline s", "plain loop s", "ratio"], lines))


def measure_mcqa(questions: int) -> None:
    """Print the time of option_confidence, and hold phi against NumPy's."""
    draw = np.random.default_rng(3)
    logits = draw.normal(size=(questions, 4))
    logprobs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)) - 0.05
    right = draw.integers(0, 4, questions)
    names = pl.Series([f"q{number}" for number in range(questions)])
    frame = pl.DataFrame(
        {
            "benchmark": pl.repeat("mcqa", questions, eager=True),
            "system": pl.repeat("s", questions, eager=True),
            "question_id": names,
            "choices": pl.repeat(
                ["a", "b", "c", "d"], questions, dtype=pl.List(pl.String), eager=True
            ),
            "correct_choice": pl.Series(right, dtype=pl.Int32),
            "choice_logprobs": pl.Series(logprobs).cast(pl.List(pl.Float64)),
        }
    )
    evaluator = catalog.build("option_confidence")
    missing = [name for name in evaluator.columns | {"error"} if name not in frame.columns]
    frame = frame.with_columns(pl.lit(None, SAMPLE_COLUMNS[name]).alias(name) for name in missing)
    start = time.perf_counter()
    grades = score(evaluator, frame)
    seconds = time.perf_counter() - start
    phi = grades.frame["values"].list.get(grades.metrics.index("phi")).to_numpy()
    gap = np.abs(phi - np.exp(logprobs[np.arange(questions), right])).max()
    print(
        f"MCQA, {questions:,} questions x 4 options: {seconds:.2f} s; largest gap of phi {gap:.1e}"
    )


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=1_000_000)
    arguments = parser.parse_args()
    measure_rgb(arguments.answers)
    measure_mcqa(arguments.questions)


if __name__ == "__main__":
    main()
