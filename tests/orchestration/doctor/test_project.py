"""`scoreline doctor` on a project: its diagnoses and advice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import duckdb
import pytest
from click.testing import CliRunner

from orchestration import starter
from orchestration.cli.program import program

if TYPE_CHECKING:
    from pathlib import Path


def doctor(folder: Path) -> tuple[int, dict[str, tuple[str, str]]]:
    config = str(folder / "scoreline.yaml")
    result = CliRunner().invoke(program, ["doctor", "--config", config, "--format", "json"])
    found = json.loads(result.stdout)
    return result.exit_code, {f["subject"]: (f["state"], f["message"]) for f in found}


def test_before_the_first_run(tmp_path: Path) -> None:
    starter.write_starter(tmp_path)
    code, found = doctor(tmp_path)
    assert code == 0
    assert found["harbour: predictions"] == ("ok", "2 files, systems keyword, reader")
    assert found["published copy"][0] == "warn"
    assert not (tmp_path / ".scoreline").exists()


def test_after_a_run(done_project: Path) -> None:
    code, found = doctor(done_project)
    assert code == 0
    assert {state for state, _ in found.values()} == {"ok"}
    assert found["warehouse"][1].endswith("12 predictions")
    assert found["Dagster instance"][1].endswith("1 runs")


@pytest.mark.parametrize(
    ("old", "new", "subject", "words"),
    [
        ("publish:", "publsh:", "configuration", ":6: unknown key 'publsh'"),
        ("data/questions", "data/qestions", "harbour: questions", "questions.jsonl"),
        ("# judge:\n#   model: x", "", "judge", "export NO_SUCH_KEY="),
    ],
)
def test_failures(
    tmp_path: Path, old: str, new: str, subject: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    starter.write_starter(tmp_path)
    config = tmp_path / "scoreline.yaml"
    text = config.read_text(encoding="utf-8")
    if subject == "judge":
        text += "\njudge: {model: some/model, api_key_env: NO_SUCH_KEY}\n"
    else:
        assert old in text
    config.write_text(text.replace(old, new, 1), encoding="utf-8")
    code, found = doctor(tmp_path)
    assert code == 1
    assert found[subject][0] == "fail"
    assert words in found[subject][1]


def test_warehouse_of_a_later_version(own_project: Path) -> None:
    with duckdb.connect(own_project / ".scoreline" / "warehouse.duckdb") as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema_version'")
    code, found = doctor(own_project)
    assert code == 1
    assert found["warehouse"][0] == "fail"
    assert "99" in found["warehouse"][1]
