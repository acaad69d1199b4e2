"""The files that promptfoo writes: JSON, JSONL, YAML and CSV, as rows of its JSON results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from warehouse.errors import InputError, Problem
from warehouse.formats.format import SHOWN, Reject
from warehouse.formats.readers.exports import (
    element_row,
    require_kind,
    require_object,
    wrong_kind,
)
from warehouse.formats.readers.files import kind
from warehouse.formats.readers.nested_json import NestedJson
from warehouse.formats.readers.rows import Row, json_lines
from warehouse.formats.readers.strict_json import NotJsonError, decode
from warehouse.formats.readers.tabular import csv_cells
from warehouse.formats.readers.yaml_file import read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FAILED: Final = 2
"""The `failureReason` of a call that failed; 1 is a failed assertion."""

EXPECTED: Final = "results of `promptfoo eval`, each with 'vars', 'provider' and 'response'"
NESTED: Final = "promptfoo's results with the list 'results.results'"
TABLE: Final = (
    "a table of promptfoo 0.121 (write older results as JSON), with a column such as "
    "'[openai:gpt] brief' followed by 'Status', 'Score' and 'Named Scores'"
)
OUTPUT: Final = ("Status", "Score", "Named Scores")
"""The columns that follow the column of an output in a CSV file."""

_SYSTEM: Final = re.compile(r"\[(.*?)\] (.*)", re.DOTALL)
_STATUS: Final = {"PASS": 0, "FAIL": 1, "ERROR": FAILED}
"""The `failureReason` of a status."""


def results(path: Path) -> Iterator[Row | Reject]:
    """Yield the results of a file, as promptfoo writes them into JSON.

    Raises:
        InputError: The file cannot be read, or is not one of promptfoo.
    """
    match kind(path):
        case ".json":
            given = _of_json(path)
        case ".jsonl" | ".ndjson":
            given = json_lines(path)
        case ".yaml" | ".yml":
            given = _of_yaml(path)
        case ".csv":
            given = _of_csv(path)
        case other:
            said = f"unknown file suffix {other!r}; expected .json, .jsonl, .yaml or .csv, as "
            said += "`promptfoo eval --output results.json` writes"
            raise InputError([Problem(path, None, said)])
    return require_kind(given, path, EXPECTED, {"vars", "prompt"}, {"provider"})


def _of_json(path: Path) -> Iterator[Row | Reject]:
    require_object(path, NESTED)
    file = NestedJson(path)
    summary = file.member(file.root, "results")
    listed = None if summary is None else file.member(summary, "results")
    if listed is None or not isinstance(listed.value, list):
        raise wrong_kind(path, file.line(file.root.begin), NESTED, file.root.value)
    for element in file.elements(listed):
        yield element_row(file, element, "results.results")


def _of_yaml(path: Path) -> Iterator[Row | Reject]:
    file = read_yaml(path)
    root = file.value if isinstance(file.value, dict) else {}
    summary = root.get("results")
    listed = summary.get("results") if isinstance(summary, dict) else None
    if not isinstance(listed, list):
        raise wrong_kind(path, 1, NESTED, root)
    for each in listed:
        if isinstance(each, dict):
            yield Row(each, file.line(each), file.shown(each))
        else:
            yield Reject(None, "results.results: expected an object", str(each)[:SHOWN])


def _of_csv(path: Path) -> Iterator[Row | Reject]:
    """Yield the results of a table with a row for each test and several columns for each output."""
    header: list[str] | None = None
    for position, (cells, line, _) in enumerate(csv_cells(path, OUTPUT)):
        if header is None:
            header = cells
            outputs = [at for at in range(len(cells)) if tuple(cells[at + 1 : at + 4]) == OUTPUT]
            if not outputs:
                raise wrong_kind(path, line, TABLE, dict.fromkeys(cells))
            continue
        shown = ",".join(cells)[:SHOWN]
        if len(cells) != len(header):
            reason = f"expected {len(header)} cells, found {len(cells)}"
            yield Reject(line, reason, shown)
            continue
        test = _test(header[: outputs[0]], cells)
        for index, at in enumerate(outputs):
            end = outputs[index + 1] if index + 1 < len(outputs) else len(header)
            given = dict(zip(header[at + 1 : end], cells[at + 1 : end], strict=True))
            if not given["Status"]:  # promptfoo did not ask this provider
                continue
            try:
                result = _result(header[at], _unescaped(cells[at]), given)
            except NotJsonError as error:
                yield Reject(line, f"{header[at]}: Named Scores: expected JSON ({error})", shown)
                continue
            except ValueError as error:
                yield Reject(line, f"{header[at]}: {error}", shown)
                continue
            numbers = {"promptIdx": index, "testIdx": position - 1}
            yield Row({**test, **numbers, **result}, line, shown)


def _test(header: Sequence[str], cells: Sequence[str]) -> dict[str, Any]:
    """Return the test case of a row: its variables, those of other tests, which are empty, not."""
    described = header[:1] == ["Description"]
    given = zip(header[described:], map(_unescaped, cells[described : len(header)]), strict=True)
    variables = {name: cell for name, cell in given if cell}
    test = {"description": cells[0]} if described and cells[0] else {}
    return {"vars": variables, "testCase": test}


def _result(name: str, output: str, given: dict[str, str]) -> dict[str, Any]:
    """Return the result of an output from the columns behind it."""
    if given["Status"] not in _STATUS:
        raise ValueError(f"Status: expected PASS, FAIL or ERROR, found {given['Status']!r}")
    named = _SYSTEM.fullmatch(name)
    failure = _STATUS[given["Status"]]
    reason = _unescaped(given.get("Grader Reason", ""))
    grading = {"reason": reason, "comment": given.get("Comment")}
    return {
        "provider": named[1] if named else name,
        "prompt": {"label": named[2] if named else ""},
        "response": {"output": None if failure == FAILED else output},
        "success": failure == 0,
        "failureReason": failure,
        "error": reason if failure else None,
        "score": _score(given["Score"]),
        "namedScores": decode(given["Named Scores"]) if given["Named Scores"] else {},
        "gradingResult": {name: text for name, text in grading.items() if text},
    }


def _score(cell: str) -> float | None:
    try:
        return float(cell) if cell else None
    except ValueError:
        raise ValueError(f"Score: expected a number, found {cell[:60]!r}") from None


def _unescaped(cell: str) -> str:
    """Return a cell without the quotation mark before what spreadsheets take for a formula."""
    is_escaped = cell.startswith("'") and cell[1:].lstrip()[:1] in tuple("=@+-")
    return cell[1:] if is_escaped else cell
