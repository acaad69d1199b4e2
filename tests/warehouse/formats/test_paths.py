"""Patterns find files and the systems that their paths name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from warehouse.errors import InputError
from warehouse.formats.paths import expand

if TYPE_CHECKING:
    from pathlib import Path

FILES = ("a_out.json", "b.c_out.json", ".h_out.json", "q'x_out.json", "x/d_out.json", "x/y/e.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a_out.json", [("a_out.json", None)]),
        (
            "{system}_out.json",
            [
                (".h_out.json", ".h"),
                ("a_out.json", "a"),
                ("b.c_out.json", "b.c"),
                ("q'x_out.json", "q'x"),
            ],
        ),
        ("*/{system}_out.json", [("x/d_out.json", "d")]),
        ("{system}/d_out.json", [("x/d_out.json", "x")]),
        ("x/**/*.json", [("x/d_out.json", None), ("x/y/e.json", None)]),
        ("x/*.json", [("x/d_out.json", None)]),
    ],
)
def test_patterns(folder: Path, pattern: str, found: list[tuple[str, str | None]]) -> None:
    assert expand(folder / pattern) == [(folder / name, system) for name, system in found]


def test_of_alternatives_the_longest_that_matches_counts(tmp_path: Path) -> None:
    names = ("en_int_north", "en_int_p_2", "en_north", "zh_north")
    for name in names:
        (tmp_path / f"prediction_{name}_temp0.json").touch()
    found = expand(tmp_path / "prediction_{en,en_int}_{system}_temp0.json")
    assert [system for _, system in found] == ["north", "p_2", "north"]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("a_aut.json", "no such file; did you mean 'a_out.json'?"),
        ("none/{system}.json", "none/{system}.json: no file matches: there is no folder 'none'"),
        ("none/deep/a.json", "none/deep/a.json: no such file: there is no folder 'none'"),
        ("{system}.csv", "no file matches"),
    ],
)
def test_no_match_is_an_error_that_names_the_pattern(folder: Path, pattern: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        expand(folder / pattern)
    assert pattern in str(caught.value)
    assert said in str(caught.value)


def test_a_name_that_no_system_may_have(folder: Path) -> None:
    (folder / "a\tb_out.json").write_text("{}")
    with pytest.raises(InputError, match="contains a control character"):
        expand(folder / "{system}_out.json")


def test_a_folder_with_brackets_in_its_name(tmp_path: Path) -> None:
    odd = tmp_path / "a [b]"
    odd.mkdir()
    (odd / "s.json").write_text("{}")
    assert expand(odd / "{system}.json") == [(odd / "s.json", "s")]
