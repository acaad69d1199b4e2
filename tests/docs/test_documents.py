"""Links and commands in the documentation work, and the README works on a package index."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click
import pytest

from evaluators import catalog
from hatch_build import with_absolute_links
from orchestration import starter
from orchestration.cli.program import program
from tests.support.command import scoreline
from tests.support.documents import ROOT, Command, blocks, commands, links, text
from tests.support.services import takes_minutes
from warehouse.formats.catalog import formats

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/*.md", "examples/*/*.md")
    for path in ROOT.glob(pattern)
)
NEVER_ENDING = frozenset({"annotate", "dev"})
NEEDS_MORE = frozenset({"robustness", "ask"})
"""Commands that need a judge, or systems, which the starter project does not have."""
CONTEXT = click.Context(program)
CHOICES = frozenset(program.list_commands(CONTEXT))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_point_to_files_and_headings(name: str) -> None:
    for link in links(name):
        path, _, heading = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), f"{name}: {link}"
        if heading:
            titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
            assert heading in slugs, f"{name}: {link}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_and_their_options_exist(name: str) -> None:
    for command in commands(name):
        _, chosen, *arguments = command.words
        found = program.get_command(CONTEXT, chosen)
        while isinstance(found, click.Group) and arguments:
            found = found.get_command(CONTEXT, arguments.pop(0))
        assert found is not None, command.words
        known = {option for parameter in found.params for option in parameter.opts}
        given = {word for word in arguments if word.startswith("--")}
        assert given <= known, command.words


@pytest.mark.parametrize("name", [n for n in DOCUMENTS if "adding-an-evaluator" not in n])
def test_files_of_the_packages_exist(name: str) -> None:
    packages = "assets|calls|evaluators|orchestration|records|systems|warehouse"
    paths = re.findall(rf"`((?:{packages})/[\w/.]+)`", text(name))
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_paths_in_the_architecture_exist() -> None:
    page = text("docs/architecture.md")
    tree = page.split("## The tree\n")[1].split("\n## ")[0]
    named, parents = [], dict[int, str]()
    for line in filter(None, tree.splitlines()):
        depth, name = (len(line) - len(line.lstrip())) // 2, line.split()[0]
        parents[depth] = parents.get(depth - 1, "") + name
        children = re.findall(r"\b((?:[a-z_]+/)+)", line.partition(name)[2])
        named += [parents[depth], *(parents[depth] + child for child in children)]
    assert len(named) > 50
    named += re.findall(r"`([\w<>/.]+(?:/|\.py|\.sql))`", page)
    patterns = [re.sub(r"<\w+>", "*", name) for name in named]
    assert [name for name in patterns if not list(ROOT.glob(name))] == []


def test_evaluators_in_the_readme_exist() -> None:
    # docs/evaluators.md is generated and complete, so a new evaluator needs no change here.
    rows = re.findall(r"(?m)^\| ([a-z]+) \| (`.*)$", text("README.md"))
    named = {family: set(re.findall(r"`(\w+)`", row)) for family, row in rows}
    assert named
    for family, evaluators in named.items():
        assert evaluators <= set(catalog.families()[family]), family


def test_every_format_is_documented() -> None:
    assert all(f in text("CHANGELOG.md") for f in formats())
    assert all(f"## {f}" in text("docs/formats.md") for f in formats())


def printed_by(folder: Path, command: Command) -> str:
    """Run a command in a process and return its standard output."""
    done = scoreline(folder, *command.words[1:])
    assert done.code == 0, f"{command.words}: {done.out}{done.err}"
    return done.out


@takes_minutes
def test_the_commands_of_the_quick_start_run(tmp_path: Path) -> None:
    printed: dict[str, str] = {}
    folder = tmp_path
    for command in commands("docs/quick-start.md"):
        chosen = command.words[1]
        if chosen in NEVER_ENDING:
            continue
        output = printed_by(folder, command)
        printed[" ".join(command.words[1:])] = output
        if chosen == "init":
            folder = tmp_path / command.words[2]
    assert {words.split(" ")[0] for words in printed} == CHOICES - NEVER_ENDING - NEEDS_MORE
    assert "harbour" in printed["run"]
    assert printed["leaderboard --metric citation.f1"].splitlines()[0] == "harbour"
    assert "document_retrieval" in printed["evaluators"]


@takes_minutes
def test_commands_of_the_other_pages_run_on_a_new_project(tmp_path: Path) -> None:
    starter.write_starter(tmp_path)
    file = tmp_path / "scoreline.yaml"
    written = file.read_text(encoding="utf-8")
    added = written.replace(
        "[document_retrieval, citations]", "[document_retrieval, citations, rouge]"
    )
    assert added != written
    file.write_text(added, encoding="utf-8")
    printed_by(tmp_path, Command(("scoreline", "run"), ()))
    run = [
        printed_by(tmp_path, command)
        for page in ("configuration", "dagster", "exports", "history", "operations", "test-sets")
        for command in commands(f"docs/{page}.md")
        if command.words[1] not in NEVER_ENDING
        # Nothing listens there; tests/orchestration/cli has a receiver and databases.
        and not {"--endpoint", "--to"} & set(command.words)
    ]
    assert len(run) > 8
    assert any("harbour.zip" in printed for printed in run)


def test_the_readme_starts_as_the_quick_start_does() -> None:
    quick = {command.words for command in commands("docs/quick-start.md")}
    own = [c for c in commands("README.md") if not c.printed]
    assert [command.words[1] for command in own] == ["init", "run"]
    assert {command.words for command in own} <= quick


def test_the_readme_of_the_package_has_absolute_links() -> None:
    page = with_absolute_links(text("README.md"), "https://example.org/o/n")
    linked = set(re.findall(r"\]\(([^)]+)\)", page))
    assert linked
    assert [link for link in linked if not link.startswith("https://")] == []
    assert "![Systems by benchmarks" in page
    assert "](https://example.org/o/n/raw/main/docs/screenshots/overview.png)" in page
    assert "[quick start](https://example.org/o/n/blob/main/docs/quick-start.md)" in page
    untouched = "[a](https://a.org), [b](mailto:b@c.org) and [c](#d)"
    assert with_absolute_links(untouched, "https://example.org/o/n") == untouched


def test_commands_are_found_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = """Words.

    scoreline init a     # a comment
    cd a

    $ scoreline sql "select 1
                     from b"
    one

    two
```
scoreline run \\
  --force
```

```python
scoreline = never
```
scoreline never
"""
    monkeypatch.setattr("tests.support.documents.ROOT", tmp_path)
    (tmp_path / "page.md").write_text(document, encoding="utf-8")
    assert list(commands("page.md")) == [
        Command(("scoreline", "init", "a"), ()),
        Command(("scoreline", "sql", f"select 1\n{' ' * 17}from b"), ("one", "two")),
        Command(("scoreline", "run", "--force"), ()),
    ]
    assert [len(block) for block in blocks("page.md")] == [8, 2]
