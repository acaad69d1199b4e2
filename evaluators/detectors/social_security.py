"""Social security numbers of the United States."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evaluators.detectors.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

KIND = "us_ssn"
HINT = r"[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{4}"
"""A pattern (also valid in Rust) that every text with such a number matches."""

_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_])(?<![0-9][-.])"
    r"([0-9]{3})([ -]?)([0-9]{2})\2([0-9]{4})"
    r"(?![A-Za-z0-9_])(?![-.][0-9])"
)
_NAMED = re.compile(r"ssn|social security|soc sec", re.IGNORECASE)
_BEFORE = 40
_NEVER_ISSUED = ("000", "666")

EXAMPLES = frozenset(
    {
        "078051120",
        "219099999",
        "457555462",
        "123456789",
        "001245565",
        "012548785",
        "001231000",
    }
)
"""Numbers known from advertisements and manuals."""


def social_security_numbers(text: str) -> Iterator[Finding]:
    """Find numbers of the form 123-45-6789 or 123 45 6789 that could have been issued.

    Nine digits without separators count only if the 40 characters before name them. Source: POMS RM
    10201.035 of the Social Security Administration.
    """
    for match in _NUMBER.finditer(text):
        area, separator, group, serial = match.groups()
        digits = area + group + serial
        named = separator or _NAMED.search(text, max(0, match.start() - _BEFORE), match.start())
        if named and is_issuable(area, group, serial):
            example = digits in EXAMPLES or len(set(digits)) == 1
            yield Finding(KIND, match.start(), match.end(), digits, example)


def is_issuable(area: str, group: str, serial: str) -> bool:
    """Return whether a number with these parts could have been issued."""
    right_area = area not in _NEVER_ISSUED and not area.startswith("9")
    return right_area and group != "00" and serial != "0000"
