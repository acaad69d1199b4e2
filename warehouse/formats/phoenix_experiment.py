"""Phoenix's experiments: the runs of a task on the examples of a dataset, as JSON or CSV."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from records.record import integer
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.readers import field_mapping
from warehouse.formats.readers.cells.lists import parse
from warehouse.formats.readers.conversations import (
    ANSWERED,
    answer_text,
    expected_answer,
    question_text,
    retrieved_items,
)
from warehouse.formats.readers.exports import (
    first_character,
    reported_of,
    require_kind,
    seconds_of,
    tags_of,
    wrong_kind,
)
from warehouse.formats.readers.files import kind
from warehouse.formats.readers.nested_json import NestedJson
from warehouse.formats.readers.rows import Row, rows
from warehouse.formats.readers.tabular import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from records.prediction import Prediction
    from records.question import Question

NAMES: Final = {
    "question_id": "example_id",
    "question": "input",
    "expected_answer": "reference_output",
    "answer": "output",
    "contexts": "output",
    "retrieved": "output",
    "repeat": "repetition_number",
    "latency_s": "latency_ms",
    "tokens_in": "prompt_token_count",
    "tokens_out": "completion_token_count",
    "started_at": "start_time",
    "ended_at": "end_time",
    "reported": "annotations",
}
"""Phoenix's names for fields of a question or prediction."""

NUMBERS: Final = ("repetition_number", "latency_ms", "prompt_token_count", "completion_token_count")
SHAPE: Final = Shape(
    json=frozenset({"input", "reference_output", "metadata"}), numbers=frozenset(NUMBERS)
)
CONTEXTS: Final = ("contexts", "retrieved_contexts", "documents", "context", "sources")
"""The members of an output that hold what was retrieved, the preferred one first."""

TEXTS: Final = ("page_content", "content", "text", "document.content")
IDS: Final = ("doc_id", "id", "document_id", "document.id")
LIST: Final = re.compile(r"\[\s*\{")
"""The beginning of a list of objects, such as messages."""

SAID: Final = ("label", "explanation", "error")
"""What annotations say beside a score."""

COLUMN: Final = re.compile(r"annotation_(.+)_(score|label|explanation|error)", re.DOTALL)
EXPECTED: Final = (
    "runs of an experiment as Phoenix downloads them, each with 'example_id', "
    "'repetition_number', 'input' and 'output'"
)


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read the examples: the id, the input, and the reference output."""
    return field_mapping.questions(_rows(source.path), _question, NAMES)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read the runs, one answer for each repetition; scores of annotations are reported."""
    translate = partial(_prediction, is_csv=kind(source.path) == ".csv")
    return field_mapping.predictions(_rows(source.path), source, translate, NAMES)


def _rows(path: Path) -> Iterator[Row | Reject]:
    if kind(path) == ".json" and first_character(path) == "{":
        file = NestedJson(path)
        raise wrong_kind(path, file.line(file.root.begin), EXPECTED, file.root.value)
    given = rows(path, key="example_id", shape=SHAPE, may_have_index=True)
    return require_kind(
        given, path, EXPECTED, {"example_id"}, {"repetition_number", "reference_output"}
    )


def _asked(fields: dict[str, Any]) -> str:
    text = question_text(fields.get("input"), is_decoded=True)
    if text is None:
        raise RecordError(["input: missing"])
    return text


def _question(row: Row, _: int) -> dict[str, Any]:
    fields = row.fields
    given, reference = fields.get("input"), fields.get("reference_output")
    record: dict[str, Any] = {"question_id": fields.get("example_id"), "question": _asked(fields)}
    record["expected_answer"] = _expected(reference)
    kept = {"input": given, "reference_output": reference}
    # What is the question or the expected answer alone needs no second copy.
    record["extra"] = {
        name: value for name, value in kept.items() if isinstance(value, dict) and len(value) > 1
    }
    record["tags"] = tags_of(fields.get("metadata")) or None
    return {name: value for name, value in record.items() if value is not None}


def _expected(reference: object) -> list[str] | str | None:
    """Return the expected answer, or its alternatives, in a reference output."""
    if isinstance(reference, dict):
        named = expected_answer(reference)
        if named is None:
            named = next((reference[name] for name in ANSWERED if reference.get(name)), reference)
        reference = named
    if isinstance(reference, list) and all(isinstance(each, str) for each in reference):
        return reference or None
    return answer_text(reference, is_decoded=True)


def _prediction(row: Row, _: int, *, is_csv: bool) -> dict[str, Any]:
    fields = row.fields
    output = _output(fields.get("output")) if is_csv else fields.get("output")
    record: dict[str, Any] = {
        "question_id": fields.get("example_id"),
        "question": _asked(fields),
        "repeat": _repeat(fields.get("repetition_number")),
        "latency_s": seconds_of(fields.get("latency_ms"), "latency_ms"),
        "tokens_in": fields.get("prompt_token_count"),
        "tokens_out": fields.get("completion_token_count"),
        "started_at": fields.get("start_time"),
        "ended_at": fields.get("end_time"),
        "trace_id": fields.get("trace_id"),
    }
    fault = fields.get("error")
    if fault not in (None, ""):
        record["error"] = str(fault).strip() or "the run has an error"
    else:
        record["answer"] = output if output == "" else answer_text(output, is_decoded=True)
        record["retrieved"] = _retrieved(output)
        if record["answer"] is None and not record["retrieved"]:
            record["error"] = "there is no output"
    annotations = list(_annotations(fields))
    record["reported"] = reported_of((name, each["score"]) for name, each in annotations)
    said = {
        name: {key: each[key] for key in SAID if each[key] not in (None, "")}
        for name, each in annotations
    }
    kept = {
        "annotations": {name: each for name, each in said.items() if each} or None,
        "output": output if isinstance(output, dict | list) else None,
    }
    return {**record, "extra": {name: value for name, value in kept.items() if value is not None}}


def _output(cell: object) -> Any:
    """Return the output in a cell: Phoenix writes objects as JSON, and pandas prints lists."""
    if isinstance(cell, str) and (cell.startswith("{") or LIST.match(cell)):
        try:
            return parse(cell, "output")
        except RecordError:
            return cell
    return cell


def _repeat(number: Any) -> Any:
    """Return the repeat, from 0, of a repetition, from 1."""
    number = integer(number)
    if number is None:
        return 0
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        said = f"repetition_number: expected a whole number from 1, found {found(number)}"
        raise RecordError([said])
    return number - 1


def _retrieved(output: object) -> list[dict[str, Any]] | None:
    """Return what an output says was retrieved: texts or documents; null if it says nothing."""
    if not isinstance(output, dict):
        return None
    given = next((output[name] for name in CONTEXTS if output.get(name) is not None), None)
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list):
        return None
    documents: list[tuple[object, object, object]] = []
    for each in given:
        document = each if isinstance(each, dict) else {TEXTS[0]: each}
        inner = document.get("document")
        document = {**inner, **document} if isinstance(inner, dict) else document
        name = next((document[key] for key in IDS if document.get(key) is not None), None)
        text = next((document[key] for key in TEXTS if isinstance(document.get(key), str)), None)
        score = document.get("score")
        name = integer(name)
        documents.append((str(name) if isinstance(name, int) else name, text, score))
    return retrieved_items([documents])


def _annotations(fields: dict[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the annotations of a run by name: a list in JSON, columns in CSV."""
    listed = fields.get("annotations")
    for each in listed if isinstance(listed, list) else []:
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            yield each["name"], defaultdict(lambda: None, each)
    columns: dict[str, dict[str, Any]] = {}
    for column, value in fields.items():
        match = COLUMN.fullmatch(column)
        if match is not None:
            columns.setdefault(match[1], defaultdict(lambda: None))[match[2]] = value
    yield from columns.items()


SEVERAL_ANSWERS: Final = (
    "Phoenix numbers several answers from 1 by 'repetition_number' (`repetitions` of the "
    "experiment); give another experiment a system of its own by {system} in the path"
)

FORMAT: Final = Format(
    name="phoenix-experiment",
    summary="Experiments of Phoenix: the runs of a task on the examples of a dataset.",
    questions=read_questions,
    predictions=read_predictions,
    questions_from="predictions",
    several_answers=SEVERAL_ANSWERS,
)
