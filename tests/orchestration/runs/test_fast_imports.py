"""A run defers what it does not use, and only while it starts."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from orchestration.runs.fast_imports import collect_garbage, fast_imports

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[3]

STARTS = """
import sys, types
from orchestration.runs.fast_imports import DEFERRED, fast_imports

with fast_imports():
    import dagster._core.storage.sqlite_storage
    import scipy.special

loaded = [name for name in sorted(DEFERRED) if type(sys.modules[name]) is types.ModuleType]
print(*loaded or ["none"])
import numpy.f2py
import alembic.ddl.postgresql
print(callable(numpy.f2py.run_main), alembic.ddl.postgresql.PostgresqlImpl.__dialect__)
"""


def test_unused_modules_are_found_but_not_loaded_until_they_are_used() -> None:
    # All of them are imported by Dagster or SciPy, or there would be no reason to defer them.
    done = subprocess.run(
        [sys.executable, "-c", STARTS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["none", "True postgresql"], done.stderr


def test_nothing_of_it_remains() -> None:
    before = list(sys.meta_path), gc.get_threshold()
    with fast_imports():
        assert not gc.isenabled()
        assert sys.meta_path[0].find_spec("json.tool", None) is None
    assert gc.isenabled()
    assert (sys.meta_path, gc.get_threshold()) == before


def test_garbage_is_collected_from_the_first_step_on(monkeypatch: pytest.MonkeyPatch) -> None:
    threshold = gc.get_threshold()
    frozen: list[None] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(None))
    collect_garbage()
    assert not frozen, "a program that calls `scoreline.run` keeps its own settings"
    try:
        with fast_imports():
            collect_garbage()
            assert gc.isenabled()
        assert frozen == [None]
    finally:
        gc.set_threshold(*threshold)
