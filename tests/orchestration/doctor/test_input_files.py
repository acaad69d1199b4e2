"""`doctor` names each system of files once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from orchestration.cli.program import program
from orchestration.starter import write_starter

if TYPE_CHECKING:
    from pathlib import Path


def test_a_system_with_several_files_is_named_once(tmp_path: Path) -> None:
    write_starter(tmp_path)
    folder = tmp_path / "data"
    for old in folder.glob("predictions_*.jsonl"):
        lines = old.read_text("utf-8").splitlines(keepends=True)
        for part in range(2):
            own = folder / str(part) / old.name
            own.parent.mkdir(exist_ok=True)
            own.write_text("".join(lines[part::2]), "utf-8")
    file = tmp_path / "scoreline.yaml"
    text = file.read_text("utf-8")
    file.write_text(
        text.replace("data/predictions_{system}", "data/*/predictions_{system}"), "utf-8"
    )
    ended = CliRunner().invoke(program, ["doctor", "--config", str(file)])
    assert "4 files, systems keyword, reader\n" in ended.output
