"""The configuration in an archive contains no secrets, and is otherwise unchanged."""

from __future__ import annotations

import pytest
import yaml

from assets.publishing.exports.redaction import REDACTED, redact_secrets

WHOLE = """\
# The project of the harbour team. \u00fc\u2192\U0001f642
warehouse:
  catalog: "ducklake:postgres:host=db dbname=lake"
  password_env: LAKE_PASSWORD   # not here
judge:
  model: openai/gpt-5
  api_key_env: OPENAI_API_KEY
  api_base: https://judge.example:8443/v1
  max_tokens: 2048
alerts:
  webhook: {webhook}
benchmarks:
  b: {{predictions: 'answers/{{system}}.jsonl', evaluators: [tokens_presence]}}
"""
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
WEBHOOK = "https://chat.example/hooks/abcdef"


@pytest.mark.parametrize(
    "written",
    [
        WEBHOOK,
        f"'{WEBHOOK}'  # of the team",
        f'"{WEBHOOK}"',
        f"&hook {WEBHOOK}",
        f"!!str {WEBHOOK}",
        f">-\n    {WEBHOOK}",
        f"|\n    {WEBHOOK}\n",
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_webhook_is_redacted_and_all_other_lines_stay(written: str, ends: str, mark: str) -> None:
    text = mark + WHOLE.format(webhook=written).replace("\n", ends)
    found = redact_secrets(text)
    assert "abcdef" not in found
    before, after = yaml.safe_load(text), yaml.safe_load(found)
    assert after.pop("alerts") == {"webhook": REDACTED}
    before.pop("alerts")
    assert after == before
    changed = {*found.split(ends)} - {*text.split(ends)}
    assert all(REDACTED in line for line in changed)
    assert len(changed) == 1
    assert found.count(" # of the team") == written.count(" # of the team")


def test_an_alias_stays_valid() -> None:
    text = f"x: &hook {WEBHOOK}\nalerts: {{webhook: *hook}}\n"
    assert redact_secrets(text) == "x: &hook REDACTED\nalerts: {webhook: *hook}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "api_base: http://user:pass@host:8000/v1",
            "api_base: http://REDACTED@host:8000/v1",
        ),
        (
            "catalog: ducklake:postgres:postgresql://me:pw@db/lake?x=1&sslpassword=pw2",
            "catalog: ducklake:postgres:postgresql://REDACTED@db/lake?x=1&sslpassword=REDACTED",
        ),
        (
            "api_base: https://host/v1?api_key=abc123&version=2",
            "api_base: https://host/v1?api_key=REDACTED&version=2",
        ),
        (
            "parameters: {mine: {api_key: 'k', n: 1}}",
            "parameters: {mine: {api_key: REDACTED, n: 1}}",
        ),
        (
            "# webhook: https://hooks.slack.com/services/T0AAAAAAA/B0BBBBBBB/abcdefghijklmnopqrst1234",
            "# webhook: https://REDACTED",
        ),
        (f"model: x  # ghp_{LETTERS}", "model: x  # REDACTED"),
    ],
)
def test_what_looks_like_a_secret_is_redacted(text: str, expected: str) -> None:
    assert redact_secrets(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        WHOLE.format(webhook="null").replace("  webhook: null\n", "  webhook_env: HOOK\n"),
        "judge: {model: 'ollama_chat/llama3@v1', max_tokens: 12}\n",
        "models: {embedding: owner/model@0123456789abcdef}\n",
        "expectations: {token: [1, 2]}\n",
    ],
)
def test_a_configuration_without_secrets_is_unchanged(text: str) -> None:
    assert redact_secrets(text) == text
