"""Build hook: give the README absolute links, so that it also works on a package index."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# An inline link or image whose target is neither absolute nor a heading of the same page.
_RELATIVE = re.compile(r"(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)\s]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Fill in the field `readme` from README.md and the address of the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme`; `[project.urls] Repository` is the only place that names the address."""
        repository = metadata["urls"]["Repository"]
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_absolute_links(text, repository),
        }


def with_absolute_links(text: str, repository: str) -> str:
    """Return a Markdown page of the root folder with absolute links.

    Args:
        text: The page.
        repository: The address of the repository, such as `https://github.com/owner/name`.
    """

    def absolute(link: re.Match[str]) -> str:
        image, label, target = link.groups()
        view = "raw" if image else "blob"
        return f"{image}{label}({repository}/{view}/main/{target})"

    return _RELATIVE.sub(absolute, text)
