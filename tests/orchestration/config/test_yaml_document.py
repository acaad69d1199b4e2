"""Reading YAML: values with their lines, and faults with their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestration.config.yaml_document import read_document
from orchestration.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path


def document(folder: Path, text: str | bytes) -> Path:
    file = folder / "some.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_values_and_lines(tmp_path: Path) -> None:
    text = "a: 1\nb:\n  c: [x, y]\n  2024:\n    - deep: null\n# remark\nlast: yes\n"
    read = read_document(document(tmp_path, text))
    assert read.content == {
        "a": 1,
        "b": {"c": ["x", "y"], "2024": [{"deep": None}]},
        "last": True,
    }
    assert read.line(["b", "2024", 0, "deep"]) == 5
    assert read.line(["b", "c", 1]) == 3
    assert read.line(["last"]) == 7
    assert read.line(["b", "absent", "deeper"]) == 2
    assert read.line([]) == 1


def test_merge_keys_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = "\ufeffshared: &shared {x: 1, y: 2}\nuse:\n  <<: *shared\n  y: 3\n"
    assert read_document(document(tmp_path, text)).content["use"] == {"x": 1, "y": 3}


def test_empty_file(tmp_path: Path) -> None:
    assert read_document(document(tmp_path, "# only a remark\n")).content is None


def repeated(form: str) -> str:
    """Ten lines, each of which repeats the one before nine times."""
    lines = (f"a{at}: &a{at} " + form.format(", ".join([f"*a{at - 1}"] * 9)) for at in range(1, 10))
    return "\n".join(["a0: &a0 {x: 1, y: [1, 2]}", *lines])


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "'a' is given twice (first on line 1)"),
        ("b:\n  x: 1\n  x: 1\n", 3, "'x' is given twice"),
        ("a: [1, 2\nb: 3\n", 2, "not YAML"),
        ("a: 1\n\tb: 2\n", 2, "not YAML"),
        ("a: 1\n---\nb: 2\n", 2, "another document"),
        ("a: &a\n  b: *a\n", 1, "refers to itself"),
        ("? [x, y]\n: 1\n", 1, "a key must be text"),
        ("a: 1\nb: !!python/name:os.system x\n", 2, "not YAML"),
        (b"a: 1\nb: \xff\n", 2, "not UTF-8 text: byte 0xff"),
        (b"a: 1\nb: \x07\n", 2, "'\\x07' is not allowed"),
        ("a: 1\nb: 2024-13-45\n", 2, "not YAML: the value does not fit its type"),
        ("a: 1\nb: " + "[" * 3000 + "]" * 3000, 2, "values are nested more than 100 deep"),
        (
            "a:\n" + "\n".join(" " * (at + 1) + "k:" for at in range(3000)),
            101,
            "more than 100 deep",
        ),
        ("a: &a " + "x" * 100_000 + "\nb: [" + "*a, " * 1000 + "]", 2, "aliases repeat values"),
        (repeated("[{}]"), 7, "aliases repeat values: more than 500,000 in all"),
        (repeated("{{<<: [{}]}}"), 7, "aliases repeat values: more than 500,000 in all"),
        ("a: &a {<<: *a}\n", 1, "refers to itself"),
    ],
)
def test_faults(tmp_path: Path, text: str | bytes, line: int, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_document(document(tmp_path, text))
    fault = caught.value.faults[0]
    assert fault.line == line
    assert words in fault.message
    assert str(caught.value).startswith(f"{tmp_path / 'some.yaml'}:{line}: ")
