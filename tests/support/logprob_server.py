"""A server with the interface of OpenAI that answers multiple choice with known probabilities."""

from __future__ import annotations

import json
import math
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable


class LogprobServer:
    """The server, in a thread of its own; a context manager.

    Attributes:
        requests: The bodies of all requests.
        known: The texts of the options that the model believes to be right.
        most: The most tokens that it lists.
        has_logprobs: Whether it lists any.
    """

    def __init__(self, known: Iterable[str], most: int = 20, *, has_logprobs: bool = True) -> None:
        self.requests: list[dict[str, Any]] = []
        self.known = set(known)
        self.most = most
        self.has_logprobs = has_logprobs
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(sent)
                content = json.dumps(server.reply(sent)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Write nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The base address of the API."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def probabilities(self, options: list[str]) -> list[float]:
        """The probability of each letter: 0.01, 0.5 more if it is known, 0.2 more for A."""
        return [
            0.01 + 0.5 * (option in self.known) + 0.2 * (at == 0)
            for at, option in enumerate(options)
        ]

    def listed(self, options: list[str]) -> list[tuple[str, float]]:
        """The likeliest tokens: a letter without a space has three quarters of its probability."""
        tokens = {"The": 0.05, " It": 0.03}
        for letter, probability in zip("ABCDEF", self.probabilities(options), strict=False):
            tokens |= {letter: 0.75 * probability, f" {letter}": 0.25 * probability}
        return sorted(tokens.items(), key=lambda token: -token[1])[: self.most]

    def reply(self, sent: dict[str, Any]) -> dict[str, Any]:
        """The completion of a request."""
        question = sent["messages"][-1]["content"].rpartition("Question:")[2]
        tokens = [
            {"token": token, "logprob": math.log(probability), "bytes": list(token.encode())}
            for token, probability in self.listed(re.findall(r"(?m)^\([A-Z]\) (.*)$", question))
        ]
        position = {**tokens[0], "top_logprobs": tokens[: sent.get("top_logprobs", 0)]}
        choice: dict[str, Any] = {
            "index": 0,
            "finish_reason": "length",
            "message": {"role": "assistant", "content": tokens[0]["token"]},
        }
        if self.has_logprobs and sent.get("logprobs"):
            choice["logprobs"] = {"content": [position]}
        return {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": sent["model"],
            "choices": [choice],
            "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10},
        }
