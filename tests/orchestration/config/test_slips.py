"""Configuration faults whose messages explain more than the expected type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestration.cli.options import MAX_NAMES, require_known
from orchestration.config import load
from orchestration.errors import SettingsError, UnknownName
from tests.support.command import scoreline

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


def message_of(
    folder: Path, *, variable: str = "GROQ_API_KEY", evaluators: str = "citation"
) -> str:
    """Return the error message for a configuration."""
    file = folder / "scoreline.yaml"
    file.write_text(PROJECT.format(variable=variable, evaluators=evaluators), encoding="utf-8")
    with pytest.raises(SettingsError) as error:
        load.load_config(file)
    return str(error.value)


def test_threshold_without_its_evaluator(tmp_path: Path) -> None:
    said = message_of(tmp_path, evaluators="document_retrieval")
    assert said.endswith("evaluators: 'citation' is not among its `evaluators`")


@pytest.mark.parametrize("key", ["gsk_Abc123Def456", "sk_live_123456789", "AIzaSyA12345"])
def test_key_instead_of_variable_is_not_repeated(tmp_path: Path, key: str) -> None:
    said = message_of(tmp_path, variable=key)
    assert "expected the name of an environment variable such as GROQ_API_KEY" in said
    assert key not in said


@pytest.mark.parametrize(
    "address",
    [
        "http://user:pass-word@127.0.0.1:8000/v1",
        "https://pass-word@judge.example",
        "http://:pass-word@judge.example/v1",
        "user:pass-word@judge.example",
        "ftp://user:pass-word@judge.example",
    ],
)
@pytest.mark.parametrize("section", ["judge", "models"])
def test_password_in_an_address_is_not_repeated(tmp_path: Path, section: str, address: str) -> None:
    names = {"judge": "  model: openai/judge\n", "models": ""}
    (tmp_path / "scoreline.yaml").write_text(
        f"{section}:\n{names[section]}  api_base: {address}\n"
        "benchmarks: {one: {questions: q.jsonl, predictions: p.jsonl, evaluators: [citation]}}\n",
        encoding="utf-8",
    )
    ended = scoreline(tmp_path, "run")
    said = ended.out + ended.err
    assert ended.code == 2
    line = 3 if names[section] else 2
    assert f"scoreline.yaml:{line}: " in said
    assert f"{section}.api_base: expected an address without user and password" in said
    assert "name that in api_key_env" in said
    assert "pass-word" not in said


def test_an_address_may_hold_an_at_sign_after_the_host(tmp_path: Path) -> None:
    file = tmp_path / "scoreline.yaml"
    text = PROJECT.format(variable="KEY", evaluators="citation")
    address = "http://127.0.0.1:8000/v1/@me?to=a@b"
    file.write_text(text.replace("benchmarks:", f"  api_base: {address}\nbenchmarks:"), "utf-8")
    judge = load.load_config(file).judge
    assert judge is not None
    assert judge.api_base == address


def test_message_lists_only_some_names() -> None:
    options = [f"metric-{n}" for n in range(MAX_NAMES + 3)]
    with pytest.raises(UnknownName, match=r"; known: 'metric-0', .*'metric-11' and 3 more$"):
        require_known("metric", ("f",), options)
