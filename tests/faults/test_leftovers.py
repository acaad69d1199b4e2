"""Processes killed wherever they have temporary files: the next run, or `clean`, removes them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.faults.kill_at import ROOT
from tests.support.services import NIGHTLY, takes_longest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RUN = (
    "instance.py:_create",
    "duckdb_file.py:_create",
    "ingest.py:ingest",
    "refresh.py:_score_part",
    "store.py:fetch_to_disk",
    "snapshot.py:_publish",
    "vega.py:vega_bundle",
)
"""Places of `scoreline run`, in the order in which a run reaches them."""

OTHERS = {
    "dry_run.py:ingested_copy": ("plan",),
    "archive.py:write_archive": ("export", "--benchmark", "demo", "--as", "archive", "--out", "x"),
    "parquet.py:write_parquet": ("export", "--benchmark", "demo", "--as", "parquet", "--out", "x"),
    "copy.py:copy_tables": ("warehouse", "copy", "--to", "copy/warehouse.duckdb"),
}


def container(number: int) -> tuple[str, ...]:
    """What a command line begins with that runs with another host name and few process numbers.

    The process has the number 2 each time; number 1 cannot kill itself.
    """
    own = ("unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc")
    return (*own, "sh", "-c", f'hostname container-{number}; "$@"; exit $?', "sh")


class Home:
    """A project whose temporary and cached files have folders of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "demo"
        (folder / "tmp").mkdir()
        assert self.run("init", "demo", cwd=folder)[0] == 0

    def run(
        self,
        *arguments: str,
        kill: str | None = None,
        prefix: Sequence[str] = (),
        cwd: Path | None = None,
    ) -> tuple[int, str]:
        """Run a command, killed at a place; its exit code, and what it said.

        Args:
            arguments: The command and what it is given.
            kill: The place, `none` for none but to say which there are.
            prefix: What the command line begins with, such as `unshare`.
            cwd: Where it runs; the project unless given.
        """
        module = ["orchestration.cli"] if kill is None else ["tests.faults.kill_at", kill]
        done = subprocess.run(
            [*prefix, sys.executable, "-m", *module, *arguments],
            cwd=cwd or self.project,
            env={
                **{key: value for key, value in os.environ.items() if key != "DAGSTER_HOME"},
                "PYTHONPATH": str(ROOT),
                "TMPDIR": str(self.folder / "tmp"),
                "XDG_CACHE_HOME": str(self.folder / "cache"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def temporary(self) -> set[Path]:
        """All that is temporary, wherever it is."""
        return {
            each
            for each in self.folder.rglob("*")
            if each.name.startswith(".scoreline-") or each.parent == self.folder / "tmp"
        }

    def kill(self, place: str, *arguments: str, prefix: Sequence[str] = ()) -> set[Path]:
        """Kill a command at a place; what it left that was not there before."""
        before = self.temporary()
        code, said = self.run(*arguments, kill=place, prefix=prefix)
        assert code in (-signal.SIGKILL, 128 + signal.SIGKILL), (place, code, said)
        return self.temporary() - before


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@takes_longest
@pytest.mark.timeout(3600)
def test_every_run_removes_what_killed_ones_left(home: Home) -> None:
    left: set[Path] = set()
    for number, place in enumerate(RUN if NIGHTLY else RUN[-3:]):
        added = home.kill(place, "run", prefix=container(number))
        assert any(each.is_dir() for each in added), place
        assert not left & home.temporary(), place
        left = added
    code, said = home.run("run", kill="none")
    assert code == 0, said
    assert home.temporary() == set()
    # What is killed above are the places of a run, and an undisturbed one leaves nothing.
    (home.folder / "other").mkdir()
    other = Home(home.folder / "other")
    code, said = other.run("run", kill="none")
    places = {line.split()[1] for line in said.splitlines() if line.startswith("PLACE")}
    assert set(RUN) <= places
    assert other.temporary() == set()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("place", ["write.py:_write_benchmarks", "write.py:write_report"])
def test_a_run_after_one_that_died_before_its_report_writes_the_report(
    home: Home, place: str
) -> None:
    assert home.run("run")[0] == 0
    page = home.project / "published" / "index.html"
    before = page.read_bytes()
    answers = home.project / "data" / "predictions_keyword.jsonl"
    first, _, rest = answers.read_text(encoding="utf-8").partition("\n")
    row = json.loads(first) | {"answer": "Something else."}
    answers.write_text(json.dumps(row) + "\n" + rest, encoding="utf-8")

    home.kill(place, "run")
    assert page.read_bytes() == before
    code, said = home.run("run")
    assert code == 0, said
    assert "nothing has changed" not in said
    (folder,) = set(re.findall(r'href="(report/[^"]+)/index.html"', page.read_text("utf-8")))
    assert folder.encode() not in before
    assert (home.project / "published" / folder / "index.html").is_file()
    assert "nothing has changed" in home.run("run")[1]


@pytest.mark.timeout(3600)
@takes_longest
def test_clean_names_and_removes_what_killed_commands_left(home: Home) -> None:
    code, said = home.run("run")
    assert code == 0, said
    assert "temporary" not in home.run("clean")[1]
    name = next((home.project / "published" / "report").glob("*/")).name.rpartition("-")[0]
    for number, (place, arguments) in enumerate(OTHERS.items()):
        given = [name if each == "demo" else each for each in arguments]
        left = home.kill(place, *given, prefix=container(number))
        assert left, place
        if "--out" in given or "--to" in given:
            # Only this command knows the folder, so the next one removes what is there.
            again = [each.replace("warehouse.duckdb", "second.duckdb") for each in given]
            code, said = home.run(*again)
            assert code == 0, said
            folder = home.project / ("x" if "--out" in given else "copy")
            assert any(each.parent == folder for each in left), place
            assert not any(each.parent == folder for each in home.temporary()), place
            home.run("clean", "--yes")
            assert home.temporary() == set()
            continue
        listed = home.run("clean")[1]
        assert "temporary: " in listed
        assert str(home.folder / "tmp") in listed
        assert left <= home.temporary()
        assert "removed temporary: " in home.run("clean", "--yes")[1]
        assert home.temporary() == set()
        assert "temporary" not in home.run("clean")[1]
