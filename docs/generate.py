"""The generated pages: written from what the code declares, or checked to be what it declares.

`python -m docs.generate` writes them beside this file; with `--check` it writes nothing and ends
with 1 when one of them is stale.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docs.generators import configuration, evaluators, formats, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HERE = Path(__file__).parent

PAGES: dict[str, Callable[[str], str]] = {
    "configuration.md": lambda _: configuration.markdown(),
    "evaluators.md": lambda _: evaluators.markdown(),
    "formats.md": formats.renewed,
    "warehouse-schema.md": lambda _: tables.markdown(),
}
"""What each page is to be, given what it is."""


def stale(folder: Path) -> dict[str, str]:
    """The pages of a folder that are not as they are to be, with what they are to be."""
    found = {}
    for name, made in PAGES.items():
        page = folder / name
        before = page.read_text(encoding="utf-8") if page.is_file() else ""
        after = made(before)
        if after != before:
            found[name] = after
    return found


def main(arguments: Sequence[str], folder: Path = HERE) -> int:
    """Write the pages, or check them with `--check`."""
    found = stale(folder)
    if "--check" in arguments:
        for name in found:
            sys.stderr.write(f"docs/{name} is stale: run `make docs`\n")
        return int(bool(found))
    for name, text in found.items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
