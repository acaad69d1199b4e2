"""A new field takes its declaration and a migration; everything else follows from them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import new_fields
from tests.support.new_fields import ANSWER, LOOKUPS
from tests.support.services import takes_minutes

pytestmark = takes_minutes

ROOT = Path(__file__).parents[1]
PACKAGES = ("scoreline", "orchestration", "assets", "evaluators", "warehouse", "records")

RECORD = '''class Lookup(Record):
    """One look-up before an answer."""

    tool: Name = fields.answer("The tool.", ...)
    hits: Annotated[Integer, Field(ge=0, le=10**6)] | None = fields.answer("What it found.")
    terms: list[str] | None = fields.answer("The terms.")


class Prediction(Record):
'''
FIELDS = """    confidence: Probability | None = fields.answer("How sure the system is.")
    lookups: list[Lookup] | None = fields.answer("The look-ups before the answer.")
    plans: list[Lookup] | None = fields.answer("Those it planned.", stored="JSON")
    extra: dict[str, Any] | None = fields.measured("""
MIGRATION = """-- Look-ups.
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS confidence DOUBLE;
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS
    lookups STRUCT(tool VARCHAR, hits INTEGER, terms VARCHAR[])[];
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS plans JSON;
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the program shows with a copy of the packages that declares two more fields."""
    tree = tmp_path_factory.mktemp("tree")
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tree / package, ignore=ignored)
    declared = tree / "records" / "prediction.py"
    text = declared.read_text(encoding="utf-8")
    text = text.replace("class Prediction(Record):\n", RECORD)
    text = text.replace("    extra: dict[str, Any] | None = fields.measured(", FIELDS)
    declared.write_text(text, encoding="utf-8")
    migrations = tree / "warehouse" / "schema" / "migrations"
    number = 1 + max(int(each.name[:4]) for each in migrations.glob("*.sql"))
    (migrations / f"{number:04}_lookups.sql").write_text(MIGRATION, encoding="utf-8")
    project = tmp_path_factory.mktemp("project")
    done = subprocess.run(
        # Without the folder of the program, in which there are packages of the same names.
        [sys.executable, "-P", Path(new_fields.__file__)],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(tree), "XDG_CACHE_HOME": str(project / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return shown


def test_the_fast_path_reads_them(found: dict[str, Any]) -> None:
    assert found["fast"]


def test_sql_shows_them_of_every_source(found: dict[str, Any]) -> None:
    whole = [{"tool": "search", "hits": 3, "terms": ["boat"]}]
    whole.append({"tool": "open", "hits": 1, "terms": None})
    sources = [("lines", "a"), ("lines", "asked"), ("rows", "a")]
    assert [(row["benchmark"], row["system"]) for row in found["sql"]] == sources
    for row in found["sql"]:
        assert row["confidence"] == ANSWER["confidence"]
        lookups = row["lookups"]
        assert (json.loads(lookups) if isinstance(lookups, str) else lookups) == whole
        assert row["n_lookups"] == len(LOOKUPS) * row["n"]


def test_a_metric_of_ones_own_takes_them(found: dict[str, Any]) -> None:
    assert found["evaluate"] == [ANSWER["confidence"]] * 3


def test_exports_hold_them(found: dict[str, Any]) -> None:
    assert found["export"]["confidence"] == ANSWER["confidence"]
    assert [each["tool"] for each in found["export"]["lookups"]] == ["search", "open"]
    assert found["parquet"] == [ANSWER["confidence"]] * 6


def test_the_report_shows_them(found: dict[str, Any]) -> None:
    assert found["report"] == ["Confidence", "Lookups"]
