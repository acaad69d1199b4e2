"""Finds questions and answers in the inputs and outputs that tracing tools record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from warehouse.formats.readers.strict_json import NotJsonError, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

ASKED: Final = ("question", "query", "user_input", "user_query", "input", "message", "prompt")
"""The members of an object that hold the question, the preferred one first."""

ANSWERED: Final = ("answer", "response", "output", "result", "completion", "content", "text")
"""The members of an object that hold the answer, the preferred one first."""

EXPECTED: Final = ("expected_answer", "expected_output", "reference", "ground_truth", "expected")
"""The members of an object that hold the expected answer, the preferred one first."""

_DEPTH: Final = 5


def question_text(value: object, *, is_decoded: bool = False) -> str | None:
    """Return the question in an input: a text, messages, or an object; null if it is empty.

    Of messages it is the last one of the user. What has no known form is returned as JSON. With
    `is_decoded`, texts are texts, even if they look like JSON.
    """
    return _text(value, ASKED, ("user", "human"), is_decoded=is_decoded)


def answer_text(value: object, *, is_decoded: bool = False) -> str | None:
    """Return the answer in an output; of messages it is the last one of the assistant."""
    return _text(value, ANSWERED, ("assistant", "ai", "model"), is_decoded=is_decoded)


def expected_answer(metadata: object) -> Any:
    """Return the expected answer in metadata: a text or texts; null if there is none."""
    if not isinstance(metadata, dict):
        return None
    return next((metadata[name] for name in EXPECTED if metadata.get(name) is not None), None)


def parsed(value: object) -> Any:
    """Return the object or list that a text holds as JSON; other values as they are."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return decode(value)
        except NotJsonError:
            return value
    return value


Documents: TypeAlias = "Sequence[tuple[object, object, object]]"
"""Documents from best to worst, each as (id, text, score)."""


def retrieved_items(lists: Sequence[Documents | None]) -> list[dict[str, Any]] | None:
    """Return the documents of retrievers, one after the other, as items of `retrieved`.

    Ids and texts that only some documents have are left out, as are repeated documents. The result
    is null, which is unknown, without retrievers, if the documents of one (null) are unknown, and
    if neither all ids nor all texts are known. It is empty if nothing was retrieved.
    """
    if not lists or any(each is None for each in lists):
        return None
    documents = [document for each in lists for document in each or ()]
    unique = list(dict.fromkeys((_plain(name), _plain(text)) for name, text, _ in documents))
    has_ids = all(name for name, _ in unique)
    has_texts = all(text is not None for _, text in unique)
    scores = {(_plain(name), _plain(text)): score for name, text, score in documents}
    items: list[dict[str, Any]] = []
    for rank, (name, text) in enumerate(unique, start=1):
        score = scores[name, text]
        item: dict[str, Any] = {"rank": rank}
        item |= {"doc_id": name} if has_ids else {}
        item |= {"text": text} if has_texts else {}
        item |= {"score": score} if isinstance(score, int | float) else {}
        items.append(item)
    return items if has_ids or has_texts else None


def _plain(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _text(
    value: object,
    names: Sequence[str],
    roles: Sequence[str],
    *,
    is_decoded: bool,
    depth: int = 0,
) -> str | None:
    value = value if is_decoded else parsed(value)
    if value is None or value in ("", [], {}):
        return None
    if isinstance(value, str):
        return value
    if depth < _DEPTH:
        inner = _inner(value, names, roles)
        if inner is not None:
            return _text(inner, names, roles, is_decoded=is_decoded, depth=depth + 1)
    return json.dumps(value, ensure_ascii=False)


def _inner(value: object, names: Sequence[str], roles: Sequence[str]) -> Any:
    """Return the member of an object, or the message of a list, that holds the text."""
    if isinstance(value, list):
        return _message(value, roles)
    if not isinstance(value, dict):
        return None
    for name in (*names, "message", "messages", "choices", "kwargs", "args"):
        if value.get(name) not in (None, "", [], {}):
            return value[name]
    if "content" in value and _role(value) in roles:
        return value["content"]
    return next(iter(value.values())) if len(value) == 1 else None


def _message(messages: list[Any], roles: Sequence[str]) -> Any:
    """Return the content of the last message of a role, or the texts of a message in parts."""
    objects = [each for each in messages if isinstance(each, dict)]
    said = [each for each in objects if _role(each) in roles]
    if said:
        return said[-1].get("content")
    texts = [each.get("text") for each in objects]
    if texts and all(isinstance(each, str) for each in texts):
        return "\n".join(map(str, texts))
    return messages[0] if len(messages) == 1 else None


def _role(message: dict[str, Any]) -> str:
    return str(message.get("role") or message.get("type")).lower()
