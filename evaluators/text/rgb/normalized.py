"""The normalised rules: the sentences that the prompt asks for, after Unicode normalisation.

Texts are compared after NFKC normalisation, in lower case, with collapsed white space: a narrow
no-break space in a date or a ligature is not a mistake. A rejection or a detected error counts only
in the whole sentence that RGB's prompt dictates.

Source: the sentences of RGB's system prompt (Chen et al., AAAI 2024, figure 3). These rules
reproduce published results of RGB on current models.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from evaluators.text.normalization import normalize_unicode
from evaluators.text.words import compose

if TYPE_CHECKING:
    from collections.abc import Sequence

_REFUSAL = "i can not answer the question because of the insufficient information in documents"
_DETECTION = "there are factual errors in the provided documents"


def normalize(text: str) -> str:
    """Normalise to NFKC, lower the case, and collapse white space."""
    return " ".join(compose(normalize_unicode("NFKC", text).lower()).split())


_normal_spelling = lru_cache(maxsize=1 << 16)(normalize)


def is_refusal(reply: str) -> bool:
    """Return whether a normalised reply contains the rejection sentence; "cannot" is "can not"."""
    return _REFUSAL in reply.replace("cannot", "can not")


def reports_errors(reply: str) -> bool:
    """Return whether a normalised reply contains the sentence about factual errors."""
    return _DETECTION in reply


def is_correct(reply: str, parts: Sequence[Sequence[str]]) -> bool:
    """Return whether a normalised reply contains every part in one of its spellings.

    A spelling that is blank after normalisation matches no reply.
    """
    return bool(parts) and all(
        any(wanted and wanted in reply for wanted in map(_normal_spelling, spellings))
        for spellings in parts
    )
