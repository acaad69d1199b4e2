"""A project, and `scoreline annotate` on it as a process of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import httpx
import yaml

from orchestration import starter
from tests.support.command import scoreline

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><b>bold</b>\u202e\x01 {{7*7}}"


def make_project(home: Path, **keys: Any) -> Path:
    """The starter project with a run, and hostile texts in questions, answers and documents.

    `keys` are further keys of the configuration.
    """
    starter.write_starter(home)
    config = home / "scoreline.yaml"
    settings = {**yaml.safe_load(config.read_text(encoding="utf-8")), **keys}
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    for file in (home / "data").glob("*.jsonl"):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for row in rows:
            for name in ("question", "answer"):
                if row.get(name):
                    row[name] += HOSTILE
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    # A system with a hostile name.
    source = home / "data" / "predictions_reader.jsonl"
    shutil.copy(source, home / "data" / "predictions_<b>evil<b>.jsonl")
    done = scoreline(home, "run", "--quiet")
    assert done.code == 0, done.err
    return home


@dataclass
class Client:
    """Requests to the server, with what a browser would send unless told otherwise.

    Attributes:
        address: What the command printed.
        home: The folder of the project.
        headers: The headers of a page that was opened.
    """

    address: str
    home: Path
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def root(self) -> str:
        """The address without its token."""
        return self.address.partition("?")[0]

    def open_page(self) -> str:
        """Open the address as a browser does, keep cookie and CSRF token, return the page."""
        reply = httpx.get(self.address, trust_env=False)
        assert (reply.status_code, reply.headers["Location"]) == (303, "/")
        self.headers["Cookie"] = reply.headers["Set-Cookie"].partition(";")[0]
        _, page = self.ask("")
        found = re.search(r'name="csrf" content="([^"]+)"', page)
        assert found is not None
        self.headers["X-CSRF-Token"] = found[1]
        return page

    def ask(
        self, path: str, body: Any = None, *, without: str = "", **headers: str
    ) -> tuple[int, Any]:
        """Return status and content of a reply; JSON as its value."""
        kept = {name: text for name, text in self.headers.items() if name != without}
        method = "GET" if body is None else "POST"
        reply = httpx.request(
            method,
            self.root + path,
            json=body,
            headers={**kept, **headers},
            timeout=60,
            trust_env=False,
        )
        is_json = reply.headers["Content-Type"] == "application/json"
        return reply.status_code, reply.json() if is_json else reply.text

    def published(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the published copy, as any DuckDB client gets them."""
        file = self.home / "published" / "scoreline.duckdb"
        with duckdb.connect(str(file), read_only=True) as connection:
            return connection.execute(query, values or None).fetchall()


@contextmanager
def annotating(home: Path, *options: str) -> Iterator[tuple[Client, subprocess.Popen[str]]]:
    """Run `scoreline annotate` until the end of the `with`, at a port that is free."""
    program = Path(sys.executable).with_name("scoreline")
    process = subprocess.Popen(
        [str(program), "annotate", *options],
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline().strip()
        if not first:
            assert process.stderr is not None
            raise AssertionError(process.stderr.read())
        yield Client(first, home), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def labelled(client: Client, annotator: str, metric: str, count: int) -> Mapping[str, Any]:
    """Give a number of labels, and return the last reply."""
    names = {"benchmark": "harbour", "metric": metric, "annotator": annotator}
    query = f"next?benchmark=harbour&metric={metric}&annotator={annotator}"
    _, found = client.ask(query)
    for at in range(count):
        sample = found["sample"]["number"]
        status, found = client.ask("labels", {**names, "sample": sample, "value": float(at % 2)})
        assert status == 200, found
    return dict(found)
