"""Texts that come from outside: shown without hidden characters, and names that look alike.

A direction control can show a verdict in reverse, and a character without width makes two names of
one. Everything that people read is written by `show_hidden`: tables, sentences, pages, messages.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Controls (but for the ends of lines and tabs), direction controls, characters without width or
# ink, halves of surrogate pairs, private use, and tags. Joiners and variation selectors are hidden
# only where they join nothing: Persian, Hindi and emoji need them.
_INVISIBLE = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\uf8ff\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff"
)
_JOINERS = "\u200c\u200d\ufe00-\ufe0f"
_JOINED = "[^\x00-\x7f\u200c\u200d]"
HIDDEN = re.compile(
    f"[{_INVISIBLE}]|(?<![^\x00-\x22\x24-\x29\x2b-\x2f\x3a-\x7f])[{_JOINERS}]"
    f"|[\u200c\u200d](?!{_JOINED})"
)
"""The characters that `show_hidden` writes as escapes."""

_ISOLATED = re.compile(f"\u2068([^\u2066-\u2069]*)\u2069|{HIDDEN.pattern}")
_UNSEEN = re.compile(rf"[\s{_INVISIBLE}{_JOINERS}]")
_LONGEST = 1000


def show_hidden(text: str) -> str:
    """Return a text with escapes in place of characters that cannot be seen.

    Ends of lines and tabs stay.
    """
    return HIDDEN.sub(_escape, text)


def show_hidden_isolated(text: str, before: str = "") -> str:
    """Return the text of a page: as `show_hidden`, but U+2068 to U+2069 around a name stay.

    Pages put these around names, so that no name changes the direction of the sentence around it.

    Args:
        text: The text.
        before: What stands before each escape, such as the backslash that JSON needs.
    """

    def shown(found: re.Match[str]) -> str:
        if found[1] is None:
            return before + _escape(found)
        inner = HIDDEN.sub(lambda hidden: before + _escape(hidden), found[1])
        return f"\u2068{inner}\u2069"

    return _ISOLATED.sub(shown, text)


def show_hidden_line(text: str) -> str:
    """Return a text on one line: ends of lines and tabs are escapes, too."""
    shown = show_hidden(text)
    for character, escape in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        shown = shown.replace(character, escape)
    return shown


def _escape(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape", "surrogatepass").decode()


def appearance(name: str) -> str:
    """Return what readers see of a name: without case, spaces, hidden characters and composition.

    Names with one appearance are easily mistaken for each other.
    """
    if name.isascii() and name.isprintable():
        return "".join(name.lower().split())
    # Normalising takes the square of a run of marks.
    begin, rest = name[:_LONGEST], name[_LONGEST:]
    plain = _UNSEEN.sub("", unicodedata.normalize("NFC", begin)).casefold()
    return unicodedata.normalize("NFC", plain) + rest


def twin_of(name: str, known: Iterable[str]) -> str | None:
    """Return another known name with the same appearance; null if there is none."""
    wanted = appearance(name)
    return next((each for each in known if each != name and appearance(each) == wanted), None)


def describe_twins(names: Iterable[str]) -> str:
    """Return the sentence that says how names with one appearance are written."""
    written = " and ".join(map(ascii, names))
    return f"{written} differ only in case, spaces, composed letters or characters without width"
