"""The scripts that draw charts are put together once for each user, where that is possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assets.charts.vega import vega_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _forgetful() -> Iterator[None]:
    vega_bundle.cache_clear()
    yield
    vega_bundle.cache_clear()


def test_scripts_are_kept_for_other_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = vega_bundle()
    (kept,) = (tmp_path / "scoreline").iterdir()
    assert kept.read_text(encoding="utf-8") == made
    kept.write_text("what was kept", encoding="utf-8")
    vega_bundle.cache_clear()
    assert vega_bundle() == "what was kept"


def test_scripts_are_made_where_nothing_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "vega-lite" in vega_bundle()


def test_scripts_are_made_for_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> None:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", unknown)
    assert "vega-lite" in vega_bundle()
