"""A hub on the loopback: one model, as the hub's clients expect to find it."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class HubServer:
    """The server in its own thread; a context manager.

    Attributes:
        fetched: The files that were fetched, in their order.
    """

    def __init__(self, repository: str, folder: Path) -> None:
        """Serve the files of a folder under a name."""
        self.fetched: list[str] = []
        self._repository = repository
        self._files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        """Listen."""
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self, body=True)

            def do_HEAD(self) -> None:
                hub.answer(self, body=False)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, asked: BaseHTTPRequestHandler, *, body: bool) -> None:
        """Answer with what is known of the model, with a file, or with 404."""
        path = asked.path.partition("?")[0]
        file = path.partition(f"/{self._repository}/resolve/")[2].partition("/")[2]
        if path == f"/api/models/{self._repository}/revision/main":
            self._send(asked, json.dumps(self._described()).encode(), body=body)
        elif path.startswith(f"/api/models/{self._repository}/tree/"):
            listed = [
                {"type": "file", "path": each["rfilename"], "size": each["size"]}
                | {"oid": each["blobId"]}
                for each in self._described()["siblings"]
            ]
            self._send(asked, json.dumps(listed).encode(), body=body)
        elif file in self._files:
            if body:
                self.fetched.append(file)
            self._send(asked, self._files[file], body=body)
        else:
            asked.send_error(404)

    def _described(self) -> dict[str, Any]:
        siblings = [
            {"rfilename": name, "size": len(content), "blobId": hashlib.sha1(content).hexdigest()}  # noqa: S324
            for name, content in self._files.items()
        ]
        return {"id": self._repository, "sha": COMMIT, "siblings": siblings}

    def _send(self, asked: BaseHTTPRequestHandler, content: bytes, *, body: bool) -> None:
        asked.send_response(200)
        asked.send_header("Content-Length", str(len(content)))
        asked.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')  # noqa: S324
        asked.send_header("X-Repo-Commit", COMMIT)
        asked.end_headers()
        if body:
            asked.wfile.write(content)
