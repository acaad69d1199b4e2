"""The published copy is found from two keys of the configuration, and faults in them are told."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from orchestration.config.published_copy import find_copy
from orchestration.errors import SettingsError, SettingsNotFound
from orchestration.published import NotPublished

if TYPE_CHECKING:
    from pathlib import Path

BENCHMARK = """\
benchmarks:
  trial: {questions: q.jsonl, predictions: "{system}.jsonl", evaluators: [citation]}
"""


def write(folder: Path, text: str, *, published: str | None = "published") -> Path:
    file = folder / "scoreline.yaml"
    file.write_text(text)
    if published is not None:
        (folder / published).mkdir()
        (folder / published / "scoreline.duckdb").touch()
    return file


@pytest.mark.parametrize("key", ["", "publish: published\n", 'publish: " published "\n'])
def test_the_copy_is_in_the_configured_folder(tmp_path: Path, key: str) -> None:
    copy = find_copy(write(tmp_path, f"{key}memory_limit: 512MB\n{BENCHMARK}"))
    assert (copy.path, copy.memory_limit) == (tmp_path / "published" / "scoreline.duckdb", "512MB")


def test_faults_elsewhere_do_not_hide_what_is_published(tmp_path: Path) -> None:
    assert find_copy(write(tmp_path, "benchmarks: 1\n")).path.exists()


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ("publish: 3\n" + BENCHMARK, SettingsError, "publish"),
        ("memory_limit: much\n" + BENCHMARK, SettingsError, "memory_limit"),
        ("publish: elsewhere\n" + BENCHMARK, NotPublished, "scoreline run"),
        ("publsh: published\npublish: elsewhere\n" + BENCHMARK, SettingsError, "'publsh'"),
        ("", SettingsError, "is empty"),
    ],
)
def test_without_a_copy_the_whole_file_is_checked(
    tmp_path: Path, text: str, error: type[Exception], told: str
) -> None:
    published = None if not text else "published"
    with pytest.raises(error, match=told):
        find_copy(write(tmp_path, text, published=published))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsNotFound, match="does not exist"):
        find_copy(tmp_path / "scoreline.yaml")


def test_finding_the_copy_loads_no_frames(tmp_path: Path) -> None:
    file = write(tmp_path, BENCHMARK)
    code = (
        "import sys; from pathlib import Path; from orchestration.config import published_copy; "
        f"published_copy.find_copy(Path({str(file)!r})); "
        "sys.exit(', '.join({'polars', 'numpy', 'pandas', 'dagster'} & sys.modules.keys()) or 0)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
