"""The process in which Great Expectations is loaded: a request a line in, an answer a line out.

It takes seconds to load, which pass here while the run that will need it reads its files. Who
started it asks on standard input, and ends it by closing that; other processes of a run, whose
steps do not share one process, ask on a socket.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from warehouse.errors import WarehouseError
from warehouse.storage.location import place_described
from warehouse.store import Warehouse
from warehouse.validation.expectation import Batch, Expectation
from warehouse.validation.gx_engine import Session, built

LATER = 10
"""By how much this process stands back behind others."""

ALONE = threading.Lock()
"""One request at a time: Great Expectations promises nothing to threads."""


def main() -> None:
    """Answer until nobody asks any more."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    # Whatever else is printed must not be taken for an answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Loading it may take only what is left over by the run that reads its files meanwhile.
    if sys.platform != "win32":
        os.nice(LATER)
    # Modules are not garbage: looking for some among them takes a sixth of the time of loading.
    gc.disable()
    import great_expectations as _  # noqa: F401 - loaded before anybody asks

    gc.freeze()
    gc.enable()
    sharing = socket.socket(fileno=int(sys.argv[1])) if len(sys.argv) > 1 else None
    if sharing is not None:
        threading.Thread(target=_listen, args=(sharing,), daemon=True).start()
    for line in sys.stdin:
        _answer(line, answers)
    if sharing is not None:
        # Who started this process may have been killed, so that nobody else would tidy up.
        path = Path(sharing.getsockname())
        path.unlink(missing_ok=True)
        path.parent.rmdir()
    # There is nothing else to tidy up, and taking the library down would keep a run waiting.
    os._exit(0)


def _listen(sharing: socket.socket) -> None:
    """Answer other processes, one request a connection."""
    try:
        while True:
            connection, _ = sharing.accept()
            with (
                # Who asks may be gone before the answer, or in the middle of the request.
                suppress(ConnectionError),
                connection,
                connection.makefile("rw", encoding="utf-8") as both,
            ):
                line = both.readline()
                if line.endswith("\n"):
                    _answer(line, both)
    except BaseException:  # noqa: BLE001 - whatever it is
        # As in the main thread: who waits for an answer must learn that there will be none.
        traceback.print_exc()
        os._exit(1)


def _answer(line: str, answers: IO[str]) -> None:
    request = json.loads(line)
    try:
        with ALONE:
            answer: dict[str, Any] = {"found": _answered(request)}
    except WarehouseError as error:
        answer = {"error": str(error)}
    answers.write(json.dumps(answer, default=str) + "\n")
    answers.flush()


def _answered(request: dict[str, Any]) -> list[list[dict[str, Any]]]:
    batches = [_batch(each) for each in request["batches"]]
    place = place_described(request["place"])
    warehouse = Warehouse(place, request["patience_s"], request["memory_limit"])
    with warehouse.reading() as connection:
        session = Session(connection)
        return [session.validate(batch) for batch in batches]


def _batch(given: dict[str, Any]) -> Batch:
    expectations = tuple(Expectation(**each) for each in given.pop("expectations"))
    for each in expectations:
        try:
            built(each.kind, each.kwargs)
        except (ValueError, TypeError, KeyError) as error:
            raise WarehouseError(
                f"the expectation {each.name!r} of {given['table']!r} cannot be built: {error}"
            ) from error
    return Batch(**{**given, "key": tuple(given["key"])}, expectations=expectations)


if __name__ == "__main__":
    main()
