"""Documents as the tests see them: blocks of code, the commands in these, and links."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"\]\(([^)\s]+)\)")


class Command(NamedTuple):
    """A command line of a document, and the lines that it is said to print."""

    words: tuple[str, ...]
    printed: tuple[str, ...]


def text(name: str) -> str:
    """A document by its path from the root of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def links(name: str) -> list[str]:
    """What a document links to, but for other sites."""
    return [link for link in _LINK.findall(text(name)) if "://" not in link]


def blocks(name: str) -> Iterator[list[str]]:
    """The indented blocks of a document, and the fenced ones without a language."""
    block: list[str] = []
    fence: str | None = None
    for line in [*text(name).splitlines(), "end"]:
        if fence is not None:
            if line == "```":
                if fence == "```":
                    yield block
                block, fence = [], None
            else:
                block.append(line)
        elif line.startswith("```"):
            if block:
                yield block
            block, fence = [], line
        elif line.startswith("    ") or (block and not line):
            block.append(line[4:])
        elif block:
            yield block
            block = []


def commands(name: str) -> Iterator[Command]:
    """Every line of a document's blocks that calls `scoreline`, in their order.

    A command goes on over lines while a quotation is open or a line ends with a backslash. The
    lines after one that begins with `$` are what it prints.
    """
    for block in blocks(name):
        lines = list(block)
        while lines:
            line = lines.pop(0)
            prompted = line.startswith("$ ")
            line = line.removeprefix("$ ")
            if not line.startswith("scoreline "):
                continue
            while (words := _words(line)) is None:
                line = f"{line.removesuffix(chr(92))}\n{lines.pop(0)}"
            printed: list[str] = []
            while prompted and lines and not lines[0].startswith("$ "):
                printed.append(lines.pop(0))
            yield Command(tuple(words), tuple(filter(None, printed)))


def _words(line: str) -> list[str] | None:
    if line.endswith("\\"):
        return None
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return None
