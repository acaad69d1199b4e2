"""Secrets are removed from texts in every form in which servers and programs repeat them."""

from __future__ import annotations

import base64
import html
import json
import time
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

import pytest

from calls.redaction import redact, redact_value, replace_secrets

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = ["sk-proj-AbC123xyz789", "p@ss/w\"o<r>d&'=+ é\\x", "密码-1234-密码"]


def _in_header(secret: str, user: str) -> str:
    return base64.b64encode(f"{user}:{secret}".encode()).decode()


def _numeric(secret: str) -> str:
    return "".join(f"&#{ord(each)};" for each in secret)


def _hexadecimal(secret: str) -> str:
    return "".join(f"&#x{ord(each):X};" for each in secret)


FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": lambda secret: json.dumps(secret)[1:-1],
    "json, not ascii": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "json in json": lambda secret: json.dumps(json.dumps(secret))[3:-3],
    "json in json in json": lambda secret: json.dumps(json.dumps(json.dumps(secret)))[7:-7],
    "json, capitals": lambda secret: json.dumps(secret)[1:-1].replace("\\u00e9", "\\u00E9"),
    "json, slashes": lambda secret: json.dumps(secret)[1:-1].replace("/", "\\/"),
    "html": html.escape,
    "html twice": lambda secret: html.escape(html.escape(secret)),
    "html, numbers": _numeric,
    "html, hexadecimal": _hexadecimal,
    "url": lambda secret: quote(secret, safe=""),
    "url, small": lambda secret: "".join(
        part.lower() if part.startswith("%") else part
        for part in quote(secret, safe="").replace("%", "\0%").split("\0")
    ),
    "url, form": quote_plus,
    "url twice": lambda secret: quote(quote(secret, safe=""), safe=""),
    "url, everything": lambda secret: "".join(f"%{byte:02x}" for byte in secret.encode()),
    "python": lambda secret: repr(secret)[1:-1],
    "python bytes": lambda secret: repr(secret.encode("unicode_escape").decode())[1:-1],
    "hexadecimal": lambda secret: secret.encode().hex(),
    "hexadecimal, capitals": lambda secret: secret.encode().hex().upper(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", KEYS)
def test_a_secret_is_removed_in_every_form(secret: str, form: str) -> None:
    written = FORMS[form](secret)
    assert replace_secrets(f"key: {written}, and more", (secret,)) == "key: ***, and more"


@pytest.mark.parametrize("user", ["", "a", "ab", "user"])
@pytest.mark.parametrize("secret", KEYS)
def test_a_header_with_base64_tells_at_most_the_ends(secret: str, user: str) -> None:
    for code in (_in_header(secret, user), _in_header(secret, user).translate({43: "-", 47: "_"})):
        found = replace_secrets(f"Authorization: Basic {code}.", (secret,))
        assert "***" in found
        before, after = found.removeprefix("Authorization: Basic ").split("***")
        assert len(before) <= len(base64.b64encode(f"{user}:".encode()))
        assert len(after) <= len("xxxx.")


def test_what_only_looks_like_it_stays() -> None:
    text = "sk-proj-abc123XYZ789 100% sure & \\n sk-proj-"
    assert replace_secrets(text, (KEYS[0],)) == text
    assert replace_secrets("the EMPTY word none", ("EMPTY", "none")) == "the EMPTY word none"
    assert replace_secrets("a", ()) == "a"


def test_of_two_secrets_the_longer_one_is_removed_first() -> None:
    assert replace_secrets("abcdefgh-ijkl abcdefgh", ("abcdefgh", "abcdefgh-ijkl")) == "*** ***"


@pytest.mark.parametrize(
    "name", ["X_API_KEY", "hub_token", "DB_PASSWORDS", "APIKEY", "API_KEY_2", "AWS_SECRET"]
)
def test_variables_that_are_named_like_secrets(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, KEYS[1])
    written = json.dumps({"answer": f"it is {KEYS[1]}"})
    assert "***" in redact(written)
    assert redact(written).startswith('{"answer": "it is ***')
    returned = {"answer": KEYS[1], "contexts": ["a", quote(KEYS[1])], KEYS[1]: 1, "n": None}
    assert redact_value(returned) == {
        "answer": "***",
        "contexts": ["a", "***"],
        "***": 1,
        "n": None,
    }


def test_other_variables_are_not_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYBOARD_LAYOUT", "german-qwertz")
    assert redact("german-qwertz") == "german-qwertz"


def test_a_long_text_takes_little_time() -> None:
    secrets = tuple(KEYS)
    seconds = []
    for size in (1 << 14, 1 << 18):
        texts = ["\\" * size, "%25" * size, "&amp;" * size, "sk-proj-" * size, "\\u00" * size]
        began = time.process_time()
        for text in texts:
            replace_secrets(text, secrets)
        seconds.append(time.process_time() - began)
    assert seconds[1] < 3 * 16 * (seconds[0] + 0.005)
