"""What importing a module may load: looked up in `sys.modules` of a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = frozenset(
    tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"][
        "flake8-tidy-imports"
    ]["banned-module-level-imports"]
)

BANNED = {
    "evaluators.catalog": HEAVY | {"dagster", "duckdb", "sqlalchemy", "warehouse", "assets"},
    "evaluators.scoring": HEAVY | {"dagster", "duckdb", "pandas", "pyarrow"},
    "warehouse.store": HEAVY | {"dagster", "evaluators", "assets", "pandas", "sqlalchemy"},
    "assets.project": HEAVY | {"duckdb", "orchestration"},
    "orchestration.definitions": HEAVY,
    "orchestration.cli": HEAVY | {"dagster", "duckdb", "polars", "assets"},
    # `--help` imports every command.
    "orchestration.cli.commands.generate": HEAVY | {"dagster", "polars", "pydantic", "assets"},
}


def loaded_by(module: str) -> set[str]:
    """The top-level packages that are loaded once `module` has been imported."""
    program = f"import json, sys, {module}; print(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


@pytest.mark.parametrize("module", BANNED)
def test_importing_it_loads_nothing_heavy(module: str) -> None:
    assert loaded_by(module) & BANNED[module] == set()


def test_what_is_loaded_is_seen() -> None:
    assert "sqlite3" in loaded_by("sqlite3.dbapi2")
