"""Slips in a configuration whose message must say more than what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestration.cli.options import MAX_NAMES, require_known
from orchestration.config import load
from orchestration.errors import SettingsError, UnknownName

if TYPE_CHECKING:
    from pathlib import Path

PROJECT = """\
judge:
  model: groq/llama-3.1-8b-instant
  api_key_env: {variable}
benchmarks:
  one:
    questions: q.jsonl
    predictions: p_{{system}}.jsonl
    evaluators: [{evaluators}]
    thresholds: {{citation.f1: 0.5}}
"""


def refused(folder: Path, *, variable: str = "GROQ_API_KEY", evaluators: str = "citation") -> str:
    """What is said of a configuration."""
    file = folder / "scoreline.yaml"
    file.write_text(PROJECT.format(variable=variable, evaluators=evaluators), encoding="utf-8")
    with pytest.raises(SettingsError) as error:
        load.load_config(file)
    return str(error.value)


def test_a_threshold_that_outlived_its_evaluator(tmp_path: Path) -> None:
    said = refused(tmp_path, evaluators="document_retrieval")
    assert said.endswith("evaluators: 'citation' is not among its `evaluators`")


@pytest.mark.parametrize("key", ["gsk_Abc123Def456", "sk_live_123456789", "AIzaSyA12345"])
def test_a_key_in_the_place_of_its_variable_is_not_repeated(tmp_path: Path, key: str) -> None:
    said = refused(tmp_path, variable=key)
    assert "expected the name of an environment variable such as GROQ_API_KEY" in said
    assert key not in said


def test_a_message_does_not_list_everything() -> None:
    options = [f"metric-{n}" for n in range(MAX_NAMES + 3)]
    with pytest.raises(UnknownName, match=r"; known: 'metric-0', .*'metric-11' and 3 more$"):
        require_known("metric", ("f",), options)
