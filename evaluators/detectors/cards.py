"""Payment cards: digits with the prefix and length of an issuer and the right check digit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from evaluators.detectors.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

KIND = "credit_card"
HINT = r"[0-9](?:[ -]?[0-9]){12}"
"""A pattern (also valid in Rust) that every text with a card matches."""

_GROUP = r"(?<![A-Za-z0-9_])[0-9]++(?![A-Za-z0-9_])"
_RUN = re.compile(rf"{_GROUP}(?:[ -]{_GROUP})*+")
_DIGITS = re.compile(r"[0-9]+")
_SHORTEST, _LONGEST = 13, 19
_SMALLEST_GROUP, _LARGEST_GROUP = 3, 7
_MOST_GROUPS = _LONGEST // _SMALLEST_GROUP + 1


class Issuer(NamedTuple):
    """A card network: ranges of the first digits, and how many digits its numbers have."""

    name: str
    prefixes: tuple[tuple[str, str], ...]
    lengths: tuple[int, ...]


ISSUERS = (
    Issuer("visa", (("4", "4"),), (13, 16, 19)),
    Issuer("mastercard", (("51", "55"), ("2221", "2720")), (16,)),
    Issuer("amex", (("34", "34"), ("37", "37")), (15,)),
    Issuer("discover", (("6011", "6011"), ("644", "649"), ("65", "65")), (16, 17, 18, 19)),
    Issuer(
        "diners",
        (("300", "305"), ("3095", "3095"), ("36", "36"), ("38", "39")),
        (14, 15, 16, 17, 18, 19),
    ),
    Issuer("jcb", (("3528", "3589"),), (16, 17, 18, 19)),
    Issuer("unionpay", (("62", "62"), ("81", "81")), (16, 17, 18, 19)),
    Issuer("mir", (("2200", "2204"),), (16, 17, 18, 19)),
    Issuer(
        "maestro",
        (
            *((prefix, prefix) for prefix in ("5018", "5020", "5038", "5893", "6304", "6759")),
            ("6761", "6763"),
        ),
        (13, 14, 15, 16, 17, 18, 19),
    ),
)

EXAMPLES = frozenset(
    {
        "4111111111111111",
        "4242424242424242",
        "4012888888881881",
        "4000056655665556",
        "4222222222222",
        "4000000000000002",
        "5555555555554444",
        "5105105105105100",
        "5200828282828210",
        "2223003122003222",
        "378282246310005",
        "371449635398431",
        "378734493671000",
        "6011111111111117",
        "6011000990139424",
        "30569309025904",
        "38520000023237",
        "3530111333300000",
        "3566002020360505",
        "6200000000000005",
    }
)
"""Numbers that payment services publish for tests."""


def cards(text: str) -> Iterator[Finding]:
    """Find card numbers, written without or with single spaces or hyphens between groups.

    Of a run of groups, the longest series of groups that is a card counts. Every group but the last
    has 3 to 7 digits, unless there is only one.
    """
    for run in _RUN.finditer(text):
        groups = [
            (run.start() + group.start(), run.start() + group.end())
            for group in _DIGITS.finditer(run.group())
        ]
        yield from _in_groups(text, groups)


def issuer_of(digits: str) -> str | None:
    """Return the network of a card number, or None if it is not a valid card number."""
    from stdnum import luhn

    if not _SHORTEST <= len(digits) <= _LONGEST or len(set(digits)) == 1:
        return None
    for issuer in ISSUERS:
        for first, last in issuer.prefixes:
            if first <= digits[: len(first)] <= last and len(digits) in issuer.lengths:
                return issuer.name if luhn.is_valid(digits) else None
    return None


def _in_groups(text: str, groups: list[tuple[int, int]]) -> list[Finding]:
    found = []
    taken = [False] * len(groups)
    for size in range(min(len(groups), _MOST_GROUPS), 0, -1):
        for first in range(len(groups) - size + 1):
            if any(taken[first : first + size]):
                continue
            window = groups[first : first + size]
            parts = [text[start:end] for start, end in window]
            digits = "".join(parts)
            issuer = issuer_of(digits) if _well_grouped(parts) else None
            if issuer:
                taken[first : first + size] = [True] * size
                start, end = window[0][0], window[-1][1]
                found.append(Finding(KIND, start, end, digits, digits in EXAMPLES, issuer))
    return sorted(found, key=lambda finding: finding.start)


def _well_grouped(parts: list[str]) -> bool:
    if len(parts) == 1:
        return True
    sizes = [len(part) for part in parts]
    return max(sizes) <= _LARGEST_GROUP and min(sizes[:-1]) >= _SMALLEST_GROUP
