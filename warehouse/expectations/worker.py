"""The process in which Great Expectations is loaded: a request a line in, an answer a line out.

It takes seconds to load, which pass here while the run that will need it reads its files.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from warehouse.errors import WarehouseError
from warehouse.expectations.engine import Session, built
from warehouse.expectations.expectation import Batch, Expectation
from warehouse.store import Warehouse


def main() -> None:
    """Answer until nobody asks any more."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    # Whatever else is printed must not be taken for an answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    import great_expectations as _  # noqa: F401 - loaded before anybody asks

    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer: dict[str, Any] = {"found": _answered(request)}
        except WarehouseError as error:
            answer = {"error": str(error)}
        answers.write(json.dumps(answer, default=str) + "\n")
        answers.flush()


def _answered(request: dict[str, Any]) -> list[list[dict[str, Any]]]:
    batches = [_batch(each) for each in request["batches"]]
    warehouse = Warehouse(Path(request["path"]), request["patience_s"], request["memory_limit"])
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
