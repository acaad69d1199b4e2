"""Serves the labelling of a project until it is interrupted."""

from __future__ import annotations

import secrets
import socket
import threading
from functools import cache, partial
from typing import TYPE_CHECKING

import click
import uvicorn

from assets.analysis.select_metrics import UnknownMetric, select_metrics
from assets.project import is_judged
from orchestration.errors import OrchestrationError
from orchestration.webserver.annotate.labelling import open_labelling
from orchestration.webserver.annotate.publisher import Publisher
from orchestration.webserver.guard import guard

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assets.analysis.label_queue import Order
    from assets.project import Project
    from orchestration.webserver.address import Address
    from orchestration.webserver.annotate.app import Annotation
    from orchestration.webserver.annotate.labelling import Labelling

GRACE_S = 3
"""How long requests may take to end."""

_LOOK_S = 0.2


def find_metrics(
    project: Project, benchmarks: Sequence[str], metric: str | None, order: Order
) -> Mapping[tuple[str, str], Callable[[], Labelling]]:
    """Return what may be labelled, by benchmark and full name of the metric.

    Without a metric these are the primary ones, those of judges first. Pairwise metrics are about
    several systems, and have no labels.

    Raises:
        OrchestrationError: No benchmark has such a metric.
        UnknownMetric: The only benchmark does not have it; the message suggests a similar name.
    """
    found: dict[tuple[str, str], Callable[[], Labelling]] = {}
    for name in benchmarks:
        benchmark = project.benchmarks[name]
        names = [metric] if metric is not None else []
        if len(benchmarks) > 1 and names and not _has_metric(project, name, names):
            continue
        selected = select_metrics(benchmark, names)
        for evaluator, each in sorted(selected, key=lambda pair: not is_judged(pair[0])):
            if "opponents" in evaluator.columns:
                continue
            opened = partial(open_labelling, project, benchmark, evaluator, each, order)
            found[name, f"{evaluator.name}.{each.name}"] = _once(opened)
    if not found:
        wanted = f"metric {metric!r}" if metric is not None else "metric that people can label"
        raise OrchestrationError(f"no benchmark has a {wanted}")
    return found


def serve(
    annotation_of: Callable[[Publisher], Annotation],
    project: Project,
    address: Address,
    hosts: Sequence[str],
) -> None:
    """Print the address, and serve until the process is interrupted; then publish what is left.

    Raises:
        OrchestrationError: The server ended by itself.
    """
    publisher = Publisher(project)
    annotation = annotation_of(publisher)
    app = guard(annotation.app(), hosts, secrets.token_hex(8))
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,  # requests carry the token
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address.host, address.port))
        listening.listen()
        click.echo(f"{address.url}/?token={annotation.token}")
        server = uvicorn.Server(config)
        ended = threading.Event()

        def run() -> None:
            try:
                server.run(sockets=[listening])
            finally:
                ended.set()

        publisher.start()
        # In the main thread, uvicorn would take the signals, and the exit code would not tell them
        # apart. A signal may reach another thread, so that the main one has to look.
        threading.Thread(target=run, name="server", daemon=True).start()
        try:
            while not ended.wait(_LOOK_S):
                pass
        finally:
            server.should_exit = True
            ended.wait(2 * GRACE_S)
            publisher.stop()
    raise OrchestrationError("the server ended; the message above says why")


def _has_metric(project: Project, benchmark: str, names: Sequence[str]) -> bool:
    try:
        select_metrics(project.benchmarks[benchmark], names)
    except UnknownMetric:
        return False
    return True


def _once(opened: Callable[[], Labelling]) -> Callable[[], Labelling]:
    """Return a function that opens a labelling at its first call, also in several threads."""
    lock = threading.Lock()
    kept = cache(opened)

    def get() -> Labelling:
        with lock:
            return kept()

    return get
