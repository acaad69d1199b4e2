"""Remove secrets from the text of a configuration file that is passed on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from evaluators.detectors.secret_rules import secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

REDACTED = "REDACTED"

SECRET_KEYS = frozenset({"webhook", "api_key", "authorization", "password", "secret", "token"})
"""Keys whose value is a secret. Keys such as `api_key_env` name an environment variable."""

IN_ADDRESSES = re.compile(
    r"://([^\s/@'\"<>]+)@"  # a user with a password, or a token
    r"|[?&][a-z_-]*(?:key|token|password|secret|sig|signature)=([^\s&#'\"]+)",
    re.IGNORECASE,
)
"""The secrets of URLs."""

_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")


def redact_secrets(text: str) -> str:
    """Return YAML text with `REDACTED` in place of secrets; everything else is unchanged.

    Secrets are the values of `SECRET_KEYS`, and what looks like a key, token or password anywhere,
    also in comments.
    """
    kept, end = "", 0
    for start, stop in sorted(_secret_spans(text)):
        if start >= end:
            kept += text[end:start] + REDACTED
        end = max(end, stop)
    return kept + text[end:]


def _secret_spans(text: str) -> Iterator[tuple[int, int]]:
    for finding in secrets(text):
        yield finding.start, finding.end
    for match in IN_ADDRESSES.finditer(text):
        yield match.span(match.lastindex or 0)
    for value in _secret_values(yaml.compose(text, yaml.SafeLoader), set()):
        start, stop = value.start_mark.index, value.end_mark.index
        properties = _PROPERTIES.match(text, start, stop)
        start = properties.end() if properties is not None else start
        # A text in several lines ends at the beginning of the line after it.
        yield start, start + len(text[start:stop].rstrip())


def _secret_values(node: yaml.Node | None, visited: set[int]) -> Iterator[yaml.Node]:
    """Yield the values of secret keys; nodes that aliases repeat are visited once."""
    if node is None or id(node) in visited:
        return
    visited.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _secret_values(each, visited)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(value, yaml.ScalarNode) and str(key.value).lower() in SECRET_KEYS:
                yield value
            else:
                yield from _secret_values(value, visited)
