"""JavaScript's regular expressions, as promptfoo runs them without flags, in Python's syntax."""

from __future__ import annotations

import re
from typing import Final

SPACES: Final = r"\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
SETS: Final = {"d": "0-9", "w": "A-Za-z0-9_", "s": SPACES}
"""What stands for the members of `\\d`, `\\w` and `\\s` within a class."""

ANY: Final = r"[^\n\r\u2028\u2029]"
"""What a dot stands for."""

SAME: Final = {"$": r"\Z", ".": ANY, "^": "^", "|": "|", ")": ")"}
"""Python's counterparts of the characters with a meaning of their own."""

CONTROLS: Final = {"t": r"\t", "n": r"\n", "v": r"\v", "f": r"\f", "r": r"\r"}

_QUANTIFIER: Final = re.compile(r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??")
_GROUP: Final = re.compile(r"\((?:\?(?:[:=!]|<[=!]|<([A-Za-z_]\w*)>))?", re.ASCII)
_NAMED: Final = re.compile(r"\(\?<[A-Za-z_]")
_HEX: Final = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})")
_REFERENCE: Final = re.compile(r"([1-9][0-9]*)")
_NAME: Final = re.compile(r"k<([A-Za-z_]\w*)>", re.ASCII)
_PLAIN: Final = re.compile(r"[^\\^$.*+?()\[\]{}|]")
_SPECIAL: Final = frozenset(r"\[]^-&~|")
"""The characters that are escaped within a class."""


class UntranslatableError(ValueError):
    """A pattern that is not one of JavaScript's, or has no counterpart in Python."""


def python_pattern(pattern: str) -> str:
    r"""Return Python's pattern for one of JavaScript's without flags.

    In JavaScript, `$` matches at the very end only; `\d`, `\w` and `\b` know ASCII only, `\s` and
    the dot other characters than in Python; a group that took no part matches nothing.

    Raises:
        UntranslatableError: There is none.
    """
    translated = _Translation(pattern).whole()
    try:
        re.compile(translated)
    except (re.error, OverflowError, RecursionError) as error:
        raise UntranslatableError(str(error)) from None
    return translated


class _Translation:
    """A pattern, and how far it is translated."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.place = 0
        self.has_names = _NAMED.search(pattern) is not None
        # Characters beyond the first 65,536 are two of JavaScript's.
        if any(ord(each) > 0xFFFF or 0xD800 <= ord(each) <= 0xDFFF for each in pattern):  # noqa: PLR2004
            raise UntranslatableError("a character that is two in JavaScript")

    def whole(self) -> str:
        """Return the whole pattern in Python's syntax."""
        parts: list[str] = []
        may_repeat = False
        while self.place < len(self.pattern):
            quantifier = self._match(_QUANTIFIER)
            if quantifier is not None:
                if not may_repeat:
                    raise UntranslatableError("nothing to repeat")
                parts.append(quantifier[0])
                may_repeat = False
                continue
            before = self.pattern[self.place]
            parts.append(self._part())
            may_repeat = before not in "(|^$" and not parts[-1].startswith("(?a:")
        return "".join(parts)

    def _match(self, wanted: re.Pattern[str]) -> re.Match[str] | None:
        found = wanted.match(self.pattern, self.place)
        if found is not None:
            self.place = found.end()
        return found

    def _next(self) -> str:
        if self.place == len(self.pattern):
            raise UntranslatableError("the pattern ends early")
        self.place += 1
        return self.pattern[self.place - 1]

    def _part(self) -> str:
        """Return the next part that is not a quantifier."""
        plain = self._match(_PLAIN)
        if plain is not None:
            return plain[0]
        group = self._match(_GROUP)
        if group is not None:
            if group[0] == "(" and self.pattern.startswith("?", self.place):
                raise UntranslatableError("a group that one of them does not know")
            return f"(?P<{group[1]}>" if group[1] else group[0]
        character = self._next()
        if character == "\\":
            return self._escape()
        if character == "[":
            return self._class()
        return SAME.get(character) or re.escape(character)

    def _escape(self) -> str:
        """Return an escape outside of a class."""
        reference = self._match(_REFERENCE)
        if reference is not None:
            return f"(?({reference[1]})\\{reference[1]})"
        if self.has_names and self.pattern.startswith("k", self.place):
            name = self._match(_NAME)
            if name is None:
                raise UntranslatableError("a reference without a name")
            return f"(?({name[1]})(?P={name[1]}))"
        following = self.pattern[self.place : self.place + 1]
        if following in {"b", "B"}:
            self.place += 1
            # Python's `\B` does not match an empty text.
            return r"(?a:\b)" if following == "b" else r"(?a:(?!\b))"
        found = self._character()
        if _is_set(found):
            return f"[{found}]"
        return re.escape(found) if len(found) == 1 else found

    def _character(self) -> str:
        """Return an escaped character, as itself or an escape, or the members of a set.

        The complement of a set begins with `^`.
        """
        digits = self._match(_HEX)
        if digits is not None:
            return _escaped(int(digits[1] or digits[2], 16))
        letter = self._next()
        if letter.lower() in SETS:
            return ("^" if letter.isupper() else "") + SETS[letter.lower()]
        if letter in CONTROLS:
            return CONTROLS[letter]
        if letter in "c0123456789" or (letter == "k" and self.has_names):
            if letter == "0" and not self.pattern[self.place : self.place + 1].isdecimal():
                return r"\x00"
            raise UntranslatableError(f"the escape \\{letter}")
        return letter

    def _class(self) -> str:
        """Return a class; one with complements of sets becomes alternatives."""
        is_negated = self.pattern.startswith("^", self.place)
        self.place += is_negated
        members: list[str] = []
        complements: list[str] = []
        while not self.pattern.startswith("]", self.place):
            given = [self._member()]
            rest = self.pattern[self.place : self.place + 2]
            if rest.startswith("-") and rest != "-]":
                self.place += 1
                given.append(self._member())
                if not any(map(_is_set, given)):
                    members.append("-".join(map(_member_text, given)))
                    continue
                members.append(r"\-")  # a set is no end of a range
            for each in given:
                is_complement = _is_set(each) and each.startswith("^")
                (complements if is_complement else members).append(
                    f"[{each}]" if is_complement else _member_text(each)
                )
        self.place += 1
        return _class_of(members, complements, is_negated=is_negated)

    def _member(self) -> str:
        character = self._next()
        if character != "\\":
            return character
        if self.pattern.startswith("b", self.place):
            self.place += 1
            return r"\x08"
        return self._character()


def _escaped(code: int) -> str:
    if 0xD800 <= code <= 0xDFFF:  # noqa: PLR2004
        raise UntranslatableError("a character that is two in JavaScript")
    if 0x20 <= code < 0x7F:  # noqa: PLR2004
        return chr(code)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004


def _is_set(member: str) -> bool:
    return member.removeprefix("^") in SETS.values()


def _member_text(member: str) -> str:
    return f"\\{member}" if member in _SPECIAL else member


def _class_of(members: list[str], complements: list[str], *, is_negated: bool) -> str:
    if not complements:
        if not members:
            return r"[\s\S]" if is_negated else r"(?!)"
        return f"[{'^' * is_negated}{''.join(members)}]"
    if not members and len(complements) == 1:
        return complements[0].replace("[^", "[") if is_negated else complements[0]
    listed = [f"[{''.join(members)}]"] if members else []
    either = "|".join([*listed, *complements])
    return rf"(?:(?!{either})[\s\S])" if is_negated else f"(?:{either})"
