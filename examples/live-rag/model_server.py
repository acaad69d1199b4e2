"""A server with the interface of OpenAI that gives scripted replies, for as long as a command runs.

    python model_server.py scoreline run

stands for a model that knows nothing of the handbook, so that the example needs no key.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 18765

GUESSES = {
    "cost|much|deposit|pay|euros": "It costs 20 euros.",
    "when|open|close|days|hours": "It is open from Monday to Friday, from nine to five.",
    "how long|weeks|may": "It may be borrowed for two weeks.",
}
"""What a model says that has to guess, by words of the question."""


class Model(BaseHTTPRequestHandler):
    """Answers chat completions."""

    def do_POST(self) -> None:
        """Answer with a guess."""
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = sent["messages"][-1]["content"]
        question = text.rpartition("Question:")[2].lower()
        guess = next(
            (each for pattern, each in GUESSES.items() if re.search(pattern, question)),
            "I do not know.",
        )
        reply = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": sent["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": guess},
                }
            ],
            "usage": {
                "prompt_tokens": len(text.split()),
                "completion_tokens": len(guess.split()),
                "total_tokens": len(text.split()) + len(guess.split()),
            },
        }
        content = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


def main(command: list[str]) -> int:
    """Serve while a command runs; return its exit code."""
    with ThreadingHTTPServer(("127.0.0.1", PORT), Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            return subprocess.run(command, check=False).returncode  # noqa: S603 - as given
        finally:
            server.shutdown()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
