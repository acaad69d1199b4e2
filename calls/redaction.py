"""Redaction: values of secrets are removed from all texts that come from outside.

A server or a program may repeat a key in the form in which it got it, or escaped: in JSON, HTML or
a URL, as hexadecimal digits, or in base64 as in the header `Authorization`.
"""

from __future__ import annotations

import base64
import os
import re
from functools import lru_cache
from html.entities import codepoint2name
from typing import Any

_NAMES = re.compile(
    r"(?:^|_)(?:(?:API)?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)S?(?:_?\d+)?$",
    re.IGNORECASE,
)
MIN_LENGTH = 8
"""Shorter values ("none", "EMPTY") are placeholders, and may be words of a message."""

_ESCAPES = re.compile(r"[\\%&+]")
_MASK = "***"


def redact(text: str) -> str:
    """Replace the values of environment variables such as `X_API_KEY` in a text."""
    return replace_secrets(text, environment_secrets())


def redact_value(value: Any) -> Any:
    """Replace the values of such variables in all texts of a JSON value."""
    secrets = environment_secrets()

    def cleaned(value: Any) -> Any:
        if isinstance(value, str):
            return replace_secrets(value, secrets)
        if isinstance(value, list):
            return [cleaned(each) for each in value]
        if isinstance(value, dict):
            return {cleaned(name): cleaned(each) for name, each in value.items()}
        return value

    return cleaned(value) if secrets else value


def environment_secrets() -> tuple[str, ...]:
    """Return the values of the environment variables that are named like secrets."""
    return tuple(value for name, value in os.environ.items() if _NAMES.search(name))


def find_secrets(key: str | None) -> tuple[str, ...]:
    """Return the secrets of the environment and a key; LiteLLM finds others by itself."""
    return environment_secrets() if key is None else (key, *environment_secrets())


def replace_secrets(text: str, secrets: tuple[str, ...]) -> str:
    """Replace secrets in a text by `***`, in every form; those of fewer than 8 characters stay."""
    plain, escaped = _patterns(secrets)
    if plain is None or escaped is None:
        return text
    text = plain.sub(_MASK, text)
    return escaped.sub(_MASK, text) if _ESCAPES.search(text) else text


@lru_cache(maxsize=256)
def _patterns(secrets: tuple[str, ...]) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """Return the patterns of secrets as they are or encoded as a whole, and with escapes."""
    # The longest first: one value may be a part of another.
    known = sorted({each for each in secrets if len(each) >= MIN_LENGTH}, key=len, reverse=True)
    if not known:
        return None, None
    encoded = [form for secret in known for form in _encoded(secret)]
    plain = "|".join([*map(re.escape, known), *encoded])
    return re.compile(plain), re.compile("|".join(map(_escaped, known)))


def _encoded(secret: str) -> list[str]:
    """Return patterns of a secret in hexadecimal digits and in base64, at any place of a text."""
    data = secret.encode("utf-8", "surrogateescape")
    forms = {f"(?i:{data.hex()})"}
    for before in range(3):
        code = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        # The first and the last characters also depend on what is beside the secret.
        core = code[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        forms |= {re.escape(core), re.escape(core.translate(str.maketrans("+/", "-_")))}
    return sorted(forms)


def _escaped(secret: str) -> str:
    return "".join(map(_any_form, secret))


def _any_form(character: str) -> str:
    """Return a pattern of a character in JSON, Python, HTML or a URL, also escaped twice."""
    data = character.encode("utf-8", "surrogateescape")
    code = ord(character)
    units = character.encode("utf-16-be", "surrogatepass").hex()
    json = "".join(rf"\\{{1,15}}u{units[at : at + 4]}" for at in range(0, len(units), 4))
    url = "".join(f"%(?:25)*{byte:02x}" for byte in data)
    names = [f"#0*{code}", f"#x0*{code:x}"]
    names += [codepoint2name[code]] if code in codepoint2name else []
    names += ["apos"] if character == "'" else []
    forms = [json, url, rf"&(?:amp;)*(?:{'|'.join(names)});"]
    forms += [rf"\\{{1,15}}x{code:02x}"] if code < 256 else []  # noqa: PLR2004
    more = r"|\+" if character == " " else ""
    return rf"(?:\\{{0,15}}{re.escape(character)}|(?i:{'|'.join(forms)}){more})"
