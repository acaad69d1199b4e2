"""A text completion server on the loopback that echoes log-probabilities, or does it wrongly."""

from __future__ import annotations

import itertools
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FLUENT = {"of": "France", "river": "Seine", "a": "city", "capital": "of", "on": "the"}
"""Words that the server finds likely after others."""
FAULTS = (
    "no echo",
    "other text",
    "no log-probabilities",
    "none for most tokens",
    "all the same",
    "above nought",
    "indifferent to order",
    "not found",
)


def tokens(text: str) -> list[str]:
    """Words with the blank before them."""
    return re.findall(r"\s*\S+\s*$|\s*\S+", text)


def logprobs(words: list[str]) -> list[float | None]:
    """None for the first; -0.5 for a word that is likely after the one before it, else more."""
    bare = [word.strip(" ,.") for word in words]
    found: list[float | None] = [None]
    for before, word in itertools.pairwise(bare):
        found.append(-0.5 if FLUENT.get(before) == word else -4.0 - len(word) / 8)
    return found


def completion(asked: dict[str, Any], fault: str | None) -> dict[str, Any]:
    """What the server says to a request."""
    prompt = asked["prompt"] if isinstance(asked["prompt"], str) else asked["prompt"][0]
    words = tokens("another text altogether" if fault == "other text" else prompt)
    values = logprobs(words)
    if fault == "none for most tokens":
        values = [None] * len(words)
    elif fault == "all the same":
        values = [None, *[-1.0] * (len(words) - 1)]
    elif fault == "above nought":
        values = [None, *[-value for value in values[1:] if value is not None]]
    elif fault == "indifferent to order":
        values = [None, *[-float(len(word)) for word in words[1:]]]
    if fault == "no echo":
        words, values = [], []
    # The generated token, which does not belong to the text.
    words, values = [*words, " generated"], [*values, -9.0]
    offsets = [sum(map(len, words[:place])) for place in range(len(words))]
    given = {"tokens": words, "token_logprobs": values, "text_offset": offsets}
    choice = {"text": "".join(words), "index": 0, "finish_reason": "length"}
    choice["logprobs"] = None if fault == "no log-probabilities" else given | {"top_logprobs": None}
    return {
        "id": "x",
        "object": "text_completion",
        "created": 0,
        "model": asked["model"],
        "choices": [choice],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


class EchoServer:
    """The server in its own thread; a context manager.

    Attributes:
        prompts: The texts that were to be scored, those of the probe included.
        reports_usage: Whether answers say how many tokens they took.
    """

    def __init__(self, fault: str | None = None) -> None:
        """Say what it does wrongly, if anything."""
        self.fault = fault
        self.reports_usage = True
        self.prompts: list[str] = []
        self._free = threading.Event()
        self._free.set()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        """Listen."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._answer))
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Answer nothing before the end of the `with`."""
        self._free.clear()
        try:
            yield
        finally:
            self._free.set()

    def _answer(self, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.prompts.append(asked["prompt"])
        self._free.wait()
        if self.fault == "not found":
            return 404, {"error": {"message": "no such model", "type": "invalid_request_error"}}
        said = completion(asked, self.fault)
        if not self.reports_usage:
            del said["usage"]
        return 200, said


def _handler(
    answer: Callable[[dict[str, Any]], tuple[int, dict[str, Any]]],
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, said = answer(asked)
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    return Handler
