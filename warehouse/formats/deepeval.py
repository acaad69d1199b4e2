"""DeepEval: datasets with test cases, and the test runs that `deepeval test run` writes."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from warehouse.errors import InputError, Problem
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.readers import field_mapping
from warehouse.formats.readers.exports import (
    element_row,
    first_character,
    id_of_text,
    reported_of,
    require_kind,
    tags_of,
    wrong_kind,
)
from warehouse.formats.readers.files import kind
from warehouse.formats.readers.nested_json import NestedJson
from warehouse.formats.readers.rows import Row, rows
from warehouse.formats.readers.strict_json import NotJsonError, decode
from warehouse.formats.readers.tabular import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from records.prediction import Prediction
    from records.question import Question

NAMES: Final = {
    "question_id": "name",
    "question": "input",
    "answer": "actual_output",
    "expected_answer": "expected_output",
    "contexts": "retrieval_context",
    "retrieved": "retrieval_context",
    "latency_s": "completion_time",
    "cost_usd": "token_cost",
    "tags": "metadata",
    "expected_tool_calls": "expected_tools",
    "messages": "tools_called",
    "tokens_in": "input_token_count",
    "tokens_out": "output_token_count",
}
"""DeepEval's names for fields of a question or prediction."""

WRITTEN: Final = {
    "actualOutput": "actual_output",
    "expectedOutput": "expected_output",
    "retrievalContext": "retrieval_context",
    "additionalMetadata": "metadata",
    "additional_metadata": "metadata",
    "customColumnKeyValues": "custom_column_key_values",
    "tokenCost": "token_cost",
    "completionTime": "completion_time",
    "toolsCalled": "tools_called",
    "expectedTools": "expected_tools",
    "sourceFile": "source_file",
    "metricsData": "metrics_data",
    "inputTokenCount": "input_token_count",
    "outputTokenCount": "output_token_count",
}
"""The names in test runs, with those in datasets."""

OF_QUESTION: Final = (
    "context",
    "comments",
    "source_file",
    "metadata",
    "custom_column_key_values",
)
"""The fields that stay in the `extra` of the question."""

SHAPE: Final = Shape(
    json=frozenset({"tools_called", "expected_tools", "additional_metadata", "expectations"})
    | {"custom_column_key_values"},
    numbers=frozenset({"token_cost", "completion_time", "input_token_count", "output_token_count"}),
)
CALL: Final = {"inputParameters": "arguments", "input_parameters": "arguments"}
"""DeepEval's names for members of a call of a tool."""

DELIMITER: Final = "|"
"""What DeepEval writes between the texts of a list in CSV and JSON Lines."""

EMPTY: Final[tuple[object, ...]] = (None, "", [], {})
AUTOMATIC: Final = re.compile(r"(conversational_)?test_case_\d+")
CONVERSATION: Final = frozenset({"turns", "scenario"})
"""The fields of which a conversation or its golden has one, instead of an input."""

SOURCE: Final = re.compile(r"deepeval_source=(.*?),deepeval_context=(.*)", re.DOTALL)
EXPECTED: Final = "DeepEval's test cases, each with 'input'"


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read the questions of test cases and goldens.

    The id is the name of the test case, or else follows from its input. Numbers and short texts of
    the metadata become tags. A golden and its test case are one question.
    """
    return field_mapping.questions(_merged(_rows(source)), _question, NAMES)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read outputs, contexts, calls of tools, and the scores and verdicts of DeepEval's metrics.

    Goldens without an output are not yielded.

    Raises:
        InputError: The file cannot be read, or no test case in it has an output.
    """
    translate = partial(_prediction, has_system=source.system is not None)
    return field_mapping.predictions(_answered(source), source, translate, NAMES)


def _answered(source: Source) -> Iterator[Row | Reject]:
    goldens, others = 0, 0
    for row in _merged(_rows(source)):
        if isinstance(row, Row) and "input" in row.fields and not _is_answered(row.fields):
            goldens += 1
            continue
        others += 1
        yield row
    if goldens and not others:
        said = f"expected test cases with actual_output, found {goldens:,} goldens without one"
        raise InputError([Problem(source.path, None, said)])


def _merged(given: Iterator[Row | Reject]) -> Iterator[Row | Reject]:
    """Yield rows, of which a golden and its test case are one; it is rejected if they differ."""
    found: list[Row | Reject] = []
    places: dict[str, int] = {}
    for row in _named(given):
        if isinstance(row, Reject) or not isinstance(row.fields.get("input"), str):
            found.append(row)
            continue
        place = places.setdefault(str(_id(row.fields)), len(found))
        first = found[place] if place < len(found) else None
        found.append(row)
        if isinstance(first, Row):
            joined = _joined(first, row)
            if isinstance(joined, Row):
                found[place] = joined
                found.pop()
            elif _is_answered(first.fields) != _is_answered(row.fields):
                found[-1] = joined
    yield from found


def _joined(first: Row, second: Row) -> Row | Reject:
    """Return two rows as one with the fields of both; rejected if they differ in any."""
    fields, differing = dict(first.fields), []
    for name, given in second.fields.items():
        own = fields.get(name)
        if isinstance(own, dict) and isinstance(given, dict):
            shared = own.keys() & given
            differing += [f"{name}.{each}" for each in shared if own[each] != given[each]]
            fields[name] = {**own, **given}
        elif own in EMPTY:
            fields[name] = given
        elif name != "name" and given not in EMPTY and given != own:
            differing.append(name)
    if not differing:
        last = second if _is_answered(second.fields) else first
        return Row(fields, last.line, last.text)
    place = "" if first.line is None else f" in line {first.line}"
    said = f"the golden and the test case{place} differ in {', '.join(sorted(differing))}"
    return Reject(second.line, said, second.text)


def _named(given: Iterator[Row | Reject]) -> Iterator[Row | Reject]:
    """Yield rows, of which those without a name have that of the only other row with this input."""
    rows = list(given)
    names: dict[object, set[str]] = {}
    for row in rows:
        name = _name(row.fields) if isinstance(row, Row) else None
        if isinstance(row, Row) and name is not None and isinstance(row.fields.get("input"), str):
            names.setdefault(row.fields["input"], set()).add(name)
    for row in rows:
        if isinstance(row, Reject) or not isinstance(row.fields.get("input"), str):
            yield row
            continue
        known = names.get(row.fields["input"], set())
        if _name(row.fields) is None and len(known) == 1:
            yield Row({**row.fields, "name": next(iter(known))}, row.line, row.text)
        else:
            yield row


def _is_answered(fields: dict[str, Any]) -> bool:
    names = ("actual_output", "retrieval_context", "turns")
    return any(fields.get(name) is not None for name in names)


def _rows(source: Source) -> Iterator[Row | Reject]:
    path = source.path
    if kind(path) == ".json" and first_character(path) == "{":
        given = _test_run(path)
    else:
        given = rows(path, key="name", shape=SHAPE)
    plain = (row if isinstance(row, Reject) else _renamed(row) for row in given)
    return require_kind(plain, path, EXPECTED, {"input", "turns"})


def _renamed(row: Row) -> Row:
    fields = {WRITTEN.get(name, name): value for name, value in row.fields.items()}
    return Row(fields, row.line, row.text)


def _test_run(path: Path) -> Iterator[Row | Reject]:
    """Yield the test cases of a test run, with its identifier."""
    file = NestedJson(path)
    run = file.member(file.root, "testRunData") or file.root
    fields = run.value if isinstance(run.value, dict) else {}
    lists = [file.member(run, name) for name in ("testCases", "conversationalTestCases")]
    if not any(each is not None and isinstance(each.value, list) for each in lists):
        expected = "a DeepEval test run with the list 'testCases', or a list of test cases"
        raise wrong_kind(path, file.line(run.begin), expected, fields)
    name = fields.get("identifier")
    for cases in lists:
        if cases is None or not isinstance(cases.value, list):
            continue
        for element in file.elements(cases):
            row = element_row(file, element, "testCases")
            if isinstance(row, Row) and isinstance(name, str):
                row = Row({"identifier": name, **row.fields}, row.line, row.text)
            yield row


def _input(fields: dict[str, Any]) -> str:
    given = fields.get("input")
    if fields.get("turns") is not None or (given is None and CONVERSATION & fields.keys()):
        raise RecordError(["turns: expected input, found a conversation of several turns"])
    if given is None:
        raise RecordError(["input: missing"])
    if not isinstance(given, str):
        raise RecordError([f"input: expected text, found {found(given)}"])
    return given


def _name(fields: dict[str, Any]) -> str | None:
    """Return the name that a user gave a test case or golden."""
    name = fields.get("name")
    return name if isinstance(name, str) and name and not AUTOMATIC.fullmatch(name) else None


def _id(fields: dict[str, Any]) -> object:
    name = fields.get("name")
    if name in (None, "") or (isinstance(name, str) and AUTOMATIC.fullmatch(name)):
        return id_of_text(_input(fields))
    return name


def _question(row: Row, _: int) -> dict[str, Any]:
    fields = row.fields
    record: dict[str, Any] = {"question": _input(fields), "question_id": _id(fields)}
    if fields.get("expected_output") is not None:
        record["expected_answer"] = fields["expected_output"]
    if fields.get("expected_tools"):
        record["expected_tool_calls"] = _calls(fields["expected_tools"], "expected_tools")
    tags = {**tags_of(fields.get("custom_column_key_values")), **tags_of(fields.get("metadata"))}
    if tags:
        record["tags"] = tags
    kept = {name: fields[name] for name in OF_QUESTION if fields.get(name) is not None}
    if isinstance(kept.get("context"), str):
        kept["context"] = _texts(kept["context"], "context")
    return {**record, "extra": kept}


def _prediction(row: Row, _: int, *, has_system: bool) -> dict[str, Any]:
    fields = {name: value for name, value in row.fields.items() if value is not None}
    record: dict[str, Any] = {
        "question": _input(row.fields),
        "question_id": _id(row.fields),
        "answer": fields.pop("actual_output", None),
        "latency_s": fields.pop("completion_time", None),
        "cost_usd": fields.pop("token_cost", None),
        "tokens_in": fields.pop("input_token_count", None),
        "tokens_out": fields.pop("output_token_count", None),
        "messages": _messages(fields.pop("tools_called", None)),
        **_contexts(fields.pop("retrieval_context", None)),
    }
    record["reported"] = reported_of(_scores(fields.get("metrics_data")))
    run = fields.pop("identifier", None)
    system = fields.pop("system", run)
    if not has_system:
        record["system"] = system
    left = {"input", "name", "expected_output", "expected_tools", "order", *OF_QUESTION}
    return {**record, "extra": {name: fields[name] for name in fields.keys() - left}}


def _scores(given: object) -> Iterator[tuple[str, object]]:
    """Yield the score of each metric, and whether it passed; nothing if the metric failed."""
    for each in given if isinstance(given, list) else []:
        if isinstance(each, dict) and isinstance(each.get("name"), str) and not each.get("error"):
            yield each["name"], each.get("score")
            yield f"{each['name']}.passed", each.get("success")


def _calls(given: object, name: str) -> list[dict[str, Any]]:
    """Return calls of tools, which older files only name.

    Raises:
        RecordError: They are not a list of names and objects.
    """
    if not isinstance(given, list):
        raise RecordError([f"{name}: expected a list, found {found(given)}"])
    calls: list[dict[str, Any]] = []
    for position, each in enumerate(given):
        if not isinstance(each, dict | str):
            said = f"{name}[{position}]: expected an object, found {found(each)}"
            raise RecordError([said])
        call: dict[str, Any] = {"name": each} if isinstance(each, str) else each
        fields = {CALL.get(member, member): value for member, value in call.items()}
        if fields.get("type") == "FUNCTION":
            del fields["type"]
        calls.append(fields)
    return calls


def _messages(given: object) -> list[dict[str, Any]] | None:
    """Return the calls of tools as a message, and their results as one message each."""
    if given in (None, []):
        return None
    calls, results = [], []
    for number, each in enumerate(_calls(given, "tools_called"), start=1):
        call = {"id": str(number), **each}
        output = call.pop("output", None)
        calls.append(call)
        if output is not None:
            text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
            results.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    return [{"role": "assistant", "tool_calls": calls}, *results]


def _contexts(given: object) -> dict[str, Any]:
    """Return the contexts, or the retrieved documents where all contexts name a source."""
    texts = _texts(given, "retrieval_context") if isinstance(given, str) else given
    if not isinstance(texts, list):
        return {} if texts is None else {"contexts": texts}
    pairs = [_sourced(each) for each in texts]
    sources = [name for name, _ in pairs if name]
    if pairs and len(sources) == len(pairs):
        return {"retrieved": [{"doc_id": name, "text": text} for name, text in pairs]}
    return {"contexts": [text for _, text in pairs]}


def _sourced(given: object) -> tuple[object, object]:
    """Return the source, null if there is none, and the text of a context."""
    if isinstance(given, dict):
        return given.get("source"), given.get("context")
    match = SOURCE.fullmatch(given) if isinstance(given, str) else None
    return (match[1], match[2]) if match else (None, given)


def _texts(cell: str, name: str) -> list[Any]:
    """Return the texts of a list in a cell."""
    if not cell.startswith("["):
        return cell.split(DELIMITER) if cell else []
    try:
        texts = decode(cell)
    except NotJsonError:
        return cell.split(DELIMITER)
    if not isinstance(texts, list):
        raise RecordError([f"{name}: expected a list, found {found(texts)}"])
    return texts


SEVERAL_ANSWERS: Final = (
    "if they are different questions, give each test case a 'name' of its own; DeepEval numbers no "
    "answers to the same question: write those as the format 'canonical', with the field 'repeat'"
)

FORMAT: Final = Format(
    name="deepeval",
    summary="DeepEval's datasets and test runs: input, output and retrieval context of test cases.",
    questions=read_questions,
    predictions=read_predictions,
    questions_from="predictions",
    version=4,
    is_streamed=False,
    several_answers=SEVERAL_ANSWERS,
)
