"""ROUGE and BLEU of 2,500 answers of about 100 words: Scoreline, rouge-score and NLTK.

Five systems answer the same questions, so that each reference is used five times. All values must
agree to 1e-9. For BLEU both start from the same tokens; NLTK gives the five values in one
call for the single orders and one for the smoothed mean, which is the least it needs, and
in a call for each value, which is how evaluation tools use it.
"""

from __future__ import annotations

import argparse
import random
import time
import warnings
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from benchmarks.measure import table
from evaluators import catalog
from evaluators.library.summarization.rouge import f1_scores, prepared
from evaluators.scoring import score
from evaluators.text.bleu import cumulative, reference_of, single_orders, tally, words_of_sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Result = TypeVar("Result")
Values = list[list[float]]

SYSTEMS = 5
TOLERANCE = 1e-9
ORDERS = [(1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)]


def data(questions: int, words: int, seed: int = 8) -> tuple[list[str], list[list[str]]]:
    """References, and for each the answers of the systems: two thirds of it, in parts reordered."""
    draw = random.Random(seed)
    vocabulary = [f"{draw.choice(STEMS)}{draw.choice(ENDINGS)}" for _ in range(4000)]

    def word() -> str:
        return vocabulary[min(int(draw.paretovariate(0.6)), len(vocabulary)) - 1]

    def text(chosen: Sequence[str]) -> str:
        sentences = [chosen[start : start + 15] for start in range(0, len(chosen), 15)]
        return " ".join(" ".join(sentence).capitalize() + "." for sentence in sentences)

    references, answers = [], []
    for _ in range(questions):
        reference = [word() for _ in range(draw.randint(words // 2, words * 3 // 2))]
        references.append(text(reference))
        answers.append(
            [
                text([word() if draw.random() < 1 / 3 else token for token in reference])
                for _ in range(SYSTEMS)
            ]
        )
    return references, answers


STEMS = ["observ", "measur", "relat", "nation", "walk", "stud", "govern", "light", "form", "quer"]
ENDINGS = ["e", "ed", "ing", "ation", "ies", "y", "s", "er", "ment", "able", "ly", ""]


def frame(references: list[str], answers: list[list[str]]) -> pl.DataFrame:
    """The samples that the evaluators read: what the warehouse hands over, system by system."""
    rows = [
        ("overlap", f"s{system}", f"q{number}", [references[number]], answers[number][system], None)
        for system in range(SYSTEMS)
        for number in range(len(references))
    ]
    columns = {"benchmark": pl.String, "system": pl.String, "question_id": pl.String}
    columns |= {"expected_answers": pl.List(pl.String), "answer": pl.String, "error": pl.String}
    return pl.DataFrame(rows, schema=columns, orient="row")


def in_order(values: Sequence[Sequence[float]], count: int) -> Values:
    """Values by question and system in the order of `frame`."""
    return [list(values[number * SYSTEMS + s]) for s in range(SYSTEMS) for number in range(count)]


def theirs_rouge(references: list[str], answers: list[list[str]]) -> Values:
    """What rouge-score says, pair by pair."""
    from rouge_score.rouge_scorer import RougeScorer

    names = ("rouge1", "rouge2", "rougeL")
    scorer = RougeScorer(list(names), use_stemmer=True)
    return [
        [scores[name].fmeasure for name in names]
        for reference, given in zip(references, answers, strict=True)
        for scores in (scorer.score(reference, answer) for answer in given)
    ]


def ours_rouge(references: list[str], answers: list[list[str]]) -> Values:
    """The same by Scoreline's functions."""
    found = []
    for reference, given in zip(references, answers, strict=True):
        target = prepared(reference, "stemmed")
        found += [list(f1_scores(target, prepared(answer, "stemmed"))) for answer in given]
    return found


def theirs_bleu(pairs: list[tuple[list[str], list[list[str]]]], *, single_calls: bool) -> Values:
    """What NLTK says of tokens: the four orders and the smoothed mean."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    smooth = SmoothingFunction().method3
    found = []
    for reference, given in pairs:
        for answer in given:
            if single_calls:
                values = [sentence_bleu([reference], answer, order) for order in ORDERS]
            else:
                values = sentence_bleu([reference], answer, ORDERS)
            mean = sentence_bleu([reference], answer, smoothing_function=smooth)
            found.append([*values, mean])
    return found


def ours_bleu(pairs: list[tuple[list[str], list[list[str]]]]) -> Values:
    """The same by Scoreline's functions."""
    found = []
    for reference, given in pairs:
        target = reference_of([reference])
        for answer in given:
            counted = tally(target, answer)
            found.append([*single_orders(counted), cumulative(counted)])
    return found


def best(call: Callable[[], Result], repeats: int) -> tuple[float, Result]:
    """The shortest of some times in seconds, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return min(times), result


def gap(one: Values, other: Values) -> float:
    """The largest difference of two tables of values."""
    pairs = zip(one, other, strict=True)
    return max(abs(a - b) for row in pairs for a, b in zip(*row, strict=True))


def main() -> None:
    """Measure both metrics, by function and as evaluators of samples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    repeats = arguments.repeats
    warnings.simplefilter("ignore")  # NLTK warns of answers without a matching n-gram
    references, answers = data(arguments.questions, arguments.words)
    samples = frame(references, answers)
    rows = []

    def add(
        what: str, ours: tuple[float, Values], other: str, theirs: tuple[float, Values]
    ) -> None:
        difference = gap(ours[1], theirs[1])
        if not difference <= TOLERANCE:
            raise SystemExit(f"{what}: differs from {other} by {difference:g}")
        ratio = theirs[0] / ours[0]
        seconds = [f"{ours[0]:.2f}", other, f"{theirs[0]:.2f}"]
        rows.append([what, *seconds, f"{ratio:.1f}", f"{difference:.0e}"])

    _ = ours_rouge(references[:20], answers[:20])
    rouge = best(lambda: theirs_rouge(references, answers), 1)
    add("ROUGE", best(lambda: ours_rouge(references, answers), repeats), "rouge-score", rouge)
    graded = best(lambda: score(catalog.build("rouge"), samples), repeats)
    ordered = (rouge[0], in_order(rouge[1], len(references)))
    values = graded[1].frame["values"].to_list()
    add("ROUGE of samples", (graded[0], values), "rouge-score", ordered)
    tokens = [
        (words_of_sentences(reference), [words_of_sentences(answer) for answer in given])
        for reference, given in zip(references, answers, strict=True)
    ]
    ours = best(lambda: ours_bleu(tokens), repeats)
    for name, single_calls in (("NLTK, 2 calls", False), ("NLTK, 5 calls", True)):
        call = best(lambda single=single_calls: theirs_bleu(tokens, single_calls=single), repeats)
        add("BLEU of tokens", ours, name, call)
    print(f"{len(references) * SYSTEMS:,} pairs of {arguments.words} words on average")
    print(table(["", "Scoreline s", "against", "s", "ratio", "largest gap"], rows))


if __name__ == "__main__":
    main()
