"""Secrets: a table of rules with pattern, severity and test for each kind, and their search."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evaluators.detectors.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Severity = Literal["low", "high", "critical"]

_BEFORE, _AFTER = r"(?<![A-Za-z0-9_-])", r"(?![A-Za-z0-9_-])"
# Possessive; otherwise a long line of dashes would be searched from each of its dashes.
_DASHES = r"(?<!-)-{3,}+"
_DATA = r"(?s:.{0,200}?)[A-Za-z0-9+/]{20}"
_PLACEHOLDER = re.compile(r"(?i)x{6}|\*{3}|\.\.|your|example|placeholder|[<>]")
# A value that the program, a template or the reader fills in: a variable, a call, a path of names.
_NO_VALUE = re.compile(
    r"(?i)[$%{(\[]|^(?:none|null|true|false|changeme|password\d{0,3})$|^[a-z_]+(?:\.[a-z_]+)+$|://"
)
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}")
_PASSWORD = re.compile(
    r"(?i:pass(?:word|wort|wd|phrase)|(?<![a-z])pwd)[\"'\])*`]{0,3}[ \t]{0,3}"
    r"(?:(?::=|=>|={1,2}|:)(?:\*\*)?[ \t]{0,3}"
    r"(?:([\"'`])((?:(?!\1)\S){6,64})\1|([^\s\"'`,;<>]{6,64}?)(?=[.,;:)]?(?:[\s\"'`,;<>]|$)))"
    # In prose only in quotes: "The password is case-sensitive."
    r"|ist?:?[ \t]{1,3}(?:\*\*)?([\"'`])((?:(?!\4)\S){6,64})\4)"
)
_PRODUCT_KEY_LETTERS = "BCDFGHJKMNPQRTVWXY2346789"
_DISTINCT_IN_PRODUCT_KEY = 9
_LEAST_ENTROPY = 3.0
_LEAST_ENTROPY_OF_TOKENS = 2.5


@dataclass(frozen=True, slots=True)
class SecretRule:
    """A kind of secret.

    Attributes:
        kind: Its name.
        hint: A literal that occurs in every text with such a secret.
        pattern: The pattern of the secret; if it has groups, the last one is the secret.
        severity: `low` for what is public by nature, `critical` for private keys.
        is_real: Returns whether a match is a real secret.
    """

    kind: str
    hint: str
    pattern: re.Pattern[str]
    severity: Severity = "high"
    is_real: Callable[[str], bool] = lambda _: True


def entropy(text: str) -> float:
    """Shannon's entropy of the characters of a text, in bits per character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _random_enough(key: str) -> bool:
    return not _PLACEHOLDER.search(key) and entropy(key.removeprefix("sk-")) >= _LEAST_ENTROPY


def _not_placeholder(key: str) -> bool:
    return not _PLACEHOLDER.search(key) and entropy(key) >= _LEAST_ENTROPY_OF_TOKENS


def _password(value: str) -> bool:
    """Return whether a value is a password rather than prose, a placeholder or a variable."""
    beyond_names = any(not each.isalpha() and each != "_" for each in value)
    is_placeholder = _PLACEHOLDER.search(value) or _NO_VALUE.search(value) or _DATE.fullmatch(value)
    return beyond_names and len(set(value)) > 3 and not is_placeholder  # noqa: PLR2004


def _product_key(key: str) -> bool:
    letters = key.replace("-", "")
    return any(map(str.isdigit, letters)) and len(set(letters)) >= _DISTINCT_IN_PRODUCT_KEY


def _token(
    kind: str,
    hint: str,
    form: str,
    *,
    fixed: bool = False,
    is_real: Callable[[str], bool] = _not_placeholder,
) -> SecretRule:
    """A key that begins with a mark of its maker and is not a placeholder.

    `fixed`: of a fixed length, so that no character of a key may follow.
    """
    return SecretRule(
        kind, hint, re.compile(_BEFORE + form + (_AFTER if fixed else "")), is_real=is_real
    )


RULES = (
    SecretRule(
        "pem_private_key",
        "PRIVATE KEY",
        re.compile(
            rf"{_DASHES} ?BEGIN (?:[A-Z0-9]+ ){{0,3}}PRIVATE KEY(?: BLOCK)? ?{_DASHES}{_DATA}"
        ),
        "critical",
    ),
    SecretRule(
        "pem_private_key",
        "PuTTY-User-Key-File-",
        re.compile(r"PuTTY-User-Key-File-[0-9]: ?[a-z0-9-]+"),
        "critical",
    ),
    SecretRule(
        "pem_certificate",
        "CERTIFICATE",
        re.compile(
            rf"{_DASHES} ?BEGIN (?:[A-Z0-9]+ ){{0,2}}CERTIFICATE(?: REQUEST)? ?{_DASHES}{_DATA}"
        ),
        "low",
    ),
    _token(
        "openai_api_key",
        "T3BlbkFJ",
        r"sk-(?:(?:proj|svcacct|admin|None)-)?[A-Za-z0-9_-]{20,}?T3BlbkFJ[A-Za-z0-9_-]{20,}",
        is_real=_random_enough,
    ),
    _token("anthropic_api_key", "sk-ant-", r"sk-ant-[a-z]+[0-9]{2}-[A-Za-z0-9_-]{80,}"),
    _token(
        "h2o_or_generic_sk_key",
        "sk-",
        r"sk-(?!ant-)(?:[A-Za-z0-9]{1,20}-)?[A-Za-z0-9_]{40,}",
        is_real=_random_enough,
    ),
    *(
        _token("aws_access_key_id", start, rf"{start}[A-Z2-7]{{16}}", fixed=True)
        for start in ("AKIA", "ASIA", "ABIA", "ACCA")
    ),
    _token("aws_access_key_id", "A3T", r"A3T[A-Z0-9][A-Z2-7]{16}", fixed=True),
    *(
        _token("github_token", start, rf"{start}[A-Za-z0-9]{{36}}", fixed=True)
        for start in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")
    ),
    _token("github_token", "github_pat_", r"github_pat_[A-Za-z0-9_]{82}", fixed=True),
    _token("gitlab_token", "glpat-", r"glpat-[A-Za-z0-9_-]{20,}"),
    _token("google_api_key", "AIza", r"AIza[A-Za-z0-9_-]{35}", fixed=True),
    _token("huggingface_token", "hf_", r"hf_[A-Za-z]{34}", fixed=True),
    _token("huggingface_token", "api_org_", r"api_org_[A-Za-z]{34}", fixed=True),
    _token("slack_token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{20,}"),
    _token("slack_token", "xoxe", r"xoxe(?:\.xox[bp])?-[0-9]-[A-Za-z0-9]{100,}"),
    _token("slack_token", "xapp-", r"xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]{32,}"),
    _token(
        "slack_token",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{30,}",
    ),
    *(
        _token("stripe_key", f"k_{mode}_", rf"[sr]k_{mode}_[A-Za-z0-9]{{16,}}")
        for mode in ("live", "test", "prod")
    ),
    _token("pypi_token", "pypi-AgEIcHlwaS5vcmc", r"pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}"),
    _token(
        "jwt",
        "eyJ",
        r"eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{10,}",
    ),
    _token(
        "windows_product_key",
        "-",
        rf"[{_PRODUCT_KEY_LETTERS}]{{5}}(?:-[{_PRODUCT_KEY_LETTERS}]{{5}}){{4}}",
        fixed=True,
        is_real=_product_key,
    ),
    # Hints are sought as they are written.
    *(
        SecretRule("password", hint, _PASSWORD, is_real=_password)
        for name in ("assword", "asswort", "asswd", "assphrase", "pwd", "Pwd")
        for hint in dict.fromkeys((name, name.upper()))
    ),
)


def secrets(text: str) -> Iterator[Finding]:
    """Find secrets; if two rules match overlapping text, the first in the table counts."""
    taken = bytearray(len(text))
    for rule in RULES:
        if rule.hint not in text:
            continue
        for match in rule.pattern.finditer(text):
            secret = match.lastindex or 0
            start, end = match.span(secret)
            if taken.find(1, start, end) < 0 and rule.is_real(match.group(secret)):
                taken[start:end] = b"\1" * (end - start)
                yield Finding(rule.kind, start, end, match.group(secret), note=rule.severity)
