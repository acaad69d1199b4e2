"""Text metrics in all scripts: equal texts are equal, and different ones are not."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
import regex
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from evaluators import catalog
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator
from evaluators.library.pairwise.pairwise_judge import EQUAL, TIE, _decide
from evaluators.scoring import aggregate, score
from tests.evaluators.scripts import (
    CURRENCIES,
    DIGITS,
    EMOJI,
    SIGNS,
    any_symbol,
    any_word,
    folded,
    two_words,
)
from tests.evaluators.strategies import frames
from tests.support.samples import rows_to_fold, samples, values
from tests.support.services import REQUIRED

if TYPE_CHECKING:
    from evaluators.evaluator import Evaluator

# Metrics that compare a text with another one, and are 1 for equal texts only.
COMPARED = {
    "rouge": ("rouge_1", "rouge_l"),
    "bleu": ("bleu_1",),
    "evidence_overlap": ("evidence_f1",),
    "classification": ("accuracy",),
}
# The same for texts with words; an answer may hold more than is expected.
CONTAINED = {
    "tokens_presence": ("passes",),
    "noise_robustness": ("accuracy", "accuracy_exact", "accuracy_normalized"),
    "counterfactual_robustness": ("accuracy", "accuracy_exact", "accuracy_normalized"),
    "information_integration": ("accuracy", "accuracy_exact", "accuracy_normalized"),
}
EVALUATORS = {name: catalog.build(name) for name in (*COMPARED, *CONTAINED)}
IDENTIFIERS = {
    *(
        "benchmark",
        "system",
        "question_id",
        "scenario",
        "extra",
        "rubric",
        "reported",
        "doc_id",
        "sentence_id",
        "error",
    ),
    *(
        "gold_doc_ids",
        "retrieved_doc_ids",
        "gold_sentence_ids",
        "cited_sentence_ids",
        "gold_grades",
    ),
}
PLAIN = [
    name
    for name in catalog.catalogue()
    if not isinstance(catalog.build(name), FlowEvaluator | CompositeEvaluator)
]


def compared(reference: str, answer: str, metrics: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """The values of metrics for an answer with one reference."""
    row = {
        "expected_answers": [reference],
        "answer": answer,
        "expected_label": reference,
        "label": answer,
        "document_sentences": [
            {"sentence_id": "S1", "text": reference},
            {"sentence_id": "S2", "text": answer},
        ],
        "gold_sentence_ids": ["S1"],
        "cited_sentence_ids": ["S2"],
    }
    found = {name: values(EVALUATORS[name], row) for name in metrics}
    return {f"{name}.{metric}": found[name][metric] for name in metrics for metric in metrics[name]}


often = settings(max_examples=200 if REQUIRED else 25)
texts = st.lists(any_word | any_symbol | st.sampled_from(["the", "-5", "C++", "—", "…", "!"])).map(
    " ".join
)


@often
@given(text=texts.filter(str.strip))
def test_identical_texts_score_1(text: str) -> None:
    found = compared(text, text, COMPARED)
    if regex.search(r"[\p{L}\p{N}]", text):
        found |= compared(text, text, CONTAINED)
    assert found == dict.fromkeys(found, 1.0)


@often
@given(text=st.text(min_size=1, max_size=10).filter(str.strip))
def test_any_text_that_is_not_blank_is_equal_to_itself(text: str) -> None:
    found = compared(text, text, {"rouge": COMPARED["rouge"]})
    assert found == dict.fromkeys(found, 1.0)


@pytest.mark.parametrize("text", ["...", "!!!", "?", "— …", "😀", "٤٢", "\u200b", "\u00ad", "()"])
def test_texts_without_words_are_equal_to_themselves_only(text: str) -> None:
    found = compared(text, text, {"rouge": COMPARED["rouge"]})
    assert found == dict.fromkeys(found, 1.0)
    found = compared(text, "[-]", {"rouge": COMPARED["rouge"]})
    assert found == dict.fromkeys(found, 0.0)


def assert_different(reference: str, answer: str) -> None:
    found = compared(reference, answer, COMPARED)
    assert [name for name, value in found.items() if value is None or value >= 1] == []


@often
@given(words=two_words, before=st.sampled_from(["The capital is ", "", "北京 ", "दिन "]))
def test_another_word_of_any_script_scores_below_1(words: tuple[str, str], before: str) -> None:
    one, other = map(folded, words)
    # Scripts without spaces are compared by grapheme, in any order by some metrics.
    assume(set(regex.findall(r"\X", one)) != set(regex.findall(r"\X", other)))
    stem = PorterStemmer().stem
    assume(not one.isascii() or stem(one) != stem(other))
    assert_different(before + words[0], before + words[1])


@often
@given(
    pool=st.sampled_from([EMOJI, CURRENCIES, SIGNS, DIGITS]),
    form=st.sampled_from(["5 {}", "{} 5", "The value is {}.", "x {} y", "北京 {}"]),
    data=st.data(),
)
def test_another_symbol_scores_below_1(pool: list[str], form: str, data: st.DataObject) -> None:
    one, other = (data.draw(st.sampled_from(pool)) for _ in range(2))
    assume(folded(one) != folded(other))
    # Evidence overlap counts a word once, so that "5 5" is "5".
    assume(folded(one) != "5")
    assert_different(form.format(one), form.format(other))
    assert_different(form.format(one), form.format(""))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It is -5 degrees", "It is 5 degrees"),
        ("+5", "-5"),
        ("-$5", "$5"),
        ("\u22125", "+5"),
        ("5%", "5‰"),
        ("5 %", "5"),
        ("C++", "C#"),
        ("C", "C++"),
        ("F#", "F"),
        ("10²", "102"),
        ("1½", "112"),
        ("x > 3", "x < 3"),
        ("3*4", "3/4"),
        ("a || b", "a && b"),
        ("2**3", "2*3"),
        ("~5", "5"),
        ("دَرَسَ", "دُرِسَ"),
        ("বল", "বলা"),
        ("கல்", "கால்"),
        ("שָׁלוֹם", "שִׁלּוּם"),
        ("ไม้", "ไม่"),
        ("Ελλάδα 5", "Ελλάδα 6"),
    ],
)
def test_small_differences_count(one: str, other: str) -> None:
    assert_different(one, other)
    assert_different(other, one)


def decomposed(value: Any) -> Any:
    """The same value with all texts decomposed, except for identifiers."""
    if isinstance(value, str):
        return unicodedata.normalize("NFD", value)
    if isinstance(value, list):
        return [decomposed(each) for each in value]
    if isinstance(value, dict):
        return {
            key: each if key in IDENTIFIERS else decomposed(each) for key, each in value.items()
        }
    return value


def accented(value: Any) -> Any:
    """The same value in composed form, with many letters that can be decomposed."""
    if isinstance(value, str):
        marked = value.translate(str.maketrans("aeiounst", "áêïõůñšţ"))
        return unicodedata.normalize(
            "NFC", f"{marked} Ế क़ 각 が أَ" if value[:1] not in "[{" else marked
        )
    if isinstance(value, list):
        return [accented(each) for each in value]
    if isinstance(value, dict):
        return {key: each if key in IDENTIFIERS else accented(each) for key, each in value.items()}
    return value


@pytest.mark.parametrize("name", PLAIN)
@settings(max_examples=15 if REQUIRED else 3)
@given(data=st.data())
def test_composed_and_decomposed_letters_are_equal(name: str, data: st.DataObject) -> None:
    evaluator = catalog.build(name)
    frame = data.draw(frames(evaluator))
    composed = [accented(row) for row in frame.to_dicts()]
    one, other = (
        score(evaluator, samples(rows, frame.columns)).long().drop("detail")
        for rows in (composed, [decomposed(row) for row in composed])
    )
    assert one.equals(other, null_equal=True)


@pytest.mark.parametrize("name", ["bleu", "classification"])
def test_system_metrics_of_decomposed_answers_are_perfect(name: str) -> None:
    evaluator = catalog.build(name)
    text = "Él comió piña y café"
    row = {"expected_answers": [text], "answer": decomposed(text)}
    row |= {"expected_label": text, "label": decomposed(text)}
    found = perfect(evaluator, [row])
    assert set(found.values()) == {100.0 if name == "bleu" else 1.0}


def perfect(evaluator: Evaluator, rows: list[dict[str, Any]]) -> dict[str, Any]:
    columns = evaluator.columns & set(rows[0])
    kept = [{name: row[name] for name in columns} for row in rows]
    return dict(aggregate(evaluator, rows_to_fold(evaluator, samples(kept))).scores)


def test_equal_answers_tie_in_every_form() -> None:
    assert _decide("café ", decomposed("café")) == (TIE, EQUAL)


def test_identifiers_are_compared_exactly() -> None:
    row = {"gold_sentence_ids": ["é"], "cited_sentence_ids": ["e\u0301"]}
    found = values(catalog.build("citation"), row)
    assert found["f1"] == 0
