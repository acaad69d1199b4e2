"""A project works in a folder of any name, and writes nothing outside of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest
from click.testing import CliRunner

import scoreline
from orchestration import instance
from orchestration.cli.program import program
from orchestration.config.load import load_config
from tests.support.services import takes_longest, takes_minutes
from warehouse.formats.paths import expand
from warehouse.schema.quoting import scan_literal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = [
    "a?b",
    "a%41b",
    "back\\slash",
    "b\\s[x]?*",
    "[br]ackets",
    """:c'd"e""",
    "'single'",
    "a&b=c;d#e",
    "{system}",
]


TOGETHER = ["b\\s[x]?*%41", """:c'd"e&f=g;h#{system}"""]
"""Names with the characters of all others."""


def call(*arguments: str) -> str:
    result = CliRunner().invoke(program, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.filterwarnings("ignore:The ``noload``")
@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(name, marks=takes_minutes) for name in TOGETHER),
        *(pytest.param(name, marks=takes_longest) for name in NAMES),
    ],
)
def test_a_project_works_in_a_folder_of_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path / name / "project"
    call("init", str(folder))
    # What a pattern could take for the folder.
    other = tmp_path / name.replace("?", "x").replace("*", "y").replace("{system}", "z") / "project"
    if other != folder:
        call("init", str(other))
    before = {each for each in tmp_path.rglob("*") if folder not in each.parents}
    monkeypatch.chdir(folder)
    call("run")
    count = "SELECT count(*) AS n FROM scores"
    assert "240" in call("sql", count)
    assert scoreline.open("published").sql(count)["n"].item() == 240
    assert "index.html" in call("report")
    call("compare")
    call("run", "--force")
    for kind in ("archive", "parquet", "charts", "predictions", "opentelemetry", "mlflow"):
        call("export", "--as", kind, "--out", str(folder / "exported" / kind))
    assert "removed runs" in call("clean", "--older-than", "0", "--yes")
    project = load_config(folder / "scoreline.yaml").project
    with instance.open_instance(project) as opened:
        assert not opened.telemetry_enabled
    assert (folder / ".scoreline" / "dagster" / "history" / "runs.db").is_file()
    assert {each for each in tmp_path.rglob("*") if folder not in each.parents} == before


@pytest.mark.parametrize("name", NAMES)
def test_a_pattern_takes_existing_folders_as_they_are(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    for place in (folder, tmp_path / name.replace("?", "x").replace("*", "y")):
        place.mkdir(exist_ok=True)
        for system in ("north", "south"):
            (place / f"answers_{system}.jsonl").touch()
    assert expand(folder / "answers_{system}.jsonl") == [
        (folder / "answers_north.jsonl", "north"),
        (folder / "answers_south.jsonl", "south"),
    ]
    assert [path for path, _ in expand(folder / "answers_n*.jsonl")] == [
        folder / "answers_north.jsonl"
    ]


@pytest.mark.parametrize("name", [*NAMES, "year=2026"])
def test_duckdb_scans_a_file_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "rows.jsonl").write_text('{"a": 1}\n')
    with duckdb.connect() as connection:
        found = connection.execute(f"FROM {scan_literal('read_json', [folder / 'rows.jsonl'])}")
        assert [name for name, *_ in found.description or []] == ["a"]
        assert found.fetchall() == [(1,)]
