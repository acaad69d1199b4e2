"""What MLflow wrote about one answer, in a trace or a row of a table, in one form."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from warehouse.formats.mlflow_spans import (
    Span,
    documents_of,
    loose,
    number_of,
    object_of,
    of_preview,
    retrievers,
    unpacked,
    written,
)
from warehouse.formats.readers.conversations import ANSWERED, ASKED, EXPECTED
from warehouse.formats.readers.exports import is_missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from warehouse.formats.readers.conversations import Documents

EXPECTATION: Final = "expected_response"
FACTS: Final = "expected_facts"
"""The expectations of MLflow's own judges about the answer."""

REPORTED: Final = re.compile(r"(.+?)(?:/v\d+)?/(?:value|score)")
"""The columns with what MLflow scored, which newer versions call `value`."""

RATINGS: Final = {"yes": True, "no": False}
"""The texts that MLflow itself counts as passed and failed."""

INPUTS: Final = ("inputs", "request", *ASKED)
OUTPUTS: Final = ("outputs", "predictions", "prediction", *ANSWERED)
TARGETS: Final = ("targets", "target", EXPECTATION, *EXPECTED)
CONTEXTS: Final = ("retrieved_context", "retrieved_contexts", "contexts", "context")
"""The columns of tables whose names the user has chosen."""

_FAILED: Final = re.compile(r"(STATUS_CODE_|TraceState\.)?ERROR")
_OPEN: Final = re.compile(r"(TraceState\.)?IN_PROGRESS")


@dataclass(slots=True)
class Answered:
    """One answer with its question.

    Attributes:
        inputs: What the system was given.
        outputs: What it returned; null if nothing.
        error: The error with which it failed; null if it did not.
        expectations: What is known to be right, by name.
        reported: What was scored: names with numbers, true or false, or what is neither.
        assessments: What is left of the scores: rationales, errors and texts.
        documents: The documents of each retriever; null for one whose documents are unknown.
        contexts: The contexts in a column of their own; null if there is none.
        tags: The tags and metadata of the user.
        own: The metadata of MLflow.
        measured: Fields of the prediction: tokens, latency, times, cost, the trace.
        kept: All other fields.
        is_preview: Whether the inputs are a preview, which may be truncated.
    """

    inputs: Any = None
    outputs: Any = None
    error: str | None = None
    expectations: dict[str, Any] = field(default_factory=dict)
    reported: list[tuple[str, object]] = field(default_factory=list)
    assessments: list[dict[str, Any]] = field(default_factory=list)
    documents: list[Documents | None] = field(default_factory=list)
    contexts: Any = None
    tags: dict[str, Any] = field(default_factory=dict)
    own: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    is_preview: bool = False

    def report(self, name: str, value: object) -> None:
        """Keep a score: yes and no are true and false; objects have a score by member."""
        if isinstance(value, dict):
            for member, each in value.items():
                self.report(f"{name}/{member}", each)
        else:
            rating = RATINGS.get(value.strip().lower()) if isinstance(value, str) else None
            self.reported.append((name, value if rating is None else rating))


def answered(fields: Mapping[str, Any], *, has_cells: bool = False) -> Answered:
    """Return the answer of a row: of a trace, a table of traces, or a table of the user.

    Args:
        fields: The fields of the row.
        has_cells: Whether lists and objects are texts, as in CSV files.

    Raises:
        RecordError: A part of it is not as MLflow writes it.
    """
    given = {n: value for n, value in fields.items() if not is_missing(value) and value != ""}
    if isinstance(given.get("trace"), str | dict):
        trace = written(given["trace"], "trace")
        if isinstance(trace, dict) and "info" in trace:
            given = trace
    if isinstance(given.get("info"), dict):
        data = object_of(given.get("data"), "data")
        texts = {name: loose(data.get(name)) for name in ("request", "response")}
        return _of_trace(given["info"], texts, data.get("spans"))
    if {"trace_id", "request_id"} & given.keys() and {"state", "status", "spans"} & given.keys():
        # MLflow has decoded the request and the response in tables of traces.
        texts = {"request": unpacked(given.get("request")), "response": given.get("response")}
        if has_cells:
            texts["response"] = unpacked(texts["response"])
        answer = _of_trace(given, texts, given.get("spans"))
        if "assessments" not in given:
            _add_columns(answer, given, has_cells=has_cells)
        return answer
    return _of_table(given, has_cells=has_cells)


def _of_trace(info: Mapping[str, Any], texts: Mapping[str, Any], spans: object) -> Answered:
    """Return the answer of a trace of version 2 or 3; `texts` has its request and response."""
    answer = Answered()
    listed = written(spans, "spans")
    if listed is not None and not isinstance(listed, list):
        raise RecordError([f"spans: expected a list, found {found(listed)}"])
    spans = [Span.of(each, at) for at, each in enumerate(listed or ())]
    answer.tags = object_of(info.get("tags"), "tags")
    name = "trace_metadata" if "trace_metadata" in info else "request_metadata"
    metadata = object_of(info.get(name), name)
    answer.own = {n: v for n, v in {**answer.tags, **metadata}.items() if n.startswith("mlflow.")}
    answer.tags = {
        n: v for n, v in {**metadata, **answer.tags}.items() if not n.startswith("mlflow.")
    }
    root = next((span for span in spans if span.parent is None), None)
    _add_texts(answer, info, texts, root)
    _add_state(answer, str(info.get("state", info.get("status", ""))), root)
    _add_measured(answer, info, spans)
    assessed = written(info.get("assessments"), "assessments") or []
    if not isinstance(assessed, list):
        raise RecordError([f"assessments: expected a list, found {found(assessed)}"])
    for at, each in enumerate(assessed):
        if not isinstance(each, dict):
            said = f"assessments[{at}]: expected an object, found {found(each)}"
            raise RecordError([said])
        _add_assessment(answer, each)
    answer.documents = [documents_of(span.outputs) for span in retrievers(spans)]
    kept = {name: info.get(name) for name in ("client_request_id",)}
    kept["session_id"] = answer.own.get("mlflow.trace.session")
    kept["user_id"] = answer.own.get("mlflow.trace.user")
    kept["trace_name"] = answer.own.get("mlflow.traceName")
    kept["run_id"] = answer.own.get("mlflow.sourceRun")
    kept["tags"] = answer.tags or None
    answer.kept = {name: value for name, value in kept.items() if value not in (None, "")}
    return answer


def _add_texts(
    answer: Answered, info: Mapping[str, Any], texts: Mapping[str, Any], root: Span | None
) -> None:
    if root is not None and root.inputs is not None:
        answer.inputs, answer.outputs = root.inputs, root.outputs
        return
    answer.inputs, answer.outputs = texts.get("request"), texts.get("response")
    answer.is_preview = answer.inputs is None
    if answer.inputs is None:
        given = (info.get("request_preview"), answer.own.get("mlflow.traceInputs"))
        answer.inputs = of_preview(next(filter(None, given), None))
    if answer.outputs in (None, ""):
        given = (info.get("response_preview"), answer.own.get("mlflow.traceOutputs"))
        answer.outputs = of_preview(next(filter(None, given), None))


def _add_state(answer: Answered, state: str, root: Span | None) -> None:
    if _FAILED.fullmatch(state) or (root is not None and _FAILED.fullmatch(root.status)):
        said = root.message if root is not None else None
        answer.error = str(said or "the trace has the state ERROR")
    elif _OPEN.fullmatch(state):
        answer.error = "the trace is not complete: IN_PROGRESS"
    elif answer.outputs in (None, ""):
        answer.error = "there is no output"


def _add_measured(answer: Answered, info: Mapping[str, Any], spans: Sequence[Span]) -> None:
    usage = object_of(answer.own.get("mlflow.trace.tokenUsage"), "mlflow.trace.tokenUsage")
    if not usage:
        used = [span.usage for span in spans if span.usage]
        names = ("input_tokens", "output_tokens")
        usage = {n: sum(number_of(each.get(n), n) or 0 for each in used) for n in names if used}
    cost = object_of(answer.own.get("mlflow.trace.cost"), "mlflow.trace.cost")
    durations = ("execution_duration_ms", "execution_duration", "execution_time_ms")
    name = next((each for each in durations if info.get(each) is not None), durations[0])
    took = number_of(info.get(name), name)
    begun = info.get("request_time", info.get("timestamp_ms"))
    milliseconds = number_of(begun, "request_time")
    answer.measured = {
        "tokens_in": usage.get("input_tokens"),
        "tokens_out": usage.get("output_tokens"),
        "cost_usd": cost.get("total_cost"),
        "latency_s": None if took is None else took / 1000,
        "started_at": begun if milliseconds is None else milliseconds / 1000,
        "trace_id": info.get("trace_id", info.get("request_id")),
    }


def _add_assessment(answer: Answered, given: Mapping[str, Any]) -> None:
    name = given.get("assessment_name") or given.get("name")
    if not isinstance(name, str) or given.get("valid") is False:
        return
    expectation, feedback = given.get("expectation"), given.get("feedback")
    if isinstance(expectation, dict):
        answer.expectations[name] = _assessed(expectation)
        return
    if not isinstance(feedback, dict):
        return
    value, error = _assessed(feedback), feedback.get("error")
    answer.report(name, value)
    source = given.get("source")
    kept = {
        "name": name,
        "value": value,
        "rationale": given.get("rationale"),
        "error": error.get("error_message") if isinstance(error, dict) else error,
        "source": source.get("source_id") if isinstance(source, dict) else source,
    }
    answer.assessments.append({n: v for n, v in kept.items() if v is not None})


def _assessed(given: Mapping[str, Any]) -> Any:
    serialized = given.get("serialized_value")
    if isinstance(serialized, dict):
        return loose(serialized.get("value"))
    return given.get("value")


def _add_columns(answer: Answered, fields: Mapping[str, Any], *, has_cells: bool) -> None:
    """Add what columns such as `exact/value` hold, where the assessments are not there."""
    for name, given in fields.items():
        match = REPORTED.fullmatch(name)
        if match is None:
            continue
        value = unpacked(given) if has_cells else given
        if match[1].startswith("expected_") or match[1] == "guidelines":
            answer.expectations[match[1]] = value
        else:
            answer.report(match[1], value)


def _of_table(given: Mapping[str, Any], *, has_cells: bool) -> Answered:
    """Return the answer of a row of a table whose columns the user has named."""
    answer = Answered()
    used = set()

    def take(names: Iterable[str], *, is_packed: bool = True) -> Any:
        name = next((each for each in names if each in given), None)
        used.add(name)
        value = None if name is None else given[name]
        return unpacked(value) if is_packed else value

    answer.inputs, answer.outputs = take(INPUTS), take(OUTPUTS, is_packed=has_cells)
    answer.contexts = take(CONTEXTS)
    expected = take(("expectations",))
    answer.expectations = dict(expected) if isinstance(expected, dict) else {}
    target = take(TARGETS, is_packed=has_cells)
    if target is not None:
        answer.expectations.setdefault(EXPECTATION, target)
    _add_columns(answer, given, has_cells=has_cells)
    latency = number_of(take(("latency",)), "latency")
    answer.measured = {"latency_s": latency, "trace_id": take(("trace_id",), is_packed=False)}
    error = take(("error", "error_message"), is_packed=False)
    if error is not None:
        answer.error = str(error)
    elif answer.outputs in (None, ""):
        answer.error = "there is no output"
    answer.tags = object_of(given.get("tags"), "tags")
    answer.kept = {n: v for n, v in given.items() if n not in used and not REPORTED.fullmatch(n)}
    return answer
