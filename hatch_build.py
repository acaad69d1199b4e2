"""Build hooks: the wheel holds one import package, `scoreline`, and a README with absolute links.

In the repository `orchestration`, `assets`, `evaluators`, `systems`, `calls`, `warehouse` and
`records` are packages of their own, so that editors, type checkers and people find a module by its
path. In site-packages such names would collide with those of other projects. While the wheel is
built, they therefore move below `scoreline`, and every import moves with them, line for line.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PACKAGES = ("orchestration", "assets", "evaluators", "systems", "calls", "warehouse", "records")
IMPORT = re.compile(rf"^(\s*)from ({'|'.join(PACKAGES)})(?=[. ])", re.MULTILINE)


class RelocatePackages(BuildHookInterface[Any]):
    """Puts relocated copies of the packages into the wheel; an editable install is left alone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Copy the packages below `scoreline` and rewrite their imports."""
        if version == "editable":
            return
        self._folder = Path(mkdtemp(prefix="scoreline-wheel-"))
        root, target = Path(self.root), self._folder / "scoreline"
        ignored = shutil.ignore_patterns("__pycache__", "*.py[co]")
        shutil.copytree(root / "scoreline", target, ignore=ignored)
        for package in PACKAGES:
            shutil.copytree(root / package, target / package, ignore=ignored)
        for file in target.rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            file.write_text(IMPORT.sub(r"\1from scoreline.\2", text), encoding="utf-8")
        build_data["force_include"][str(target)] = "scoreline"

    def finalize(self, version: str, _data: dict[str, Any], _path: str) -> None:
        """Remove the copies."""
        if version != "editable":
            shutil.rmtree(self._folder)


# An inline link or image whose target is neither absolute nor a heading of the same page.
RELATIVE_LINK = re.compile(r"(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)\s]+)\)")


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

    return RELATIVE_LINK.sub(absolute, text)
