"""ROUGE: worked cases, rouge-score as an oracle, and the figures of two annotated sets."""

from __future__ import annotations

import csv
import gzip
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from rouge_score.rouge_scorer import RougeScorer
from scipy.stats import kendalltau, pearsonr, spearmanr

from evaluators.library.summarization.rouge import Rouge, Words, f1_scores, prepared
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, outcomes, samples, values
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

GOLDEN = golden("rouge")
TOLERANCE = GOLDEN["tolerance"]
# The column `unicode_tokeniser` drops marks and symbols. Here they are the words of these texts.
WITHOUT_WORDS = {"rouge-017", "rouge-030"}
NAMES = ("rouge_1", "rouge_2", "rouge_l")
THEIRS = ("rouge1", "rouge2", "rougeL")


def pair(reference: str, answer: str, words: Words = "stemmed") -> dict[str, float]:
    scores = f1_scores(prepared(reference, words), prepared(answer, words))
    return dict(zip(NAMES, scores, strict=True))


@pytest.mark.parametrize(
    ("column", "words"),
    [("expected", "stemmed"), ("no_stemmer", "plain"), ("unicode_tokeniser", "unicode")],
)
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["id"])
def test_golden(case: dict[str, Any], column: str, words: Words) -> None:
    found = pair(case["input"]["reference"], case["input"]["prediction"], words)
    if words == "unicode" and case["id"] in WITHOUT_WORDS:
        assert (found["rouge_1"], found["rouge_l"]) == (1, 1)
    else:
        assert found == pytest.approx(case[column], abs=TOLERANCE)


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in GOLDEN["cases"]
        if case["input"]["reference"].isascii() and case["id"] not in WITHOUT_WORDS
    ],
    ids=lambda case: case["id"],
)
def test_golden_values_of_ascii_words_are_those_of_the_default(case: dict[str, Any]) -> None:
    found = pair(case["input"]["reference"], case["input"]["prediction"], "auto")
    assert found == pytest.approx(case["expected"], abs=TOLERANCE)


@pytest.mark.parametrize("case", GOLDEN["multi_reference_cases"])
def test_golden_several_references(case: dict[str, Any]) -> None:
    row = {"expected_answers": case["input"]["references"], "answer": case["input"]["prediction"]}
    found = values(Rouge(words="stemmed"), row)
    assert found == pytest.approx(case["expected"], abs=TOLERANCE)


@pytest.mark.parametrize(
    ("reference", "answer", "expected"),
    [
        ("He runs daily", "He running daily", (1, 1, 1)),
        ("police killed the gunman", "the gunman kill police", (1, 1 / 3, 0.5)),
        ("the cat sat on the mat", "the cat", (0.5, 1 / 3, 0.5)),
        ("don't stop", "dont stop", (0.4, 0, 0.4)),
        ("北京是首都", "北京是首都", (1, 1, 1)),
        ("北京是首都", "北京是城市", (0.6, 0.5, 0.6)),
        ("Москва 2022", "Киев 2022", (0.5, 0, 0.5)),
        ("Straße in Köln", "STRASSE in Köln", (1, 1, 1)),
        ("ΟΔΟΣ", "οδος", (1, 0, 1)),
        ("café au lait", "cafe au lait", (2 / 3, 0.5, 2 / 3)),
        ("The capital is 北京", "The capital is 上海", (3 / 5, 1 / 2, 3 / 5)),
        ("pêcheur", "pècheur", (0, 0, 0)),
        ("It is C++", "It is C#", (3 * 2 / 9, 2 * 2 / 7, 3 * 2 / 9)),
        ("5 €", "5 £", (1 / 2, 0, 1 / 2)),
        ("٤٢", "٤٢", (1, 0, 1)),
        ("😀", "😀", (1, 0, 1)),
        ("दिन", "दान", (0, 0, 0)),
        ("Running 5 km", "runs -5 km", (6 / 7, 2 / 5, 6 / 7)),
        ("the cat", "", (0, 0, 0)),
        ("the cat", " \n\t", (0, 0, 0)),
    ],
)
def test_the_default_has_the_words_of_any_script(
    reference: str, answer: str, expected: tuple[float, ...]
) -> None:
    found = values(Rouge(), {"expected_answers": [reference], "answer": answer})
    assert found == pytest.approx(dict(zip(NAMES, expected, strict=True)), abs=1e-12)


def test_what_has_no_number_and_what_gets_the_worst() -> None:
    frame = samples(
        [
            {"expected_answers": ["x y"], "answer": "x y"},
            {"expected_answers": ["x y"], "answer": None},
            {"expected_answers": ["x y"], "answer": "x y", "error": "timeout"},
            {"expected_answers": [], "answer": "x y"},
            {"expected_answers": ["", " "], "answer": "x y"},
            {"expected_answers": None, "answer": "x y", "error": "timeout"},
        ]
    )
    found = [outcome["rouge_l"] for outcome in outcomes(Rouge(), frame)]
    assert found == [
        Outcome(1.0),
        Outcome(None, "not_applicable", "no answer"),
        Outcome(0.0, "scored", "target_error"),
        Outcome(None, "not_applicable", "no expected_answers"),
        Outcome(None, "not_applicable", "no expected answer with text"),
        Outcome(None, "not_applicable", "no expected_answers"),
    ]


def text(draw: random.Random, length: int) -> str:
    """Words that often coincide, in several scripts, with separators."""
    pool = ["run", "runs", "running", "Policies", "policy", "a", "2022", "naïve", "İstanbul"]
    pool += ["do", "don't", "x_y", "état", "北京", "город", "é", "ß", "U.S.A.", "ﬁne"]
    marks = [" ", "  ", "\n", ", ", ". ", "-", "—", "\u00a0", "\u200b"]
    return "".join(draw.choice(pool) + draw.choice(marks) for _ in range(length))


@pytest.mark.parametrize("stem", [True, False])
def test_equals_rouge_score_on_random_texts(stem: bool) -> None:
    draw = random.Random(7)
    oracle = RougeScorer(list(THEIRS), use_stemmer=stem)
    lengths = [0, 1, 2, 3, 8, 30, 120]
    for _ in range(300):
        one, other = (text(draw, draw.choice(lengths)) for _ in range(2))
        theirs = oracle.score(one, other)
        expected = {name: theirs[key].fmeasure for name, key in zip(NAMES, THEIRS, strict=True)}
        found = pair(one, other, "stemmed" if stem else "plain")
        assert found == pytest.approx(expected, abs=1e-12), (one, other)


@takes_minutes
def test_equals_rouge_score_on_very_long_texts() -> None:
    draw = random.Random(8)
    one, other = text(draw, 2500), text(draw, 1500)
    theirs = RougeScorer(list(THEIRS), use_stemmer=True).score(one, other)
    expected = {name: theirs[key].fmeasure for name, key in zip(NAMES, THEIRS, strict=True)}
    assert pair(one, other) == pytest.approx(expected, abs=1e-12)


def lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def scored(references: Sequence[str], answer: str, words: Words) -> list[tuple[float, ...]]:
    return [f1_scores(prepared(text, words), prepared(answer, words)) for text in references]


@pytest.fixture(scope="module")
def summeval(shared: Path) -> list[dict[str, Any]]:
    """1,600 summaries with ROUGE against each of 11 references: mean and best of each metric."""
    folder = shared / "data" / "summeval"
    docs = {row["doc_id"]: row["references"] for row in lines(folder / "summeval_docs.jsonl.gz")}
    rows = lines(folder / "summeval_outputs.jsonl.gz")
    best = outcomes(
        Rouge(words="stemmed"),
        samples(
            [
                {
                    "system": row["system"],
                    "question_id": row["doc_id"],
                    "expected_answers": docs[row["doc_id"]],
                    "answer": row["output"],
                }
                for row in rows
            ]
        ),
    )
    for row, outcome in zip(rows, best, strict=True):
        every = zip(*scored(docs[row["doc_id"]], row["output"], "stemmed"), strict=True)
        for name, key, column in zip(NAMES, THEIRS, every, strict=True):
            row[f"{key}_f_mean_over_refs"] = sum(column) / len(column)
            row[f"{key}_f_max_over_refs"] = outcome[name].value
    return rows


@takes_minutes
def test_summeval(summeval: list[dict[str, Any]], shared: Path) -> None:
    """Every value, mean and best, to the sixth digit."""
    file = shared / "data" / "summeval" / "summeval_expected_rouge.jsonl.gz"
    expected = {(row["doc_id"], row["system"]): row for row in lines(file)}
    assert len(summeval) == len(expected) == 1600
    for row in summeval:
        theirs = expected[row["doc_id"], row["system"]]
        for column in theirs.keys() - {"doc_id", "system"}:
            assert row[column] == pytest.approx(theirs[column], abs=1e-6)


@takes_minutes
def test_summeval_figures(summeval: list[dict[str, Any]], shared: Path) -> None:
    """How far ROUGE agrees with people: the mean correlation over articles, to the fourth digit."""
    with (shared / "data" / "summeval" / "figures_summeval.csv").open(encoding="utf-8") as file:
        figures = list(csv.DictReader(file))
    assert len(figures) == 24
    measures = {"spearman": spearmanr, "kendall": kendalltau, "pearson": pearsonr}
    for figure in figures:
        articles: dict[str, list[tuple[float, float]]] = {}
        for row in summeval:
            pair = (row[figure["metric"]], row["human"][figure["human"]])
            articles.setdefault(row["doc_id"], []).append(pair)
        used = [
            pairs
            for pairs in articles.values()
            if min(len(set(side)) for side in zip(*pairs, strict=False)) > 1
        ]
        assert len(used) == int(figure["docs_used"])
        for name, measure in measures.items():
            mean = sum(measure(*zip(*pairs, strict=False)).statistic for pairs in used) / len(used)
            assert mean == pytest.approx(float(figure[f"summary_level_{name}"]), abs=1e-4)


def test_summeval_by_system(summeval: list[dict[str, Any]], shared: Path) -> None:
    """The means of sixteen systems, to the sixth digit."""
    path = shared / "data" / "summeval" / "figures_summeval_by_system.csv"
    with path.open(encoding="utf-8") as file:
        figures = list(csv.DictReader(file))
    assert len(figures) == 16
    for figure in figures:
        rows = [row for row in summeval if row["system"] == figure["system"]]
        for key in THEIRS:
            mean = sum(row[f"{key}_f_mean_over_refs"] for row in rows) / len(rows)
            assert mean == pytest.approx(float(figure[f"{key}_f"]), abs=1e-6)


def test_bagel(shared: Path) -> None:
    """404 sentences with several references, without stemmer."""
    folder = shared / "data" / "d2t_human"
    rows = lines(folder / "bagel.jsonl.gz")
    theirs = {row["id"]: row for row in lines(folder / "expected_bagel.jsonl.gz")}
    figures = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    frame = samples(
        [{"expected_answers": row["references"], "answer": row["output"]} for row in rows]
    )
    found = outcomes(Rouge(words="plain"), frame)
    for row, outcome in zip(rows, found, strict=True):
        for name, key in zip(NAMES, THEIRS, strict=True):
            assert outcome[name].value == pytest.approx(theirs[row["id"]][f"{key}_f"], abs=1e-6)
    for name, key in zip(NAMES, THEIRS, strict=True):
        values = [outcome[name].value or 0 for outcome in found]
        assert sum(values) / len(values) == pytest.approx(figures[f"mean_{key}_f"], abs=1e-6)
        for human in figures["mean_human"]:
            ratings = [row["human"][human] for row in rows]
            for kind, measure in (("spearman", spearmanr), ("kendall_tau_b", kendalltau)):
                expected = figures[kind][f"{key}_f ~ {human}"]
                assert measure(values, ratings).statistic == pytest.approx(expected, abs=1e-4)
