"""No text makes an evaluator or a detector slow: the time grows with the length, not its square.

Times are those of the processor, and only their ratio counts.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import time
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from evaluators import catalog, detectors
from evaluators.detectors.plain import plain
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator
from evaluators.sample import SAMPLE_COLUMNS
from evaluators.scoring import score
from evaluators.text.normalization import normalize_unicode
from evaluators.text.quotes import occurs
from evaluators.text.sentences import sentences
from tests.evaluators.variants import variants
from tests.support.samples import outcomes, samples
from tests.support.services import NIGHTLY, REQUIRED, takes_longest, takes_minutes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evaluators.evaluator import Evaluator

KB = 1024
SIZES = (KB, 8 * KB)
if REQUIRED:
    SIZES = (4 * KB, 32 * KB)
if NIGHTLY:
    SIZES = (16 * KB, 64 * KB, 256 * KB, 1024 * KB)
NOISE_S = 0.003
"""What a measurement may be wrong by: added to both times of a ratio."""
ENOUGH_S = 2.0
"""Texts that take longer have shown how the time grows; longer ones would take minutes."""
FACTOR = 3
"""How much faster than the length the time may grow: caches, garbage collection, memory. A square
exceeds it at eight times the length."""


def repeated(unit: str) -> Callable[[int], str]:
    """Texts of any length that repeat a piece."""
    return lambda length: (unit * (length // len(unit) + 1))[:length]


def fibonacci(length: int) -> str:
    """A text full of repeats that are all different."""
    one, other = "a", "ab"
    while len(other) < length:
        one, other = other, other + one
    return other[:length]


UNITS = {
    "letters": "a",
    "words": "a ",
    "capitals": "A.",
    "prose": "It is so, and not otherwise. ",
    "at signs": "@",
    "addresses": "x@a.de ",
    "unfinished addresses": "a@",
    "digits": "4",
    "cards": "4111111111111111",
    "groups of digits": "411 ",
    "groups of cards": "4111-",
    "numbers of persons": "123-45-",
    "accounts": "DE89",
    "accounts with spaces": "DE89 ",
    "addresses of hosts": "1.1.",
    "colons": ":",
    "addresses with colons": "1:",
    "percent signs": "::%a",
    "telephones": "+49 30 ",
    "telephones with brackets": "(212) 555-0100 ",
    "plus": "+1",
    "slashes": "/",
    "hosts": "http://a.",
    "brackets": "(",
    "brackets that end": ".)",
    "all brackets": "[]{}()",
    "tags": "<a>",
    "ideographs": "北京大",
    "one ideograph": "北",
    "Thai": "ก",
    "Thai marks": "ก่",
    "marks": "\u0301\u0323",
    "letters with marks": "e\u0301",
    "half-width marks": "\uff9e\u0323",
    "ligatures": "\ufdfa",
    "full-width digits": "\uff11",
    "quotes": '"',
    "apostrophes": "'",
    "quoted": '"a" ',
    "dots": ".",
    "dots and spaces": ". ",
    "ellipses": "… ",
    "questions": "?! ",
    "quoted sentences": "'a'. ",
    "Japanese quotes": "「あ」。",
    "Chinese sentences": "北京。",
    "paragraphs": "a\n\n",
    "commas": "1,",
    "spaces": " ",
    "no-break spaces": "\u00a0",
    "lines": "\n",
    "line ends": "\r\n",
    "tabs": "\t ",
    "zero width": "\u200b",
    "zero width in words": "a\u200b",
    "joined emoji": "\U0001f469\u200d",
    "flags": "\U0001f1e6",
    "dashes": "-",
    "hyphens": "a-",
    "underscores": "_",
    "beginnings of keys": "-----BEGIN ",
    "keys": "-----BEGIN PRIVATE KEY-----",
    "sk": "sk-",
    "sk-proj": "sk-proj-aaaaaaaaaaaaaaaaaaaa",
    "marked keys": "sk-aaaaaaaaaaaaaaaaaaaaT3BlbkFJ",
    "web tokens": "eyJaaaaaaaa.",
    "xox": "xoxb-",
    "xapp": "xapp-1-A-1-",
    "PuTTY": "PuTTY-User-Key-File-1: ",
    "pwd": "pwd=",
    "passwords": "password: ",
    "quoted passwords": 'pwd "',
    "product keys": "ABCDE-",
    "sigma": "Σ.",
    "contractions": "gimme cannot 'tis ",
    "abbreviations": "Mr. e.g. ",
}
FAMILIES: dict[str, Callable[[int], str]] = {
    **{name: repeated(unit) for name, unit in UNITS.items()},
    "long domain": lambda length: "x@" + repeated("a.")(length - 4) + "de",
    "long example domain": lambda length: "x@" + repeated("example.")(length - 3) + "x",
    "domain without end": lambda length: "x@" + repeated("a.")(length - 3) + "1",
    "long sk": lambda length: "sk-" + "a" * length,
    "nested brackets": lambda length: "(" * (length // 2) + ")" * (length // 2),
    "spaces before the end": lambda length: "a." + " " * length + "b",
    "one letter with marks": lambda length: "a" + repeated("\u0301\u0323")(length),
    "one card": lambda length: "4111 1111 1111 1111 " + "1" * length,
    "Fibonacci": fibonacci,
}
SEED = (
    "It is so: anna@bank.com, 4539 5787 6362 1486, 536-22-1234, DE89 3704 0044 0532 0130 00, "
    'FE80::1, +49 30 901820, password="x7!kq0zz", AKIAIOSFODNN7ABCDEFG. '
)
"""What makes the detectors search a text at all."""
SEARCHING = {
    "pii_leakage": {
        "detectors": ["credit_card", "us_ssn", "email", "phone", "iban", "ip_address"],
        "region": "US",
    }
}


def _cases() -> list[tuple[str, dict[str, Any]]]:
    """Every evaluator that needs no engine, with its variants."""
    cases = []
    for name in catalog.catalogue():
        if not isinstance(catalog.build(name), FlowEvaluator | CompositeEvaluator):
            usual = SEARCHING.get(name, {})
            listed = [usual, *(given for given in variants(name) if given != usual)]
            cases += [(name, given) for given in listed]
    return cases


def _searches() -> dict[str, Callable[[str], Any]]:
    """Every function of the detectors that takes a text, and what evaluators share."""
    found: dict[str, Callable[[str], Any]] = {}
    for module in pkgutil.iter_modules(detectors.__path__):
        loaded = importlib.import_module(f"{detectors.__name__}.{module.name}")
        for name, member in vars(loaded).items():
            own = inspect.isfunction(member) and member.__module__ == loaded.__name__
            if own and not name.startswith("_") and member.__annotations__.get("text") == "str":
                found[f"{module.name}.{name}"] = member
    shared = {"sentences": sentences, "occurs": lambda text: occurs(text, "a" + text)}
    return {**found, **shared, "NFC": partial(normalize_unicode, "NFC")}


CASES = _cases()
SEARCHES = _searches()


@takes_minutes
@pytest.mark.timeout(3600 if NIGHTLY else 600)
@pytest.mark.parametrize(
    ("name", "given"), CASES, ids=[f"{name}-{at}" for at, (name, _) in enumerate(CASES)]
)
def test_the_time_of_an_evaluator_grows_with_the_length(name: str, given: dict[str, Any]) -> None:
    evaluator = catalog.build(name, given)
    columns = [column for column in sorted(evaluator.columns) if _filled(column, "") is not None]
    assert columns, "no column takes a text"
    choices = [columns, *([column] for column in columns)] if NIGHTLY else [columns]
    for chosen in choices:

        def run(text: str, chosen: list[str] = chosen) -> None:
            score(evaluator, _sample(evaluator, chosen, text))

        _grows_with_the_length(run, str(chosen))


@pytest.mark.parametrize("search", SEARCHES)
def test_the_time_of_a_search_grows_with_the_length(search: str) -> None:
    def run(text: str) -> None:
        found = SEARCHES[search](text)
        if not isinstance(found, str | bool | float | None):
            list(found) if hasattr(found, "__iter__") else found

    _grows_with_the_length(run, search)


def test_a_time_that_grows_with_the_square_is_found() -> None:
    def run(text: str) -> None:
        sum(text.count("zz") for _ in range(0, len(text), 4))

    with pytest.raises(AssertionError, match="letters"):
        _grows_with_the_length(run, "square", {"letters": FAMILIES["letters"]}, (4 * KB, 32 * KB))


def test_every_detector_is_measured() -> None:
    assert {"cards.cards", "contacts.phones", "emails.emails", "plain.plain"} <= SEARCHES.keys()
    assert {"secret_rules.secrets", "contacts.ibans", "contacts.ip_addresses"} <= SEARCHES.keys()
    assert {"pii_leakage", "rouge", "bleu", "tokens_presence"} <= {name for name, _ in CASES}
    assert plain("a\u200b").text == "a"


def test_rouge_l_of_two_long_texts_is_undefined() -> None:
    one = " ".join(f"w{number}" for number in range(32_000))
    other = " ".join(f"w{number}" for number in range(32_000, 0, -1))
    rouge = catalog.build("rouge")
    given = {"answer": one, "expected_answers": ["a", other]}
    found, same = outcomes(rouge, samples([given, {**given, "expected_answers": [one]}]))
    assert found["rouge_1"].value == pytest.approx(31_999 / 32_000)
    assert found["rouge_l"].status == "undefined"
    assert "32,000 words" in str(found["rouge_l"].reason)
    assert same["rouge_l"].value == 1


@takes_longest
def test_a_megabyte_of_marks_is_normalised() -> None:
    text = repeated("\u0301\u0323")(1024 * KB)
    began = time.process_time()
    normalize_unicode("NFC", text)
    ours = time.process_time() - began
    began = time.process_time()
    sorted(text)
    assert ours < 100 * (time.process_time() - began) + NOISE_S


def _grows_with_the_length(
    run: Callable[[str], None],
    where: str,
    families: Mapping[str, Callable[[int], str]] = FAMILIES,
    sizes: tuple[int, ...] = SIZES,
) -> None:
    run(SEED)
    slow = []
    for family, make in families.items():
        for small, large in pairwise(sizes):
            if small > sizes[0] and _seconds(run, SEED + make(small)) > ENOUGH_S:
                break
            texts = [SEED + make(size) for size in (small, large)]
            allowed = FACTOR * large / small
            # A measurement that another process disturbs is repeated.
            if not any(_ratio(run, *texts) <= allowed for _ in range(3)):
                slow.append(f"{family} from {small} to {large} characters")
                break
    assert not slow, f"{where}: the time grows faster than the length: {slow}"


def _ratio(run: Callable[[str], None], small: str, large: str) -> float:
    return (_seconds(run, large) + NOISE_S) / (_seconds(run, small) + NOISE_S)


def _seconds(run: Callable[[str], None], text: str) -> float:
    began = time.process_time()
    run(text)
    return time.process_time() - began


USUAL: dict[str, Any] = {
    "question": "What is it?",
    "expected_answers": ["It is so."],
    "expected_label": "yes",
    "gold_doc_ids": ["d"],
    "gold_relevance": [{"doc_id": "d", "grade": 1}],
    "gold_sentence_ids": ["S1"],
    "cited_sentence_ids": ["S1"],
    "document_sentences": [{"sentence_id": "S1", "text": "It is so."}],
    "counterfactual_answer": "It is not.",
    "constraints": '["so"]',
    "choices": ["a", "b"],
    "correct_choice": 0,
    "choice_logprobs": [-1.0, -2.0],
    "noise_ratio": 0.5,
    "answer": "It is so.",
    "contexts": ["It is so."],
    "retrieved_doc_ids": ["d"],
}


def _sample(evaluator: Evaluator, chosen: list[str], text: str) -> pl.DataFrame:
    row = {column: value for column, value in USUAL.items() if column in evaluator.columns}
    row |= {column: _filled(column, text) for column in chosen}
    return samples([row], evaluator.columns)


def _filled(column: str, text: str) -> Any:
    """A value of a sample column that consists of a text; None where none can.

    What an answer is compared with is the text turned round, so that the two differ.
    """
    special = {
        "scenario": None,
        "error": None,
        "constraints": json.dumps([text[:-1], [text]]),
        "rubric": json.dumps({"description": text}),
        "tags": json.dumps({"a": text}),
        "extra": json.dumps({"a": text}),
        "reported": json.dumps({text: 0.5}),
        "document_sentences": [{"sentence_id": name, "text": text} for name in ("S1", text)],
        "gold_relevance": [{"doc_id": text, "grade": 1}],
        "expected_parts": [[text[::-1]], [text]],
        "expected_answers": [text[::-1], text[1:]],
    }
    if column in special:
        return special[column]
    kind = SAMPLE_COLUMNS[column]
    if kind == pl.List(pl.String):
        return [text, text[::-1]]
    return text if kind == pl.String else None
