"""Inspect: the logs of inspect_ai, read by its own package."""

from __future__ import annotations

import json
import math
import zipfile
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from records.error_messages import RecordError
from records.packages import install_command
from warehouse.errors import InputError, Problem
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.inspect_scores import (
    chosen_options,
    correct_options,
    correct_position,
    option_names,
    scored_values,
)
from warehouse.formats.readers import field_mapping
from warehouse.formats.readers.conversations import question_text
from warehouse.formats.readers.exports import (
    reported_of,
    require_object,
    tags_of,
    wrong_kind,
)
from warehouse.formats.readers.limits import (
    FREE_EXPANSION,
    LONGEST_FILE,
    LONGEST_ROW,
    MAX_RATIO,
    MIB,
    too_long,
)
from warehouse.formats.readers.nested_json import NestedJson
from warehouse.formats.readers.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from records.prediction import Prediction
    from records.question import Question

NAMES: Final = {
    "question_id": "id",
    "question": "input",
    "expected_answer": "target",
    "answer": "output.completion",
    "latency_s": "working_time",
    "tags": "metadata",
    "tokens_in": "model_usage.input_tokens",
    "tokens_out": "model_usage.output_tokens",
}
"""Inspect's names for fields of a question or prediction."""

IGNORED: Final = frozenset({"error_retries", "events", "events_data", "store", "timelines"})
"""What a log says about the course of a sample beside its messages; most of its size."""

EXPECTED: Final = "a log of Inspect with 'eval' and 'samples'"
KEPT: Final = ("scores", "limit", "total_time")
TOKENS: Final = ("total_tokens", "reasoning_tokens")

FILTERED: Final = "content_filter"
"""The reason with which a model stops where its provider withholds the answer."""

R = TypeVar("R")


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read the samples of a log; their ids are those of Inspect after the name of the task."""
    return _with_sample(field_mapping.questions(_rows(source.path), _question, NAMES))


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read the outputs, one answer for each epoch, with what Inspect scored.

    The option that a scorer found in the answer to a multiple-choice question is the label.
    """
    translate = partial(_prediction, has_system=source.system is not None)
    rows = _rows(source.path, every_epoch=True)
    given = field_mapping.predictions(rows, source, translate, NAMES)
    return _with_sample(given)


def _rows(path: Path, *, every_epoch: bool = False) -> Iterator[Row | Reject]:
    """Yield the samples of the first epoch, or of all, with the task and the model of the log.

    Raises:
        InputError: The file is not a log with samples, or inspect_ai is not installed.
    """
    try:
        from inspect_ai import log as inspect_log
    except ImportError:
        said = f"Inspect's logs are read by inspect_ai: {install_command('inspect')}"
        raise InputError([Problem(path, None, said)]) from None
    _require_log(path)
    # Questions do without the messages of an answer.
    ignored = set(IGNORED) if every_epoch else {*IGNORED, "messages"}
    count = 0
    try:
        if path.suffix == ".json":
            log = inspect_log.read_eval_log(str(path), exclude_fields=ignored)
            samples: Any = log.samples or []
        else:
            log = inspect_log.read_eval_log(str(path), header_only=True)
            samples = inspect_log.read_eval_log_samples(
                str(path), all_samples_required=False, exclude_fields=ignored
            )
        spec = log.eval
        common = {"task": spec.task, "model": spec.model}
        for sample in samples:
            count += 1
            if not every_epoch and sample.epoch != 1:
                continue
            # Only here, since a short log can refer to a long attachment thousands of times.
            if _resolved_length(sample, sample.input) > LONGEST_ROW:
                name = f"sample {sample.id!r}"
                yield Reject(None, too_long("the input with its attachments"), name)
                continue
            if _resolved_length(sample, sample.messages) > LONGEST_ROW:
                sample.messages = []
            whole = inspect_log.resolve_sample_attachments(sample, "core")
            yield _row({**common, **_plain(whole.model_dump(exclude=ignored))})
    except Exception as error:
        # Whatever another package raises on a damaged file.
        raise _unreadable(path, error) from error
    if count == 0:
        said = "expected samples, found none: was the log written with `log_samples=False`?"
        raise InputError([Problem(path, None, said)])


def _resolved_length(sample: Any, given: str | list[Any]) -> int:
    """Return the characters of a text or of messages once their attachments are in them."""
    if isinstance(given, str):
        return len(given)
    level = [message.model_dump() for message in given]
    length = 0
    while level:
        value = level.pop()
        if isinstance(value, str):
            name = value.removeprefix("tc://").removeprefix("attachment://")
            length += len(sample.attachments.get(name, value))
        elif isinstance(value, dict | list | tuple):
            level += value.values() if isinstance(value, dict) else value
    return length


def _require_log(path: Path) -> None:
    """Check the suffix and the size of a log.

    Raises:
        InputError: It has another suffix or is too large.
    """
    if path.suffix not in {".eval", ".json"}:
        said = f"unknown file suffix {path.suffix!r}; expected .eval or .json, not compressed"
        raise InputError([Problem(path, None, said)])
    try:
        size = path.stat().st_size
        expanded, most = size, LONGEST_FILE
        if path.suffix == ".eval":
            with zipfile.ZipFile(path) as archive:
                expanded = sum(each.file_size for each in archive.infolist())
            most = max(FREE_EXPANSION, MAX_RATIO * size)
    except OSError as error:
        raise InputError([Problem(path, None, f"cannot be read: {error.strerror}")]) from error
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        said = f"expected a log of Inspect, which is a zip file: {error}"
        raise InputError([Problem(path, None, said)]) from error
    if expanded > most:
        said = f"the log is longer than {most // MIB:,} MiB, split it"
        raise InputError([Problem(path, None, said)])


def _unreadable(path: Path, error: Exception) -> InputError:
    if path.suffix == ".json":
        require_object(path, EXPECTED)
        root = NestedJson(path).root.value
        if not {"eval", "samples"} <= root.keys():
            return wrong_kind(path, 1, EXPECTED, root)
    lines = [line.strip() for line in str(error).splitlines() if "errors.pydantic.dev" not in line]
    said = ": ".join(lines[:3]) or type(error).__name__
    return InputError([Problem(path, None, f"expected a log of Inspect: {said}")])


def _row(fields: dict[str, Any]) -> Row | Reject:
    name = f"sample {fields.get('id')!r}"
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return Reject(None, "expected text, found half of a surrogate pair", name)
    return Row(fields, None, name)


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: no NaN, as Inspect writes it for missing scores."""
    match value:
        case dict():
            return {str(name): _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int() | str():
            return value
        case _:
            return str(value)


def _with_sample(given: Iterator[R | Reject]) -> Iterator[R | Reject]:
    """Name the sample of a reject, since a log has no lines."""
    for each in given:
        if isinstance(each, Reject):
            yield Reject(None, f"{each.text}: {each.reason}", each.text)
        else:
            yield each


def _id(fields: dict[str, Any]) -> str:
    return f"{fields['task']}/{fields.get('id')}"


def _input(fields: dict[str, Any]) -> str:
    text = question_text(fields.get("input"))
    if text is None:
        raise RecordError(["input: missing"])
    return text


def _question(row: Row, _: int) -> dict[str, Any]:
    fields = row.fields
    metadata, choices, target = fields.get("metadata"), fields.get("choices"), fields.get("target")
    kept: dict[str, Any] = {"metadata": metadata} if metadata else {}
    record: dict[str, Any] = {"question_id": _id(fields), "question": _input(fields)}
    if isinstance(fields.get("input"), list):
        record["messages"] = _messages(fields["input"])
    if choices:
        record["choices"] = choices
        position = correct_position(target, choices)
        if position is None:
            kept["target"] = target
            record["expected_label"] = correct_options(target, len(choices))
        else:
            record["correct_choice"] = position
            record["expected_label"] = option_names(len(choices))[position]
    elif target not in (None, "", []):
        record["expected_answer"] = target
    return {**record, "tags": {**tags_of(metadata), "task": fields["task"]}, "extra": kept}


def _messages(given: list[Any]) -> list[dict[str, Any]]:
    """Return messages of Inspect by the names of Scoreline's."""
    return [_message(each) for each in given if isinstance(each, dict)]


def _message(given: dict[str, Any]) -> dict[str, Any]:
    message = {name: given.get(name) for name in ("role", "content", "tool_call_id")}
    if given.get("role") == "tool":
        message["name"] = given.get("function")
        fault = given.get("error")
        message["error"] = fault.get("message") if isinstance(fault, dict) else None
    calls = given.get("tool_calls")
    if calls:
        message["tool_calls"] = [
            {"id": each.get("id"), "name": each.get("function"), "arguments": each.get("arguments")}
            for each in calls
        ]
    return {name: value for name, value in message.items() if value is not None}


def _generated(messages: object) -> list[dict[str, Any]] | None:
    """Return the messages from the first one on that the model has generated."""
    given: list[Any] = messages if isinstance(messages, list) else []
    for position, each in enumerate(given):
        if each.get("role") == "assistant" and each.get("source") != "input":
            return _messages(given[position:])
    return None


def _prediction(row: Row, _: int, *, has_system: bool) -> dict[str, Any]:
    fields = row.fields
    output = fields.get("output")
    record: dict[str, Any] = {
        "question_id": _id(fields),
        "repeat": fields["epoch"] - 1,
        "question": _input(fields),
        "latency_s": fields.get("working_time"),
        "messages": _generated(fields.get("messages")),
    }
    if not has_system:
        record["system"] = fields["model"]
    failed = fields.get("error")
    if isinstance(failed, dict):
        record["error"] = str(failed.get("message") or "").strip() or "the sample has an error"
    elif isinstance(output, dict) and output.get("choices"):
        record |= _answer(output)
    else:
        said = output.get("error") if isinstance(output, dict) else None
        record["error"] = str(said or "").strip() or "there is no output"
    scores = fields.get("scores")
    if isinstance(scores, dict):
        record["reported"] = reported_of(scored_values(scores))
        if fields.get("choices"):
            record["label"] = chosen_options(scores, len(fields["choices"]))
    kept = {name: fields[name] for name in KEPT if fields.get(name) not in (None, {})}
    if isinstance(output, dict) and "error" in record and output.get("completion"):
        kept["completion"] = output["completion"]
    usage = fields.get("model_usage")
    used = usage.get(fields["model"]) if isinstance(usage, dict) else None
    if isinstance(used, dict):
        record["cost_usd"] = used.get("total_cost")
        record["tokens_in"], record["tokens_out"] = (
            used.get("input_tokens"),
            used.get("output_tokens"),
        )
        kept |= {name: used[name] for name in TOKENS if used.get(name) is not None}
    return {**record, "extra": kept}


def _answer(output: dict[str, Any]) -> dict[str, Any]:
    """Return the answer, or the error if the provider's filter has withheld it."""
    first = output["choices"][0]
    if not isinstance(first, dict) or first.get("stop_reason") != FILTERED:
        return {"answer": output.get("completion")}
    details = first.get("stop_details")
    said = details.get("explanation") if isinstance(details, dict) else None
    return {"error": f"{FILTERED}: {said or 'the answer was withheld'}"}


SEVERAL_ANSWERS: Final = (
    "Inspect numbers several answers by 'epoch' (`epochs` of the task); give the log of another "
    "run a system of its own by {system} in the path"
)

FORMAT: Final = Format(
    name="inspect",
    summary="Logs of Inspect: the samples of a task with the outputs of one model.",
    questions=read_questions,
    predictions=read_predictions,
    questions_from="predictions",
    version=3,
    is_streamed=False,
    several_answers=SEVERAL_ANSWERS,
)
