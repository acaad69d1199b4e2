"""What a scripted server says to one request, and how that looks on the wire."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the server does with one request.

    Attributes:
        content: What the model says; None for no content at all.
        finish: Why the model stopped.
        refusal: The text of a refusal, in its own field.
        status: The status; other than 200, `content` is the message of the error.
        code: The code of the error.
        headers: More headers.
        delay: Seconds before anything is sent.
        body: The whole body in place of a completion.
        cut: Whether the connection is closed in the middle of the body.
        endless: Whether the body is sent again and again until the other side hangs up.
        usage: Tokens in and out, or whatever a server may say of them; None leaves them out.
    """

    content: str | None = None
    finish: str = "stop"
    refusal: str | None = None
    status: int = 200
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    body: bytes | None = None
    cut: bool = False
    endless: bool = False
    usage: Any = (100, 20)


def rendered(said: Reply) -> bytes:
    """The bytes of the answer; half of them where the connection is to be cut."""
    body = said.body if said.body is not None else json.dumps(_completion(said)).encode()
    length = {} if said.endless else {"content-length": str(len(body))}
    headers = {"content-type": "application/json", **length, **said.headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    sent = body[: len(body) // 2] if said.cut else body
    return f"HTTP/1.1 {said.status} Reply\r\n{head}\r\n".encode() + sent


def _completion(said: Reply) -> dict[str, Any]:
    if said.status != 200:
        return {"error": {"message": said.content or "no", "type": "error", "code": said.code}}
    message = {"role": "assistant", "content": said.content, "refusal": said.refusal}
    answer: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "judge-2026-01-01",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "message": message, "finish_reason": said.finish}],
    }
    if not isinstance(said.usage, tuple | None):
        answer["usage"] = said.usage
    elif said.usage is not None:
        tokens_in, tokens_out = said.usage
        answer["usage"] = {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": 120,
        }
    return answer
