"""MLflow: traces, the tables of its evaluations, and what was scored in them."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from warehouse.errors import InputError, Problem
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.mlflow_traces import (
    FACTS,
    INPUTS,
    REPORTED,
    TARGETS,
    Answered,
    answered,
)
from warehouse.formats.readers import field_mapping
from warehouse.formats.readers.conversations import (
    answer_text,
    question_text,
    retrieved_items,
)
from warehouse.formats.readers.exports import (
    element_row,
    first_character,
    id_of_text,
    repeat_of,
    reported_of,
    wrong_kind,
)
from warehouse.formats.readers.files import kind, lines
from warehouse.formats.readers.nested_json import NestedJson
from warehouse.formats.readers.rows import Row, json_lines, rows
from warehouse.formats.readers.strict_json import NotJsonError, decode
from warehouse.formats.readers.tabular import Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from records.prediction import Prediction
    from records.question import Question
    from warehouse.formats.readers.nested_json import Element

NAMES: Final = {
    "question": "inputs",
    "answer": "outputs",
    "expected_answer": "expectations",
    "expected_parts": FACTS,
    "gold_doc_ids": "expected_retrieved_context",
    "latency_s": "execution_duration",
    "started_at": "request_time",
    "reported": "assessments",
    "tokens_in": "mlflow.trace.tokenUsage",
    "tokens_out": "mlflow.trace.tokenUsage",
}
"""MLflow's names for fields of a question or prediction."""

SYSTEMS: Final = ("mlflow.modelId", "mlflow.sourceRun", "mlflow.traceName")
"""The metadata of MLflow that names the system, after `system` in the tags or in the inputs."""

PREVIEWS: Final = (
    "some traces have no spans: their questions and answers are previews, which MLflow truncates"
)
"""The note on a file with such traces."""

SCORER: Final = "mlflow.trace.sourceScorer"
"""The tag of traces in which a scorer of MLflow called a judge."""

SEVERAL_ANSWERS: Final = (
    "if they are different questions, give each trace a tag 'question_id' of its own; if the "
    "question was asked several times, number the traces from 0 by a tag 'repeat'"
)
"""What to do about a second answer of a system to a question."""

ROLES: Final = frozenset({"system", "user", "assistant", "tool"})
EXPECTED: Final = "traces of MLflow, or the table of an evaluation"
SHAPE: Final = Shape()


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read the inputs and expectations of traces and tables.

    The id is `question_id` of the tags or inputs, or else follows from the inputs.
    """
    translate = partial(_question, tags=source.tags)
    return field_mapping.questions(_answers(source), translate, NAMES)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read outputs, what retrievers returned, and what MLflow's scorers reported."""
    has_system = source.system is not None
    translate = partial(_prediction, has_system=has_system)
    return field_mapping.predictions(_answers(source), source, translate, NAMES)


def _answers(source: Source) -> Iterator[Row | Reject]:
    """Yield the answers of a file, each as a row, but for the traces of MLflow's own scorers."""
    skipped = 0
    for row in _rows(source.path):
        if isinstance(row, Reject):
            yield row
            continue
        try:
            answer = answered(row.fields, has_cells=kind(source.path) in {".csv", ".xlsx"})
        except RecordError as error:
            yield Reject(row.line, str(error), row.text)
            continue
        if SCORER in answer.own:
            skipped += 1
            continue
        if answer.is_preview and PREVIEWS not in source.notes:
            source.notes.append(PREVIEWS)
        yield Row({"answer": answer}, row.line, row.text)
    if skipped:
        source.notes.append(f"{skipped:,} traces of scorers are left out")


def _rows(path: Path) -> Iterator[Row | Reject]:
    is_object = kind(path) == ".json" and first_character(path) == "{"
    if is_object:
        given = json_lines(path) if _has_lines(path) else _nested(path)
    else:
        given = rows(path, key="trace_id", shape=SHAPE)
    return _require_mlflow(given, path)


def _require_mlflow(given: Iterable[Row | Reject], path: Path) -> Iterator[Row | Reject]:
    """Yield rows if the first one is of a trace or of a table of MLflow.

    Raises:
        InputError: It is not.
    """
    is_first = True
    for row in given:
        if is_first and isinstance(row, Row):
            is_first = False
            if not _is_known(row.fields):
                raise wrong_kind(path, row.line, EXPECTED, row.fields)
        yield row


def _is_known(fields: Mapping[str, Any]) -> bool:
    is_trace = "trace_id" in fields and not {"state", "assessments"}.isdisjoint(fields)
    names = {"trace", "inputs", "outputs", "predictions"}
    is_full = isinstance(fields.get("info"), dict) and "data" in fields
    return (
        is_trace or is_full or not names.isdisjoint(fields) or any(map(REPORTED.fullmatch, fields))
    )


def _has_lines(path: Path) -> bool:
    """Return whether a file has an object on its first line, and more lines."""
    start = [line for _, line in zip(range(2), lines(path), strict=False)]
    if len(start) == 1 or isinstance(start[0], Reject):
        return False
    try:
        return isinstance(decode(start[0].text), dict)
    except NotJsonError:
        return False


def _nested(path: Path) -> Iterator[Row | Reject]:
    """Yield the rows of a JSON object: a trace, a list of them, or a table by rows or columns."""
    file = NestedJson(path)
    for name in ("traces", "data"):
        listed = file.member(file.root, name)
        columns = file.root.value.get("columns")
        if listed is None or not isinstance(listed.value, list):
            continue
        for element in file.elements(listed):
            if name == "data" and isinstance(columns, list):
                element = _named(file, element, columns)  # noqa: PLW2901 - the same row
            yield element_row(file, element, name)
        return
    if all(isinstance(each, dict) for each in file.root.value.values()) and (
        "info" not in file.root.value
    ):
        yield from _transposed(file)
    else:
        yield Row(file.root.value, file.line(file.root.begin), file.shown(file.root))


def _named(file: NestedJson, element: Element, columns: list[Any]) -> Element:
    if not isinstance(element.value, list) or len(element.value) != len(columns):
        raise file.wrong(f"data: expected a row of {len(columns)} values", element.begin)
    named = dict(zip(map(str, columns), element.value, strict=True))
    return type(element)(named, element.begin)


def _transposed(file: NestedJson) -> Iterator[Row]:
    """Yield the rows of a table that pandas wrote column by column."""
    columns: dict[str, dict[str, Any]] = file.root.value
    first = next(iter(columns.values()), {})
    if not {"trace_id", *INPUTS} & columns.keys():
        raise wrong_kind(file.path, 1, EXPECTED, columns)
    for name, values in columns.items():
        if values.keys() != first.keys():
            message = f"{name}: expected the rows that the other columns have"
            raise InputError([Problem(file.path, None, message)])
    for index in first:
        fields = {name: values[index] for name, values in columns.items()}
        yield Row(fields, 1, str(fields)[:500])


def _asked(answer: Answered) -> tuple[object, str]:
    """Return the id and the text of a question.

    Raises:
        RecordError: There is no input.
    """
    inputs = answer.inputs
    text = question_text(inputs, is_decoded=True)
    if text is None:
        raise RecordError([f"inputs: expected a question, found {found(inputs)}"])
    name = answer.tags.get("question_id")
    if isinstance(inputs, dict) and name is None:
        name = next((inputs[n] for n in ("question_id", "id") if inputs.get(n) is not None), None)
    if name is not None:
        return name, text
    # The same question with other variables, or within another conversation, is another one.
    return id_of_text(text if _is_alone(inputs) else json.dumps(inputs, sort_keys=True)), text


def _earlier_messages(inputs: object) -> list[dict[str, Any]]:
    """Return the conversation before the question, if the inputs are messages."""
    if isinstance(inputs, dict):
        inputs = inputs.get("messages", inputs.get("input"))
    if not isinstance(inputs, list) or not all(
        isinstance(each, dict) and str(each.get("role")) in ROLES for each in inputs
    ):
        return []
    return inputs[:-1] if inputs and inputs[-1]["role"] == "user" else []


def _is_alone(inputs: object) -> bool:
    """Return whether the question is all that a system was given."""
    if isinstance(inputs, dict):
        return len(inputs) == 1 and _is_alone(next(iter(inputs.values())))
    if isinstance(inputs, list):
        return len(inputs) == 1
    return True


def _question(row: Row, _: int, *, tags: Iterable[str]) -> dict[str, Any]:
    answer: Answered = row.fields["answer"]
    name, text = _asked(answer)
    record: dict[str, Any] = {"question_id": name, "question": text}
    before = _earlier_messages(answer.inputs)
    if before:
        record["messages"] = before
    given = dict(answer.expectations)
    facts = given.get(FACTS)
    if isinstance(facts, list) and facts and all(isinstance(each, str) for each in facts):
        record["expected_parts"] = given.pop(FACTS)
        record["expected_answer"] = "\n".join(facts)
    expected = next((given.pop(each) for each in TARGETS if given.get(each) is not None), None)
    if expected is not None:
        is_list = isinstance(expected, list) and all(isinstance(e, str) for e in expected)
        record["expected_answer"] = expected if is_list else answer_text(expected, is_decoded=True)
    context = _listed(given.get("expected_retrieved_context"))
    uris = [each.get("doc_uri") for each in context if isinstance(each, dict)]
    if uris and len(uris) == len(context) and all(isinstance(e, str) for e in uris):
        record["gold_doc_ids"] = list(dict.fromkeys(uris))
    calls = _listed(given.get("expected_tool_calls"))
    if calls and all(isinstance(each, dict) and "name" in each for each in calls):
        record["expected_tool_calls"] = given.pop("expected_tool_calls")
    kept: dict[str, Any] = {"expectations": given} if given else {}
    if not _is_alone(answer.inputs):
        kept["inputs"] = answer.inputs
    known = {**answer.kept, **(answer.inputs if isinstance(answer.inputs, dict) else {})}
    known |= answer.tags
    kept |= {each: known[each] for each in tags if known.get(each) is not None}
    return {**record, "extra": kept}


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _prediction(row: Row, _: int, *, has_system: bool) -> dict[str, Any]:
    answer: Answered = row.fields["answer"]
    name, text = _asked(answer)
    record: dict[str, Any] = {"question_id": name, "question": text, **answer.measured}
    if not has_system:
        record["system"] = _system(answer)
    record["repeat"] = repeat_of(answer.tags)
    retrieved = retrieved_items(answer.documents)
    if retrieved is not None:
        record["retrieved"] = retrieved
    elif answer.contexts is not None:
        contexts = answer.contexts
        record["contexts"] = [contexts] if isinstance(contexts, str) else contexts
    if answer.error is not None and (answer.error != "there is no output" or not retrieved):
        record["error"] = answer.error
    else:
        record["answer"] = answer_text(answer.outputs, is_decoded=True)
    record["reported"] = reported_of(answer.reported)
    kept = {**answer.kept, "assessments": answer.assessments or None}
    return {**record, "extra": {n: v for n, v in kept.items() if v is not None}}


def _system(answer: Answered) -> object:
    inputs = answer.inputs if isinstance(answer.inputs, dict) else {}
    known = (answer.tags.get("system"), answer.kept.get("system"), answer.kept.get("model"))
    own = (answer.own.get(each) for each in SYSTEMS)
    return next((e for e in (*known, inputs.get("system"), *own) if e not in (None, "")), None)


FORMAT: Final = Format(
    name="mlflow",
    summary="MLflow's traces and tables of evaluations: inputs, outputs, expectations and scores.",
    questions=read_questions,
    predictions=read_predictions,
    questions_from="predictions",
    several_answers=SEVERAL_ANSWERS,
    version=2,
)
