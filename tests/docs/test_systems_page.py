"""The examples of the page on systems work."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import pytest
import yaml

from systems.client import Answer
from systems.settings import CommandSystem, PythonSystem, SystemSettings
from tests.support.documents import text
from tests.systems.asking import PATIENCE_S, ask, opened

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("heading", "answer"),
    [("A Python function", "You asked: When?"), ("A program", "WHEN?")],
)
def test_examples(tmp_path: Path, heading: str, answer: str) -> None:
    section = text("docs/systems.md").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    code, configuration = re.findall(r"```(?:python|yaml)\n(.*?)```", section, re.DOTALL)
    ((name, keys),) = yaml.safe_load(configuration)["systems"].items()
    if "python" in keys:
        file = keys["python"].partition(":")[0]
        settings: SystemSettings = PythonSystem(name=name, home=tmp_path, **keys)
    else:
        file = keys["command"][-1]
        settings = CommandSystem(name=name, home=tmp_path, **keys)
    (tmp_path / file).write_text(code, encoding="utf-8")

    async def run() -> object:
        async with opened(settings) as client:
            return await ask(client, "q1", PATIENCE_S, question="When?")

    found = asyncio.run(run())
    assert isinstance(found, Answer), found
    assert found.fields["answer"] == answer
