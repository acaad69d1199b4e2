"""What MLflow wrote about one answer, in a trace or a row of a table, in one form."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from warehouse.formats.readers.cells.lists import parse
from warehouse.formats.readers.conversations import ANSWERED, ASKED, EXPECTED
from warehouse.formats.readers.exports import outermost
from warehouse.formats.readers.strict_json import NotJsonError, decode

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
        reported: What was scored, by name.
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
    reported: dict[str, Any] = field(default_factory=dict)
    assessments: list[dict[str, Any]] = field(default_factory=list)
    documents: list[Documents | None] = field(default_factory=list)
    contexts: Any = None
    tags: dict[str, Any] = field(default_factory=dict)
    own: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    is_preview: bool = False

    def report(self, name: str, value: object) -> None:
        """Keep a score: a number, true or false, yes or no; objects have a score by member."""
        if isinstance(value, dict):
            for member, each in value.items():
                self.report(f"{name}/{member}", each)
        elif isinstance(value, bool | int | float):
            self.reported[name] = value
        elif isinstance(value, str) and value.strip().lower() in RATINGS:
            self.reported[name] = RATINGS[value.strip().lower()]


def answered(fields: Mapping[str, Any]) -> Answered:
    """Return the answer of a row: of a trace, a table of traces, or a table of the user.

    Raises:
        RecordError: A part of it is not as MLflow writes it.
    """
    given = {name: value for name, value in fields.items() if value is not None and value != ""}
    if isinstance(given.get("trace"), str | dict):
        trace = written(given["trace"], "trace")
        if isinstance(trace, dict) and "info" in trace:
            given = trace
    if isinstance(given.get("info"), dict):
        data = _object(given.get("data"), "data")
        return _of_trace(given["info"], data, data.get("spans"))
    if {"trace_id", "request_id"} & given.keys() and {"state", "status", "spans"} & given.keys():
        answer = _of_trace(given, given, given.get("spans"))
        if "assessments" not in given:
            _add_columns(answer, given)
        return answer
    return _of_table(given)


def written(value: object, place: str) -> Any:
    """Return the value of a text that begins like a list or object of JSON or Python.

    Raises:
        RecordError: It is none.
    """
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        return parse(value, place, "JSON")
    return value


def loose(value: object) -> Any:
    """Return the value that a text holds as JSON or as Python writes it, or else the text."""
    if not isinstance(value, str):
        return value
    try:
        return decode(value)
    except NotJsonError:
        pass
    try:
        return written(value, "")
    except RecordError:
        return value


def _object(value: object, place: str) -> dict[str, Any]:
    value = written(value, place)
    if value is None or value == "":
        return {}
    if isinstance(value, list) and all(isinstance(e, dict) and "key" in e for e in value):
        return {str(each["key"]): each.get("value") for each in value}
    if not isinstance(value, dict):
        raise RecordError([f"{place}: expected an object, found {found(value)}"])
    return value


def _of_trace(info: Mapping[str, Any], data: Mapping[str, Any], spans: object) -> Answered:
    """Return the answer of a trace of version 2 or 3; `data` has its request and response."""
    answer = Answered()
    listed = written(spans, "spans")
    if listed is not None and not isinstance(listed, list):
        raise RecordError([f"spans: expected a list, found {found(listed)}"])
    spans = [Span.of(each, at) for at, each in enumerate(listed or ())]
    answer.tags = _object(info.get("tags"), "tags")
    name = "trace_metadata" if "trace_metadata" in info else "request_metadata"
    metadata = _object(info.get(name), name)
    answer.own = {n: v for n, v in {**answer.tags, **metadata}.items() if n.startswith("mlflow.")}
    answer.tags = {
        n: v for n, v in {**metadata, **answer.tags}.items() if not n.startswith("mlflow.")
    }
    root = next((span for span in spans if span.parent is None), None)
    _add_texts(answer, info, data, root)
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
    answer.documents = [_documents(span.outputs) for span in _retrievers(spans)]
    kept = {name: info.get(name) for name in ("client_request_id",)}
    kept["session_id"] = answer.own.get("mlflow.trace.session")
    kept["user_id"] = answer.own.get("mlflow.trace.user")
    kept["trace_name"] = answer.own.get("mlflow.traceName")
    kept["run_id"] = answer.own.get("mlflow.sourceRun")
    kept["tags"] = answer.tags or None
    answer.kept = {name: value for name, value in kept.items() if value not in (None, "")}
    return answer


def _add_texts(
    answer: Answered, info: Mapping[str, Any], data: Mapping[str, Any], root: Span | None
) -> None:
    if root is not None and root.inputs is not None:
        answer.inputs, answer.outputs = root.inputs, root.outputs
        return
    full = data.get("request") if data.get("request") is not None else info.get("request")
    answer.is_preview = full is None
    previews = (info.get("request_preview"), answer.own.get("mlflow.traceInputs"))
    answer.inputs = loose(full if full is not None else next(filter(None, previews), None))
    returned = (
        *(data.get("response"), info.get("response"), info.get("response_preview")),
        answer.own.get("mlflow.traceOutputs"),
    )
    answer.outputs = loose(next((e for e in returned if e not in (None, "")), None))


def _add_state(answer: Answered, state: str, root: Span | None) -> None:
    if _FAILED.fullmatch(state) or (root is not None and _FAILED.fullmatch(root.status)):
        said = root.message if root is not None else None
        answer.error = str(said or "the trace has the state ERROR")
    elif _OPEN.fullmatch(state):
        answer.error = "the trace is not complete: IN_PROGRESS"
    elif answer.outputs in (None, ""):
        answer.error = "there is no output"


def _add_measured(answer: Answered, info: Mapping[str, Any], spans: Sequence[Span]) -> None:
    usage = _object(answer.own.get("mlflow.trace.tokenUsage"), "mlflow.trace.tokenUsage")
    if not usage:
        used = [span.usage for span in spans if span.usage]
        names = ("input_tokens", "output_tokens")
        usage = {n: sum(_number(each.get(n)) or 0 for each in used) for n in names} if used else {}
    cost = _object(answer.own.get("mlflow.trace.cost"), "mlflow.trace.cost")
    durations = ("execution_duration_ms", "execution_duration", "execution_time_ms")
    took = _number(next((info[name] for name in durations if info.get(name) is not None), None))
    begun = info.get("request_time", info.get("timestamp_ms"))
    milliseconds = _number(begun)
    answer.measured = {
        "tokens_in": usage.get("input_tokens"),
        "tokens_out": usage.get("output_tokens"),
        "cost_usd": cost.get("total_cost"),
        "latency_s": None if took is None else took / 1000,
        "started_at": begun if milliseconds is None else milliseconds / 1000,
        "trace_id": info.get("trace_id", info.get("request_id")),
    }


def _number(value: object) -> float | None:
    if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?s?", value):
        # The API writes durations such as `0.206s`.
        return float(value[:-1]) * 1000 if value.endswith("s") else float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None


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


def _add_columns(answer: Answered, fields: Mapping[str, Any]) -> None:
    """Add what columns such as `exact/value` hold, where the assessments are not there."""
    for name, value in fields.items():
        match = REPORTED.fullmatch(name)
        if match is None:
            continue
        if match[1].startswith("expected_") or match[1] == "guidelines":
            answer.expectations[match[1]] = loose(value)
        else:
            answer.report(match[1], _cell(value))


def _cell(value: object) -> object:
    """Return a number, or true or false, that CSV writes as text."""
    if not isinstance(value, str):
        return value
    if value in {"True", "False"}:
        return value == "True"
    plain = loose(value)
    return plain if isinstance(plain, int | float | dict) else value


def _of_table(given: Mapping[str, Any]) -> Answered:
    """Return the answer of a row of a table whose columns the user has named."""
    answer = Answered()
    used = set()

    def take(names: Iterable[str]) -> Any:
        name = next((each for each in names if each in given), None)
        used.add(name)
        return None if name is None else loose(given[name])

    answer.inputs, answer.outputs = take(INPUTS), take(OUTPUTS)
    answer.contexts = take(CONTEXTS)
    expected = take(("expectations",))
    answer.expectations = dict(expected) if isinstance(expected, dict) else {}
    target = take(TARGETS)
    if target is not None:
        answer.expectations.setdefault(EXPECTATION, target)
    _add_columns(answer, given)
    answer.measured = {"latency_s": _number(take(("latency",))), "trace_id": take(("trace_id",))}
    error = take(("error", "error_message"))
    if error is not None:
        answer.error = str(error)
    elif answer.outputs in (None, ""):
        answer.error = "there is no output"
    answer.tags = _object(given.get("tags"), "tags")
    answer.kept = {n: v for n, v in given.items() if n not in used and not REPORTED.fullmatch(n)}
    return answer


@dataclass(frozen=True, slots=True)
class Span:
    """A span of a trace, in the forms of both versions."""

    id: str | None
    parent: str | None
    kind: str
    inputs: Any
    outputs: Any
    status: str
    message: str | None
    usage: Mapping[str, Any]
    start: float

    @classmethod
    def of(cls, given: object, position: int) -> Span:
        """Return a span.

        Raises:
            RecordError: It is none.
        """
        if not isinstance(given, dict):
            raise RecordError([f"spans[{position}]: expected an object, found {found(given)}"])
        attributes = _object(given.get("attributes"), f"spans[{position}].attributes")
        values = {name: loose(value) for name, value in attributes.items()}
        context, status = given.get("context"), given.get("status")
        inner = context if isinstance(context, dict) else {}
        state = status if isinstance(status, dict) else {}
        usage = values.get("mlflow.chat.tokenUsage")
        return cls(
            id=_id(given.get("span_id", inner.get("span_id"))),
            parent=_id(given.get("parent_span_id") or given.get("parent_id")),
            kind=str(values.get("mlflow.spanType", given.get("span_type", ""))).upper(),
            inputs=values.get("mlflow.spanInputs", loose(given.get("inputs"))),
            outputs=values.get("mlflow.spanOutputs", loose(given.get("outputs"))),
            status=str(state.get("code", given.get("status_code", ""))),
            message=state.get("message") or given.get("status_message") or None,
            usage=usage if isinstance(usage, dict) else {},
            start=_number(given.get("start_time_unix_nano", given.get("start_time"))) or 0.0,
        )


def _id(value: object) -> str | None:
    return None if value in (None, "") else str(value)


def _retrievers(spans: Sequence[Span]) -> list[Span]:
    """Return the spans that retrieve, by start, but for those within other such spans."""
    given = outermost(
        spans, lambda span: (span.id, span.parent), lambda span: span.kind == "RETRIEVER"
    )
    return sorted(given, key=lambda span: span.start)


def _documents(outputs: object) -> Documents | None:
    """Return the documents that a retriever returned; null if they have no known form."""
    if isinstance(outputs, dict):
        outputs = next((outputs[n] for n in ("documents", "results") if n in outputs), None)
    if not isinstance(outputs, list):
        return None
    documents: list[tuple[object, object, object]] = []
    for each in outputs:
        if isinstance(each, str):
            documents.append((None, each, None))
            continue
        if not isinstance(each, dict):
            return None
        metadata = each.get("metadata")
        inner = metadata if isinstance(metadata, dict) else {}
        names = ("doc_uri", "doc_id", "document_id")
        name = next((inner[n] for n in names if inner.get(n) is not None), None)
        others = (each.get("doc_uri"), each.get("doc_id"), each.get("id"), inner.get("source"))
        name = name if name is not None else next((e for e in others if e is not None), None)
        texts = (each.get(n) for n in ("page_content", "content", "text"))
        text = next((e for e in texts if e is not None), None)
        scores = (each.get("score"), inner.get("score"), inner.get("relevance_score"))
        score = next((e for e in scores if e is not None), None)
        documents.append((str(name) if isinstance(name, int) else name, text, score))
    return documents
