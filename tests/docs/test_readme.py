"""The README promises what a clone can do, and its figures are those of the benchmarks page."""

from __future__ import annotations

import re
import tomllib

import pytest

from records.packages import EXTRAS
from tests.support.documents import text

README = text("README.md")
INDENTED = re.findall(r"(?m)(?:^    .*\n)+", README)


def section(name: str) -> str:
    """The text below a heading of the second level."""
    return README.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def test_the_first_commands_need_a_clone_and_nothing_else() -> None:
    commands = [line.split("#")[0].strip() for line in INDENTED[0].splitlines()]
    assert commands[:3] == ["make demo", "make test", "pip install ."]
    targets = set(re.findall(r"(?m)^([a-z]+):", text("Makefile")))
    assert {each.split()[1] for each in commands if each.startswith("make ")} <= targets


@pytest.mark.parametrize("page", ["README.md", "docs/quick-start.md"])
def test_no_index_is_promised(page: str) -> None:
    assert not re.findall(r"(?m)^ +pip install scoreline\b", text(page))


def test_figures_are_those_of_the_benchmarks_page() -> None:
    figures = re.findall(r"\d+\.\d+(?= s\b| times)", section("Speed"))
    assert len(figures) == 4
    benchmarks = text("docs/benchmarks.md")
    assert [each for each in figures if not re.search(rf"\b{re.escape(each)}\b", benchmarks)] == []


def test_every_extra_of_users_is_described() -> None:
    declared = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]
    named = set(
        re.findall(r"`(\w+)`", "\n".join(re.findall(r"(?m)^\| (.*?) \|", section("Install"))))
    )
    assert set(EXTRAS) <= named
    assert named - {"extra"} <= set(declared)
