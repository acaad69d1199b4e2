"""Looping detection: worked cases, and the definition itself as an oracle."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from evaluators.catalog import build
from evaluators.errors import BadParameters
from evaluators.library.generation.looping_detection import LoopingDetection, looping
from evaluators.outcome import Undefined
from evaluators.text.repeated_text import Repeat, longest_repeat
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, outcomes, samples, values

GOLDEN = golden("looping")
PARAGRAPH = "Seven lamps burn. "


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    text, expected = case["input"]["text"], case["expected"]
    found = looping(text)
    assert found.detail is not None
    unique = found.scores["unique_sentences"]
    assert (None if isinstance(unique, Undefined) else unique) == pytest.approx(
        expected["unique_sentences"], abs=GOLDEN["tolerance"]
    )
    assert found.detail["sentences"] == expected["n_sentences"]
    assert found.detail["unique_sentences"] == expected["n_unique"]
    assert found.scores["longest_repeated_substring"] == pytest.approx(
        expected["longest_repeated_substring"], abs=GOLDEN["tolerance"]
    )
    repeat = longest_repeat(text)
    assert repeat is not None
    assert (repeat.text, repeat.count) == (expected["repeat"], expected["repeat_count"])
    assert found.detail["bytes"] == expected["original_bytes"]
    slack = max(GOLDEN["compressed_bytes_tolerance"], 0.02 * expected["compressed_bytes"])
    assert found.detail["compressed_bytes"] == pytest.approx(
        expected["compressed_bytes"], abs=slack
    )
    assert found.scores["compression_ratio"] == pytest.approx(
        expected["compression_ratio"], abs=slack / expected["original_bytes"]
    )


@pytest.mark.parametrize(
    ("answer", "unique", "repeated"),
    [
        ("abcabcabc", None, 1),
        ("aaaaa", None, 4 / 5),
        ("banana", None, 4 / 6),
        ("abcdefghi.", 1, 0),
        ("One sentence that stands alone.", 1, None),
        ("Nine char. Nine char. Nine char.", 1 / 3, None),
    ],
)
def test_worked(answer: str, unique: float | None, repeated: float | None) -> None:
    found = values(LoopingDetection(), {"answer": answer})
    assert found["unique_sentences"] == unique
    if repeated is not None:
        assert found["longest_repeated_substring"] == repeated


def test_a_repeat_may_be_too_short_to_count() -> None:
    row = {"answer": "banana banana"}
    assert values(LoopingDetection(), row)["longest_repeated_substring"] == 12 / 13
    assert values(LoopingDetection(min_repeat=7), row)["longest_repeated_substring"] == 0


def test_what_has_no_number() -> None:
    frame = samples(
        [
            {"answer": "  \n"},
            {"answer": ""},
            {"answer": None},
            {"answer": "Long enough to count.", "error": "timeout"},
            {"answer": "Too short"},
        ]
    )
    assert [outcome["unique_sentences"] for outcome in outcomes(LoopingDetection(), frame)] == [
        Outcome(None, "undefined", "empty answer"),
        Outcome(None, "undefined", "empty answer"),
        Outcome(None, "not_applicable", "no answer"),
        Outcome(None, "target_error", "target_error"),
        Outcome(None, "undefined", "no sentence of ten characters"),
    ]


def by_definition(text: str) -> tuple[str, int, int] | None:
    for length in range(len(text) // 2, 0, -1):
        for start in range(len(text) - 2 * length + 1):
            piece = text[start : start + length]
            if text.find(piece, start + length) >= 0:
                return piece, start, text.count(piece)
    return None


def test_the_longest_repeat_is_that_of_the_definition() -> None:
    draw = random.Random(5)
    for _ in range(3000):
        letters = "aé😀"[: draw.choice([1, 2, 3])]
        text = "".join(draw.choice(letters) for _ in range(draw.randint(0, 24)))
        expected = by_definition(text)
        assert longest_repeat(text) == (expected and Repeat(*expected)), text


def test_a_very_long_text_is_searched_in_part_and_in_time() -> None:
    start = time.process_time()
    found = looping(PARAGRAPH * 6000)
    assert time.process_time() - start < 10
    assert found.detail is not None
    assert found.detail["searched_characters"] == 20_000
    assert found.scores["unique_sentences"] == 1 / 6000


def test_unusable_parameters() -> None:
    with pytest.raises(BadParameters, match="min_repeat must be at least 1"):
        build("looping_detection", {"min_repeat": 0})
    with pytest.raises(BadParameters, match="expected a code such as"):
        build("looping_detection", {"language": "English"})
