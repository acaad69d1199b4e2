"""JavaScript's regular expressions find in Python what they find in JavaScript.

Expected values are those of `new RegExp(pattern).test(text)` in Node.js 20.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from warehouse.formats.promptfoo_assertions import read_assertions
from warehouse.formats.promptfoo_patterns import UntranslatableError, python_pattern


@pytest.mark.parametrize(
    ("pattern", "found", "missed"),
    [
        (r"^abc\d+$", ["abc12"], ["abc12\n", "abc\u0663"]),
        (r"a$|b$", ["xa", "b"], ["a\n", "b\n"]),
        (r"\$5", ["$5"], ["5"]),
        ("[$]$", ["$"], ["$\n"]),
        (r"^\w+$", ["abc_1"], ["é", "\u0663"]),
        (r"\W", ["é", " "], ["a"]),
        (r"\bno\b", ["éno", "no."], ["nob"]),
        (r"\B", ["", "ab"], ["a"]),
        (r"^\s$", [" ", "\ufeff", "\u2028"], ["\x1c", "\x85"]),
        (r"^\S$", ["\x85"], ["\ufeff"]),
        ("^a.b$", ["a b", "a\x85b"], ["a\nb", "a\rb", "a\u2028b"]),
        (r"^a[\s\S]b$", ["a\nb", "a b"], ["ab"]),
        (r"^[^\W_]+$", ["aZ9"], ["_", "é"]),
        (r"^[\w-.]+$", ["a-b.c"], ["a b"]),
        (r"^[\d-x]$", ["-", "x", "7"], ["a"]),
        (r"^(?<year>\d{4})-\k<year>$", ["2020-2020"], ["2020-2021"]),
        (r"^(a)?b\1c$", ["bc", "abac"], ["abc"]),
        (r"https?:\/\/x", ["http://x"], ["http:x"]),
        (r"^\u0061\x2e$", ["a."], ["ab"]),
        (r"^\u{3}$", ["uuu"], ["\x03"]),  # without the flag `u`
        (r"^\p{L}$", ["p{L}"], ["a"]),
        (r"^\A\Z\a$", ["AZa"], ["", "\a"]),
        ("^a{,2}$", ["a{,2}"], ["a", "aa"]),
        ("a[]", [], ["a", "a[]"]),
        ("^[^]$", ["\n"], [""]),
        ("[[a]", ["[", "a"], ["]"]),
        ("^[a&&b]$", ["&", "b"], ["c"]),
        ("(?<!a)b", ["b", "cb"], ["ab"]),
        ("}]", ["}]"], ["}"]),
    ],
)
def test_a_pattern_finds_the_same(pattern: str, found: list[str], missed: list[str]) -> None:
    translated = re.compile(python_pattern(pattern))
    assert [each for each in [*found, *missed] if translated.search(each)] == found


@pytest.mark.parametrize(
    "pattern",
    [
        "(?P<name>a)",  # Python's, not JavaScript's
        "(?i)a",
        "(?>a)",
        "(?#a)",
        "a++",
        "*",
        "{2}",
        "^*",
        "a)",
        "[a",
        "a\\",
        r"\1",  # an octal escape
        r"\cA",
        r"(?<n>a)\k",
        "(?<=a+)b",  # JavaScript's, not Python's
        "^[\U0001f600]$",
        r"\ud83d",
    ],
)
def test_what_has_no_counterpart_stays_an_assertion(pattern: str) -> None:
    with pytest.raises(UntranslatableError):
        python_pattern(pattern)
    assertion: dict[str, Any] = {"type": "regex", "value": pattern}
    found = read_assertions({"assert": [assertion]}, {})
    assert (found.constraints, found.others) == ([], [assertion])


def test_a_plain_pattern_stays_as_it_is() -> None:
    for each in ("crow|raven", r"a\.b", "^(?:a|b)+?c{2,3}", "[a-z0-9]*"):
        assert python_pattern(each) == each
