"""The guide for those who come from other tools: its configurations are valid, its names exist."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from evaluators import catalog
from orchestration.config import load
from tests.support.documents import text
from warehouse.formats.catalog import formats

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [f"docs/{name}.md" for name in ("migration", "dagster", "numbers", "concepts", "trust")]
METRICS = {
    f"{name}.{metric.name}"
    for name in catalog.catalogue()
    for metric in catalog.build(name).measured()
}
CONFIGURATIONS = re.findall(r"```yaml\n(benchmarks:.*?)```", text("docs/migration.md"), re.DOTALL)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_configurations_are_valid(configuration: str, tmp_path: Path) -> None:
    file = tmp_path / "scoreline.yaml"
    file.write_text(configuration, encoding="utf-8")
    # One of them has a benchmark for each split.
    expected = 3 if "<<:" in configuration else 1
    assert len(load.load_config(file).project.benchmarks) == expected


def test_there_are_configurations() -> None:
    assert len(CONFIGURATIONS) == 3


@pytest.mark.parametrize("page", PAGES)
def test_metrics_that_are_named_exist(page: str) -> None:
    names = "|".join(catalog.catalogue())
    named = set(re.findall(rf"`((?:{names})\.[a-z]\w*)`", text(page)))
    assert named <= METRICS, named - METRICS


def test_short_names_belong_to_the_evaluator_before_them() -> None:
    for cell in re.findall(r"\| (`\w+\.\w+`(?:, `\.\w+`)+)", text("docs/migration.md")):
        first, *others = re.findall(r"`([\w.]+)`", cell)
        evaluator = first.partition(".")[0]
        assert {f"{evaluator}{other}" for other in others} <= METRICS


def test_every_format_of_another_tool_is_there() -> None:
    page = text("docs/migration.md")
    own = {"canonical", "trec"}
    assert all(f"`{name}`" in page for name in formats() if name not in own)
