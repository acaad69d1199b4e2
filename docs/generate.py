"""Write the generated pages of the documentation: `python -m docs.generate [--check]`.

With `--check` nothing is written, and the exit code is 1 if a page is stale.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docs.generators import configuration, evaluators, formats, simulations, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FOLDER = Path(__file__).parent

PAGES: dict[str, Callable[[str], str]] = {
    "configuration.md": lambda _: configuration.markdown(),
    "evaluators.md": lambda _: evaluators.markdown(),
    "formats.md": formats.update_page,
    "simulations.md": lambda _: simulations.markdown(),
    "warehouse-schema.md": lambda _: tables.markdown(),
}
"""Each page with the function that returns its new text, given the old one."""


def find_stale_pages(folder: Path) -> dict[str, str]:
    """Return the pages of a folder that are not up to date, with their new text."""
    found = {}
    for name, made in PAGES.items():
        page = folder / name
        before = page.read_text(encoding="utf-8") if page.is_file() else ""
        after = made(before)
        if after != before:
            found[name] = after
    return found


def main(arguments: Sequence[str], folder: Path = FOLDER) -> int:
    """Write the pages, or only check them with `--check`."""
    found = find_stale_pages(folder)
    if "--check" in arguments:
        for name in found:
            sys.stderr.write(f"docs/{name} is stale: run `make docs`\n")
        return int(bool(found))
    for name, text in found.items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
