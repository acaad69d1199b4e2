"""`docs/scale-out.md`, followed word for word with the installed package and a real PostgreSQL.

Every block of commands and every block of configuration of the page belongs to one of the tests
below. Only addresses are others: those of this machine. What needs a container or a cluster is not
executed: its configuration is loaded, and the files that it names exist.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
import yaml

from orchestration import starter
from orchestration.config import load
from tests.faults.postgres import PASSWORD, Server, server
from tests.support.services import takes_longest, takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = takes_minutes

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "scale-out.md"
HEADING = re.compile(r"^#+ (.*)$")
BENCHMARKS = ("support-en", "support-de")
EXECUTED = {
    "Setup",
    "Several machines",
    "Copy a file to a lake, and back",
    "Backup",
    "Executors",
    "Dagster on PostgreSQL",
}
NEED_CONTAINERS = {"Docker Compose", "Kubernetes"}


@dataclass(frozen=True)
class Block:
    """A block of the page: commands, or YAML."""

    heading: str
    language: str
    text: str


def blocks() -> list[Block]:
    """The blocks of the page in their order: fenced ones, and indented ones, which are commands."""
    found: list[Block] = []
    collected: list[str] = []
    heading, fence = "", ""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("```"):
            if fence:
                found.append(Block(heading, fence, "\n".join(collected)))
            fence, collected = "" if fence else line.removeprefix("```"), []
        elif fence:
            collected.append(line)
        elif line.startswith("    "):
            collected.append(line[4:])
            if not following.startswith("    "):
                found.append(Block(heading, "sh", "\n".join(collected)))
                collected = []
        elif match := HEADING.match(line):
            heading = match[1]
    return found


def under(heading: str, language: str) -> list[str]:
    """The texts of a section's blocks."""
    return [each.text for each in blocks() if (each.heading, each.language) == (heading, language)]


@dataclass
class Reader:
    """A user who follows the page in a folder.

    Attributes:
        home: The folder of the project.
        postgres: The server that is called db.example.org on the page.
        wheel: The package.
        variables: The environment of the shell.
    """

    home: Path
    postgres: Server
    wheel: Path
    variables: dict[str, str] = field(default_factory=dict)

    def here(self, text: str) -> str:
        """A block with addresses of this machine."""
        secret = shlex.quote(PASSWORD)
        address = f"127.0.0.1 --port {self.postgres.port}"
        for said, meant in {
            "'scoreline[": f"'{self.wheel}[",
            "--host db.example.org": f"--host {address}",
            "host=db.example.org": f"host=127.0.0.1 port={self.postgres.port}",
            "PGHOST=db.example.org": f"PGHOST=127.0.0.1 PGPORT={self.postgres.port}",
            "db.example.org": "127.0.0.1",
            "/srv/scoreline": str(self.home.parent / "srv"),
            "https://github.com/scoreline/scoreline": str(ROOT),
            "PASSWORD=...": f"PASSWORD={secret}",
        }.items():
            text = text.replace(said, meant)
        return text

    def types(self, text: str) -> str:
        """Execute commands in a shell, which keeps its variables; returns what they print."""
        kept = self.home.parent / "variables"
        script = f"set -euo pipefail\n{self.here(text)}\nenv --null > {shlex.quote(str(kept))}"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.home,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        pairs = kept.read_text("utf-8").split("\0")
        self.variables = dict(each.split("=", 1) for each in pairs if "=" in each)
        return done.stdout

    def configures(self, text: str) -> None:
        """Write keys into `scoreline.yaml`."""
        file = self.home / "scoreline.yaml"
        document = yaml.safe_load(file.read_text("utf-8")) | yaml.safe_load(self.here(text))
        file.write_text(yaml.safe_dump(document, sort_keys=False), "utf-8")

    def published(self) -> list[Any]:
        """What the published copy says of each benchmark."""
        with duckdb.connect(self.home / "published" / "scoreline.duckdb", read_only=True) as copy:
            return copy.execute(
                "SELECT benchmark, system, evaluator, metric, mean FROM leaderboard "
                "WHERE slice = 'all' ORDER BY ALL"
            ).fetchall()

    def psql(self, database: str, query: str) -> str:
        """The result of a query in PostgreSQL."""
        return self.types(
            f"psql --host db.example.org --username scoreline --dbname {database} "
            f"--tuples-only --no-align --command {shlex.quote(query)}"
        ).strip()


def write_project(home: Path) -> None:
    """The starter project with its benchmark under the two names of the page."""
    starter.write_starter(home)
    file = home / "scoreline.yaml"
    document = yaml.safe_load(file.read_text("utf-8"))
    (given,) = document["benchmarks"].values()
    del document["warehouse"]
    document["benchmarks"] = dict.fromkeys(BENCHMARKS, given)
    file.write_text(yaml.safe_dump(document, sort_keys=False), "utf-8")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ["-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run([sys.executable, *build], cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment that holds what the package requires, but not the package."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    (ours,) = {Path(each) for each in sys.path if each.endswith("site-packages")}
    for each in ours.iterdir():
        is_own = each.name.startswith(("scoreline", "_editable", "_scoreline", "__editable"))
        if not is_own and not (site / each.name).exists():
            (site / each.name).symlink_to(each)
    return folder / "bin"


@pytest.fixture
def reader(tmp_path: Path, wheel: Path, programs: Path) -> Iterator[Reader]:
    """A user with a project in an otherwise empty folder, and a server without databases."""
    left = ("DAGSTER", "PYTHON", "SCORELINE", "PG", "VIRTUAL_ENV")
    variables = {key: value for key, value in os.environ.items() if not key.startswith(left)}
    found = shutil.which("git")
    assert found is not None
    variables |= {
        "PATH": f"{programs}:{os.environ['PATH']}",
        # Everything that is required is there; whatever is not, is a fault of the extras.
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        # What PostgreSQL's programs would ask for on a terminal.
        "PGPASSWORD": PASSWORD,
        "DAGSTER_DISABLE_TELEMETRY": "yes",
    }
    home = tmp_path / "project"
    write_project(home)
    with server() as postgres:
        yield Reader(home, postgres, wheel, variables)


def test_every_block_is_followed() -> None:
    assert {each.heading for each in blocks()} == EXECUTED | NEED_CONTAINERS
    assert {each.language for each in blocks()} == {"sh", "yaml"}


@takes_longest
@pytest.mark.timeout(900)
def test_a_lake_is_set_up_and_used_by_two_machines_and_backed_up(reader: Reader) -> None:
    prepare, check = under("Setup", "sh")
    reader.types(prepare)
    (lake,) = under("Setup", "yaml")
    reader.configures(lake)
    reader.types(check)
    expected = reader.published()
    assert {row[0] for row in expected} == set(BENCHMARKS)
    assert "ducklake_metadata" in reader.psql("scoreline", "SELECT tablename FROM pg_tables")

    (per_benchmark,) = under("Several machines", "yaml")
    reader.configures(per_benchmark)
    (commands,) = under("Several machines", "sh")
    machines = [line.partition("#")[0] for line in commands.splitlines()]
    assert [each.split()[-1] for each in machines] == list(BENCHMARKS)
    # Both at once, and both with something to do.
    reader.types(" & ".join(f"{each} --force" for each in machines) + " & wait -n && wait -n")
    assert reader.published() == expected

    (backup,) = under("Backup", "sh")
    reader.types(backup)
    with duckdb.connect(reader.home / "backup.duckdb", read_only=True) as copy:
        assert copy.execute("SELECT count(DISTINCT benchmark) FROM scores").fetchone() == (2,)


@takes_longest
@pytest.mark.timeout(900)
def test_a_file_is_copied_to_a_lake_and_dagster_moves_to_postgresql(reader: Reader) -> None:
    prepare, _ = under("Setup", "sh")
    reader.types(prepare)
    for each in under("Executors", "yaml"):
        reader.configures(each)
    reader.types("scoreline run")
    expected = reader.published()
    copy, run = under("Copy a file to a lake, and back", "sh")
    reader.types(copy)
    (lake,) = under("Setup", "yaml")
    reader.configures(lake)
    reader.types(run)
    assert reader.published() == expected

    (commands,) = under("Dagster on PostgreSQL", "sh")
    before, run = commands.rsplit("\n", maxsplit=1)
    assert run == "scoreline run"
    reader.types(before)
    settings = reader.home / ".scoreline" / "dagster" / "dagster.yaml"
    text = settings.read_text("utf-8")
    assert text.count("port: 5432") == 1
    settings.write_text(text.replace("5432", str(reader.postgres.port)), "utf-8")
    reader.types(f"{run} --force")
    assert reader.published() == expected
    assert reader.psql("dagster", "SELECT status, count(*) FROM runs GROUP BY status") == (
        "SUCCESS|1"
    )


def test_what_needs_containers_names_files_that_exist_and_keys_that_are_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCORELINE_DB_PASSWORD", PASSWORD)
    write_project(tmp_path)
    file = tmp_path / "scoreline.yaml"
    document = yaml.safe_load(file.read_text("utf-8"))
    for heading in NEED_CONTAINERS:
        for text in under(heading, "yaml"):
            file.write_text(yaml.safe_dump(document | yaml.safe_load(text)), "utf-8")
            load.load_config(file)
        for text in under(heading, "sh"):
            named = re.findall(r"--(?:file|kustomize) (\S+)", text)
            assert named
            for path in named:
                assert (ROOT / path).exists(), path
