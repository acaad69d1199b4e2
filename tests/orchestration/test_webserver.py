"""`scoreline dev`: its port, and requests that pages of other sites make through a browser."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute

from orchestration import instance
from orchestration.config import load
from orchestration.definitions import CONFIG_VARIABLE
from orchestration.errors import OrchestrationError
from orchestration.webserver import serve
from orchestration.webserver.address import Address, choose_address
from orchestration.webserver.guard import SERVER_HEADER, guard
from orchestration.webserver.report import with_report
from tests.orchestration.daemon import COMMAND, free_port, interface
from tests.support.command import scoreline
from tests.support.services import takes_longest, takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.requests import Request
    from starlette.types import ASGIApp
    from starlette.websockets import WebSocket

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
    "Sec-WebSocket-Protocol": "graphql-ws",
}


async def page(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"{request.method} arrived")


async def conversation(websocket: WebSocket) -> None:
    await websocket.accept(subprotocol="graphql-ws")
    await websocket.close()


APP = Starlette(
    routes=[
        Route("/graphql", page, methods=["GET", "POST"]),
        WebSocketRoute("/graphql", conversation),
    ]
)


@contextmanager
def served(host: str, allowed: list[str], app: ASGIApp = APP) -> Iterator[int]:
    """A real server behind the guard; its port."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listening:
        listening.bind((host, 0))
        server = uvicorn.Server(uvicorn.Config(guard(app, allowed, "me"), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        # Accepts connections from here on, so that no test has to wait for the server.
        listening.listen()
        thread.start()
        try:
            yield int(listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a server on 127.0.0.1 that allows what `scoreline dev` allows."""
    with served("127.0.0.1", Address("127.0.0.1", 3000).allowed_hosts()) as found:
        yield found


def status(
    port: int,
    headers: dict[str, str],
    *,
    method: str = "GET",
    connect: str = "127.0.0.1",
    query: str = "",
) -> int:
    """The status with which a server answers a request; in a header, PORT is its port."""
    connection = http.client.HTTPConnection(connect, port, timeout=30)
    try:
        sent = {key: value.replace("PORT", str(port)) for key, value in headers.items()}
        connection.request(method, "/graphql" + query, headers=sent)
        return connection.getresponse().status
    finally:
        connection.close()


OWN = [
    {},
    {"Host": "localhost:PORT", "Origin": "http://localhost:PORT"},
    {"Host": "LocalHost:PORT", "Origin": "http://localhost:PORT"},
    # A tunnel to this port, such as `ssh -L 8080:127.0.0.1:3000`.
    {"Host": "localhost:8080", "Origin": "http://localhost:8080"},
    {"Host": "[::1]:PORT"},
    {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"},
]
FOREIGN = [
    ({"Host": "rebound.example:PORT"}, 400),
    ({"Host": "rebound.example:PORT", "Origin": "http://rebound.example:PORT"}, 400),
    ({"Host": "localhost.rebound.example"}, 400),
    ({"Host": "127.0.0.1.rebound.example"}, 400),
    ({"Host": "192.168.0.1:PORT"}, 400),
    ({"Host": ""}, 400),
    ({"Origin": "http://other.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://127.0.0.1:8888"}, 403),
    ({"Origin": "http://localhost:PORT"}, 403),
]


@pytest.mark.parametrize("headers", OWN)
def test_requests_of_this_machine_are_answered(port: int, headers: dict[str, str]) -> None:
    assert status(port, headers) == 200
    assert status(port, headers, method="POST") == 200
    assert status(port, {**headers, **UPGRADE}) == 101


@pytest.mark.parametrize(("headers", "expected"), FOREIGN)
def test_requests_of_other_sites_are_refused(
    port: int, headers: dict[str, str], expected: int
) -> None:
    assert status(port, headers) == expected
    assert status(port, headers, method="POST") == expected
    assert status(port, {**headers, **UPGRADE}) == expected


def test_links_may_be_followed_but_not_embedded(port: int) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert status(port, link) == 200
    for site in ("cross-site", "same-site"):
        assert status(port, {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}) == 403


LAUNCH = "launchRun(executionParams: {}) { __typename }"


@pytest.mark.parametrize(
    "sent",
    [
        f"mutation {{ {LAUNCH} }}",
        f"mutation Named($x: Int) {{ {LAUNCH} }}",
        f"# a comment\n,,mutation{{{LAUNCH}}}",
        f"fragment F on Query {{ version }} mutation {{ {LAUNCH} }}",
        f"query A {{ version }} mutation B {{ {LAUNCH} }}",
        "subscription { pipelineRunLogs(runId: 1) { __typename } }",
    ],
)
def test_mutations_are_refused_by_get(port: int, sent: str) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    query = "?" + urlencode({"query": sent})
    for headers in ({}, link):
        assert status(port, headers, query=query) == 405
        assert status(port, headers, query="?query=%7Bversion%7D&" + query[1:]) == 405
        assert status(port, headers, method="HEAD", query=query) == 405
    assert status(port, {}, method="POST", query=query) == 200


@pytest.mark.parametrize("sent", ["{ version }", "query { mutation: version }", "mutation {"])
def test_queries_are_answered_by_get(port: int, sent: str) -> None:
    assert status(port, {}, query="?" + urlencode({"query": sent})) == 200


def test_the_report_is_served_beside_the_interface(tmp_path: Path) -> None:
    files = {
        "index.html": "first page",
        "report/b-1/index.html": "page of b",
        "report/page.js": "script",
        "scoreline.duckdb": "rows",
        "report/.folders.json": "state",
    }
    for name, text in files.items():
        path = tmp_path / "published" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "secret.html").write_text("of others", encoding="utf-8")
    app = with_report(APP, tmp_path / "published")
    with served("127.0.0.1", Address("127.0.0.1", 1).allowed_hosts(), app) as port:

        def read(path: str, **headers: str) -> tuple[int, str]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            try:
                connection.request("GET", path, headers=headers)
                reply = connection.getresponse()
                return reply.status, reply.read().decode()
            finally:
                connection.close()

        assert read("/report/") == read("/report/index.html") == (200, "first page")
        assert read("/report/report/b-1/index.html") == (200, "page of b")
        assert read("/report/report/page.js") == (200, "script")
        assert read("/graphql") == (200, "GET arrived")
        for path in (
            *("scoreline.duckdb", "report/.folders.json", "gone.html"),
            *("../secret.html", "%2e%2e/secret.html", "report/../../secret.html"),
        ):
            assert read(f"/report/{path}")[0] == 404, path
        assert read("/report/", Host="rebound.example")[0] == 400
        assert read("/report/", Origin="http://other.example")[0] == 403


def test_hosts_that_the_user_names_are_allowed() -> None:
    allowed = Address("127.0.0.1", 1).allowed_hosts(["Lab.example"])
    with served("127.0.0.1", allowed) as port:
        assert status(port, {"Host": "lab.example"}) == 200
        assert status(port, {"Host": "other.example"}) == 400
    with served("::1", Address("::1", 1).allowed_hosts()) as port:
        assert status(port, {}, connect="::1") == 200
    every = Address("0.0.0.0", 1).allowed_hosts()  # noqa: S104
    assert {socket.gethostname().lower(), "127.0.0.1", "localhost"} <= set(every)
    assert "*" not in every


def test_a_port_in_use_is_refused_or_skipped(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        with pytest.raises(OrchestrationError, match=f"port {taken} of '127.0.0.1' is in use"):
            choose_address("127.0.0.1", taken)
        assert scoreline(tmp_path, "init", "demo").code == 0
        ended = scoreline(tmp_path / "demo", "dev", "--port", str(taken))
        assert ended.code == 2
        assert f"port {taken} of '127.0.0.1' is in use" in ended.err
        assert "shows the project" not in ended.err
    # The next free port.
    first = choose_address("127.0.0.1", None).port
    with socket.socket() as other:
        other.bind(("127.0.0.1", first))
        other.listen()
        assert choose_address("127.0.0.1", None).port > first


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(OrchestrationError, match=r"cannot listen on port 3000 of '192\.0\.2\.1'"):
        choose_address("192.0.2.1", 3000)


class _Other(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@takes_minutes
def test_the_interface_is_shown_only_once_it_answers_and_only_to_this_machine(
    own_project: Path,
) -> None:
    with interface(own_project) as running:
        assert running.query("{ version }")
        assert status(running.port, UPGRADE) == 101
        for headers, expected in FOREIGN:
            assert status(running.port, headers, method="POST") == expected
            assert status(running.port, {**headers, **UPGRADE}) == expected


@takes_minutes
def test_dev_says_where_it_answers(own_project: Path) -> None:
    port = free_port()
    with subprocess.Popen(
        [*COMMAND, "dev", "--port", str(port)],
        cwd=own_project,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            said = next(line for line in process.stderr if "shows the project" in line)
            assert said == f"http://127.0.0.1:{port} shows the project; Ctrl-C stops it\n"
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/server_info")
            reply = connection.getresponse()
            assert json.load(reply)["dagster_version"]
            assert reply.headers[SERVER_HEADER]
            connection.close()
        finally:
            process.terminate()
            process.communicate(timeout=120)


@takes_longest
def test_dev_does_not_claim_the_server_of_another(own_project: Path) -> None:
    file = own_project / "scoreline.yaml"
    project = load.load_config(file).project
    with HTTPServer(("127.0.0.1", 0), _Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        # It took the port after `dev` had found it free.
        address = Address("127.0.0.1", other.server_port)
        folder = instance.create_instance(project)
        workspace = instance.write_workspace(folder)
        done = subprocess.run(
            [sys.executable, "-m", serve.__name__, address.host, str(address.port), str(workspace)],
            env={
                **os.environ,
                "DAGSTER_HOME": str(folder),
                CONFIG_VARIABLE: str(file),
                serve.HOSTS_VARIABLE: json.dumps(address.allowed_hosts()),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        other.shutdown()
    assert done.returncode == 2, done.stderr
    assert "shows the project" not in done.stderr
    assert f"another program answers at {address.url}" in done.stderr


def test_the_module_that_serves_is_not_loaded_by_the_command() -> None:
    code = (
        "import sys; from orchestration.cli.commands import dev; "
        "sys.exit('starlette' in sys.modules or 'dagster' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
