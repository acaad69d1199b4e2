"""The notebook of the examples: it runs offline, and stands in the repository without outputs."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

from tests.support.documents import ROOT
from tests.support.handbook import OFFLINE
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "examples" / "compare-rag"
NAME = "compare_rag.ipynb"
VERSIONS = ("v1 words", "v2 rare words", "v3 stems")


def read(path: Path) -> Any:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    return notebook


def test_the_notebook_has_no_outputs() -> None:
    cells = [cell for cell in read(FOLDER / NAME).cells if cell.cell_type == "code"]
    assert 8 <= len(cells) <= 12
    assert [cell.source for cell in cells if cell.outputs or cell.execution_count] == []


@takes_minutes
def test_the_notebook_runs_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    folder = shutil.copytree(FOLDER, tmp_path / "compare-rag")
    for name, value in OFFLINE.items():
        monkeypatch.setenv(name, value)
    notebook = read(folder / NAME)
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=120, resources=resources).execute()
    outputs = {
        cell.source: [each.get("data", {}) or each for each in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    }

    def of(part: str) -> Any:
        (found,) = (each for source, each in outputs.items() if part in source)
        return found[-1]

    streams = [each["text"] for found in outputs.values() for each in found if "text" in each]
    assert streams == [of("results.gate")["text"]]

    html = of("rank_by=")["text/html"]
    assert [html.count(name) > 0 for name in VERSIONS] == [True] * 3
    # 3 of the 24 answers of version 3 cite a wrong sentence, 9 of version 1.
    assert re.search(r"<td[^>]*>0\.875", html)
    assert re.search(r"<td[^>]*>0\.625", html)
    assert "shape: (3, 3)" in of("wrong.join")["text/plain"]
    assert of("alt.Chart")["image/svg+xml"].startswith("<svg")
    assert "improved" in of("results.gate")["text"]
    assert "same_numbers" in of("@scoreline.metric")["text/html"]
    # Nothing is left beside it.
    assert {each.name for each in folder.iterdir()} == {each.name for each in FOLDER.iterdir()}
