"""E-mail addresses, in ASCII and in any other script."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evaluators.detectors.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

KIND = "email"
HINT = "@"

_PUNYCODE = "[Xx][Nn]--[A-Za-z0-9-]{1,59}"
# The parts before and after the `@`. The search goes from `@` to `@` with a bounded look-behind,
# and a domain ends before the next `@`, so no text makes it slow.
_ASCII = (
    re.compile(r"(?<![A-Za-z0-9_%+])[A-Za-z0-9_%+][A-Za-z0-9_%+'-]*+(?:\.[A-Za-z0-9_%+'-]++)*+\Z"),
    re.compile(
        r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+"
        rf"(?:[A-Za-z]{{2,24}}|{_PUNYCODE})(?![A-Za-z0-9_])"
    ),
)
_UNICODE = (
    re.compile(r"(?<![\w%+])[\w%+][\w%+'-]*+(?:\.[\w%+'-]++)*+\Z"),
    re.compile(
        r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+"
        rf"(?:[^\W\d_]{{2,24}}|{_PUNYCODE})(?!\w)"
    ),
)
_LONGEST_LOCAL_PART = 128
_EXAMPLE_ENDINGS = frozenset({"example", "invalid", "test", "localhost"})
_EXAMPLE_DOMAINS = frozenset({"example.com", "example.net", "example.org", "example.edu"})
_CODE_HOSTS = frozenset({"git@github.com", "git@gitlab.com", "git@bitbucket.org"})


def emails(text: str) -> Iterator[Finding]:
    """Find addresses.

    An ASCII address may touch letters of other scripts; if there is none around an `@`, an address
    in any script is searched.
    """
    at = text.find(HINT)
    while at >= 0:
        for local_part, domain in (_ASCII, _UNICODE):
            behind = domain.match(text, at + 1)
            before = behind and local_part.search(text, max(0, at - _LONGEST_LOCAL_PART), at)
            if before and behind:
                address = text[before.start() : behind.end()]
                yield Finding(KIND, before.start(), behind.end(), address, is_example(address))
                break
        at = text.find(HINT, at + 1)


def is_example(address: str) -> bool:
    """Return whether an address has a domain reserved for examples, or is that of a code host."""
    address = address.lower()
    labels = address.rpartition("@")[2].rsplit(".", 2)
    reserved = labels[-1] in _EXAMPLE_ENDINGS or ".".join(labels[-2:]) in _EXAMPLE_DOMAINS
    return reserved or address in _CODE_HOSTS
