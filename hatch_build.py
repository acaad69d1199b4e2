"""Builds the wheel as one import package, `scoreline`.

In the repository `orchestration`, `assets`, `evaluators` and `warehouse` are packages of their own,
so that editors, type checkers and people find a module by its path. In site-packages such names
would collide with those of other projects. While the wheel is built, the four packages therefore
move below `scoreline`, and every import statement moves with them, line for line.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("orchestration", "assets", "evaluators", "warehouse")
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
