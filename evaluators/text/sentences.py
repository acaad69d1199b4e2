"""Sentences: the one place where a text is cut into them."""

from __future__ import annotations

import re

SPLITTER = "sentencex"
"""The distribution whose release decides where sentences end: for `Evaluator.libraries`."""

_SHORT = 10
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*")


def sentences(text: str, language: str = "en") -> list[str]:
    """Cut a text into sentences with sentencex, the splitter of the Wikimedia Foundation.

    Args:
        text: Any text.
        language: Its code (`en`, `de`, `zh`); sentencex falls back to rules that hold for most
            languages where it has none of its own.

    Returns:
        The sentences in their order, without the blanks around them; none of them is empty.
    """
    from sentencex import segment

    return [piece for part in segment(language, text) if (piece := part.strip())]


def long_sentences(text: str, language: str = "en") -> list[str]:
    """The sentences of more than ten characters: headings, numbers and "Yes." say too little."""
    return [sentence for sentence in sentences(text, language) if len(sentence) > _SHORT]


def comparable_sentences(text: str, language: str = "en") -> list[str]:
    """The sentences of more than ten characters; where there are none, the whole text as one."""
    whole = text.strip()
    return long_sentences(text, language) or ([whole] if whole else [])


def check_language(language: str) -> None:
    """Refuse what is no language code.

    Raises:
        ValueError: For anything but a code in lower case, such as `en` or `zh-hant`.
    """
    if not _LANGUAGE.fullmatch(language):
        raise ValueError(f"language: expected a code such as 'en' or 'zh', got {language!r}")
