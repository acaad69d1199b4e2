"""Sentences: what sentencex makes of 45 texts, and the odd ones."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.text.sentences import check_language, sentences
from tests.support.golden_cases import golden


@pytest.mark.parametrize("case", golden("sentence_split")["cases"], ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    assert sentences(case["input"]["text"], case["input"]["language"]) == case["expected"]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u00a0", "\t\r\n"])
def test_blank_texts_have_no_sentence(text: str) -> None:
    assert sentences(text) == []


def test_no_letter_is_lost() -> None:
    text = "Dr. Wu came.  He sat!\n\n你好。再见。 (It was late.) Fine…\r\nZ̶a̶l̶g̶o̶ 👩‍👩‍👧 ends"
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


def test_the_language_decides() -> None:
    text = "Das kostet ca. 5 Euro. Gut."
    assert sentences(text, "de") == ["Das kostet ca. 5 Euro.", "Gut."]


@pytest.mark.parametrize("language", ["", "EN", "english!", "e", "de_AT"])
def test_what_is_no_language(language: str) -> None:
    with pytest.raises(ValueError, match="expected a code"):
        check_language(language)
