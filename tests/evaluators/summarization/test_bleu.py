"""BLEU: worked cases, NLTK and sacrebleu as oracles, and the figures of two annotated sets."""

from __future__ import annotations

import csv
import gzip
import json
import random
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from sacrebleu.metrics.bleu import BLEU

from evaluators.library.summarization.bleu import Bleu
from evaluators.outcome import TargetError
from evaluators.scoring import aggregate
from evaluators.text.bleu import (
    corpus,
    cumulative,
    reference_of,
    single_orders,
    tally,
    words_of_13a,
    words_of_sentences,
)
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, outcomes, rows_to_fold, samples, values
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

GOLDEN = golden("bleu")
TOLERANCE = GOLDEN["tolerance"]
# The source takes a run of Chinese characters for one word, so that only equal texts share one.
# Here each character is a word, as in sacrebleu's tokens `zh`.
RUNS_OF_IDEOGRAPHS = {"bleu-027", "bleu-028"}
CASES = [case for case in GOLDEN["cases"] if case["id"] not in RUNS_OF_IDEOGRAPHS]
NAMES = tuple(f"bleu_{order}" for order in (1, 2, 3, 4))
ORDERS = [(1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    references, answer = case["input"]["references"], case["input"]["prediction"]
    assert words_of_sentences(answer) == case["tokens"]["prediction"]
    assert [words_of_sentences(text) for text in references] == case["tokens"]["references"]
    found = tally(reference_of(case["tokens"]["references"]), case["tokens"]["prediction"])
    scores = dict(zip(NAMES, single_orders(found), strict=True))
    assert scores == pytest.approx(case["expected"], abs=TOLERANCE)
    if "cumulative" in case:
        smoothed = case["cumulative"]["bleu4_method3"]
        assert cumulative(found) == pytest.approx(smoothed, abs=TOLERANCE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_golden_as_samples(case: dict[str, Any]) -> None:
    references, answer = case["input"]["references"], case["input"]["prediction"]
    found = values(Bleu(), {"expected_answers": references, "answer": answer})
    if any(references):
        assert {name: found[name] for name in NAMES} == pytest.approx(case["expected"], abs=1e-9)
    else:
        assert set(found.values()) == {None}


def corpus_bleu(rows: Sequence[Mapping[str, Any]]) -> object:
    frame = samples(rows)
    return aggregate(Bleu(), rows_to_fold(Bleu(), frame)).scores["corpus_bleu"]


def test_corpus_bleu_is_sacrebleu_and_a_failed_answer_leaves_none() -> None:
    pairs = [
        (["the cat sat on the mat", "there is a cat on the mat"], "the cat is on the mat"),
        (["It rained today. We stayed at home.", "It rained."], "It rained today. We stayed."),
        (["one two three four five", "five six seven eight"], ""),
        (["Москва столица", "x"], "Москва столица x"),
    ]
    rows = [{"expected_answers": refs, "answer": answer} for refs, answer in pairs]
    references = [[refs[i] for refs, _ in pairs] for i in range(2)]
    expected = BLEU().corpus_score([answer for _, answer in pairs], references).score
    assert 0 < expected < 100
    assert corpus_bleu(rows) == pytest.approx(expected, abs=1e-9)
    rows[2] |= {"answer": "one two three four five", "error": "timeout"}
    assert isinstance(corpus_bleu(rows), TargetError)


def test_no_reference_no_corpus_bleu() -> None:
    assert str(corpus_bleu([{"answer": "x", "expected_answers": [" "]}])) == (
        "no sample has what the metric needs"
    )


def test_what_has_no_number_and_what_gets_the_worst() -> None:
    frame = samples(
        [
            {"expected_answers": ["x y z w"], "answer": "x y z w"},
            {"expected_answers": ["x y z w"], "answer": ""},
            {"expected_answers": ["x y z w"], "answer": "x y z w", "error": "timeout"},
            {"expected_answers": ["\u001f"], "answer": "x", "error": "timeout"},
            {"expected_answers": [""], "answer": "x"},
            {"expected_answers": ["x"], "answer": None},
        ]
    )
    assert [outcome["bleu_4"] for outcome in outcomes(Bleu(), frame)] == [
        Outcome(1.0),
        Outcome(0.0),
        Outcome(0.0, "scored", "target_error"),
        Outcome(None, "not_applicable", "no expected answer with text"),
        Outcome(None, "not_applicable", "no expected answer with text"),
        Outcome(None, "not_applicable", "no answer"),
    ]


def words(draw: random.Random, length: int) -> list[str]:
    pool = ["the", "The", "cat", "北京", "é", "e\u0301", ".", ",", "n't", "😀", "15,969", "x" * 500]
    return [draw.choice(pool) for _ in range(length)]


def test_equals_nltk_on_random_tokens() -> None:
    draw = random.Random(3)
    for _ in range(500):
        references = [words(draw, draw.choice([1, 2, 5, 30])) for _ in range(draw.randint(1, 3))]
        answer = words(draw, draw.choice([0, 1, 3, 4, 30]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NLTK warns of n-grams without a match
            single = [sentence_bleu(references, answer, [order]) for order in ORDERS]
            smooth = SmoothingFunction().method3
            whole = sentence_bleu(references, answer, smoothing_function=smooth) if answer else 0
        found = tally(reference_of(references), answer)
        expected = [0.0 if value < 1e-300 else value for value in single]
        assert single_orders(found) == pytest.approx(expected, abs=1e-12)
        assert cumulative(found) == pytest.approx(whole, abs=1e-12)


def test_equals_nltk_on_very_long_texts() -> None:
    draw = random.Random(4)
    reference, answer = words(draw, 20_000), words(draw, 15_000)
    expected = [sentence_bleu([reference], answer, order) for order in ORDERS]
    found = single_orders(tally(reference_of([reference]), answer))
    assert found == pytest.approx(expected, abs=1e-12)


def lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@takes_minutes
@pytest.mark.parametrize(
    ("tokens", "column"), [(words_of_13a, "bleu_13a"), (str.split, "bleu_tok_none")]
)
def test_wmt17(shared: Path, tokens: Callable[[str], list[str]], column: str) -> None:
    """The corpus BLEU of nine systems, to the fourth digit."""
    folder = shared / "data" / "mt_wmt17"
    rows = lines(folder / "newstest2017_en_de.jsonl.gz")
    with (folder / "figures.csv").open(encoding="utf-8") as file:
        figures = list(csv.DictReader(file))
    assert len(figures) == 9
    references = [reference_of([tokens(row["reference"])]) for row in rows]
    for figure in figures:
        answers = [row[f"sys:{figure['system']}"] for row in rows]
        tallies = [
            tally(reference, tokens(answer))
            for reference, answer in zip(references, answers, strict=True)
        ]
        score = BLEU.compute_bleu(
            correct=[sum(found.right[i] for found in tallies) for i in range(4)],
            total=[sum(found.totals[i] for found in tallies) for i in range(4)],
            sys_len=sum(found.length for found in tallies),
            ref_len=sum(found.reference_length for found in tallies),
            smooth_method="exp",
        )
        assert score.score == pytest.approx(float(figure[column]), abs=1e-4)


@takes_minutes
def test_wmt17_as_samples(shared: Path) -> None:
    """The same through the evaluator, for the first system."""
    folder = shared / "data" / "mt_wmt17"
    rows = lines(folder / "newstest2017_en_de.jsonl.gz")
    found = corpus_bleu(
        [{"expected_answers": [row["reference"]], "answer": row["sys:C-3MA.4959"]} for row in rows]
    )
    assert found == pytest.approx(22.6746, abs=1e-4)


def test_bagel(shared: Path) -> None:
    """404 sentences with several references: corpus BLEU over all of them."""
    folder = shared / "data" / "d2t_human"
    figures = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    rows = lines(folder / "bagel.jsonl.gz")
    found = corpus_bleu(
        [{"expected_answers": row["references"], "answer": row["output"]} for row in rows]
    )
    assert found == pytest.approx(figures["corpus_bleu_13a_multi_ref"], abs=1e-4)


CHINESE = (
    ("敏捷的狐狸", "敏捷的棕色狐狸跳过懒狗"),
    (
        "价格是3.5元\uff08约0.5美元\uff09、对吗\uff1f",
        "价格为3.5元\uff08约合0.5美元\uff09、是吗\uff1f",
    ),
    ("《书》很好, OK. 我 like it", "《书》非常好\uff0cOK。我喜欢它"),
)


def test_chinese_corpora_score_as_sacrebleu_with_its_chinese_tokens() -> None:
    answers, references = zip(*CHINESE, strict=True)
    expected = BLEU(tokenize="zh").corpus_score(answers, [references]).score
    rows = [{"expected_answers": [each], "answer": answer} for answer, each in CHINESE]
    assert corpus_bleu(rows) == pytest.approx(expected, abs=1e-9)
    assert corpus_bleu(rows[:1]) == pytest.approx(15.06, abs=0.005)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("日本語のテスト。", list("日本語のテスト。")),
        ("ดี มั้ย 12", ["ดี", "มั้", "ย", "12"]),
        ("ភាសា", ["ភា", "សា"]),
        ("Grüße, 世界", ["Grüße", ",", "世", "界"]),
        ("Привет мир", ["Привет", "мир"]),
    ],
)
def test_characters_of_scripts_without_spaces_are_words(text: str, words: list[str]) -> None:
    assert words_of_13a(text) == words
    assert words_of_sentences(text) == words


@pytest.mark.parametrize("count", [1, 2, 3, 7, 50])
def test_the_bleu_of_a_perfect_corpus_is_its_bound(count: int) -> None:
    texts = [f"The answer to question {n} is {n * n} and not {n + 1}." for n in range(count)]
    rows = [{"expected_answers": [text], "answer": text} for text in texts]
    assert corpus_bleu(rows) == 100.0
    # sacrebleu takes the exponential of the logarithm of 100.
    assert BLEU().corpus_score(texts, [texts]).score == pytest.approx(100.0, abs=1e-12)


@pytest.mark.parametrize(
    ("right", "totals", "length", "reference_length"),
    [
        ((9, 7, 5, 3), (10, 9, 8, 7), 10, 12),
        ((9, 7, 0, 0), (10, 9, 8, 7), 10, 8),
        ((3, 0, 0, 0), (3, 2, 1, 0), 3, 3),
        ((0, 0, 0, 0), (5, 4, 3, 2), 5, 5),
        ((0, 0, 0, 0), (0, 0, 0, 0), 0, 5),
    ],
)
def test_corpus_bleu_from_counts_is_sacrebleu(
    right: tuple[int, ...], totals: tuple[int, ...], length: int, reference_length: int
) -> None:
    theirs = BLEU.compute_bleu(list(right), list(totals), length, reference_length, "exp").score
    found = corpus(right, totals, length, reference_length)
    assert 100 * found == pytest.approx(theirs, abs=1e-12)
