"""Sample logs of EleutherAI's evaluation harness: questions and what one model made of them."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from warehouse.formats import translation
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.harness import Scored, answered, requests, scored, target_position
from warehouse.formats.json_rows import json_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warehouse.formats.rows import Row
    from warehouse.records.prediction import Prediction
    from warehouse.records.question import Question

NAMES: Final = {"question_id": "doc_id"}
TASK: Final = re.compile(r"samples_(.+?)_\d{4}-\d\d-\d\dT[\d.:-]+\.jsonl?(?:\.gz|\.zst)?")
"""The name that the harness gives a log: task and date."""

READ: Final = frozenset({"doc_id", "doc", "target", "arguments", "resps", "filtered_resps"})
HASHES: Final = frozenset({"doc_hash", "prompt_hash", "target_hash"})


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Reads the questions of a log.

    The question is the document's `question` or `query`, or else the prompt. Where the model
    weighed continuations, these are the choices and the target is one of them; otherwise the
    target is the expected answer. The document is kept in `extra`.
    """
    rows = _first_of_each(source)
    return translation.questions(rows, partial(_question, task=_task(source.path)), NAMES)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Reads what the model answered, or the log-probability that it gave each choice.

    The answer is what the model wrote, before any filter. The metrics of the harness are kept in
    `extra`.
    """
    rows = _first_of_each(source)
    given = partial(_prediction, task=_task(source.path))
    return translation.predictions(rows, source, given, NAMES)


def _first_of_each(source: Source) -> Iterator[Row | Reject]:
    """The rows of a log, of each document the first only.

    The harness logs a document once for each filter of a task, with the same responses. Early
    versions do not name the filter. What is logged again otherwise is not passed over.
    """
    logged: dict[str, tuple[object, int]] = {}
    for row in json_rows(source.path, key="doc_id"):
        if isinstance(row, Reject):
            yield row
            continue
        name = row.fields.get("filter")
        responses = hash(json.dumps(row.fields.get("resps"), sort_keys=True))
        is_new = repr(row.fields.get("doc_id")) not in logged
        first, before = logged.setdefault(repr(row.fields.get("doc_id")), (name, responses))
        if is_new or responses != before or (name is not None and name == first):
            yield row


def _task(path: Path) -> str | None:
    match = TASK.fullmatch(path.name)
    return match[1] if match else None


def _name(fields: dict[str, Any], task: str | None) -> object:
    number = fields.get("doc_id")
    if task is None or isinstance(number, bool) or not isinstance(number, int | str):
        return number
    return f"{task}/{number}"


def _question(row: Row, _: int, *, task: str | None) -> dict[str, Any]:
    fields = row.fields
    asked = requests(fields)
    doc = fields.get("doc")
    fields_of_doc = doc if isinstance(doc, dict) else {}
    texts = [fields_of_doc.get(name) for name in ("question", "query")]
    question = next((each for each in texts if isinstance(each, str) and each), asked[0].context)
    record: dict[str, Any] = {"question_id": _name(fields, task), "question": question}
    kept: dict[str, Any] = {name: fields[name] for name in ("doc", "doc_hash") if name in fields}
    if asked[0].continuation is None:
        record |= _expected(fields.get("target"), kept)
    else:
        logged = scored(fields, asked)
        record["choices"] = list(logged.choices)
        record |= _correct(fields, logged, kept)
    tags = {} if task is None else {"tags": {"task": task}}
    return {**record, **tags, "extra": kept}


def _expected(target: object, kept: dict[str, Any]) -> dict[str, Any]:
    if isinstance(target, bool) or not isinstance(target, str | int | float):
        if target is not None:
            kept["target"] = target
        return {}
    return {"expected_answer": str(target)}


def _correct(fields: dict[str, Any], logged: Scored, kept: dict[str, Any]) -> dict[str, Any]:
    target = fields.get("target")
    several = isinstance(target, list) or (isinstance(target, str) and target.startswith("["))
    if target is None or (several and target not in logged.choices):
        # Several right choices, or none known, are not what `correct_choice` can say.
        if target is not None:
            kept["target"] = target
        return {}
    return {"correct_choice": target_position(target, logged, fields.get("acc"))}


def _prediction(row: Row, _: int, *, task: str | None) -> dict[str, Any]:
    fields = row.fields
    asked = requests(fields)
    kept = {name: fields[name] for name in fields.keys() - READ - HASHES}
    record: dict[str, Any] = {"question_id": _name(fields, task)}
    if "system" in kept:
        record["system"] = kept.pop("system")
    if asked[0].continuation is None:
        texts = answered(fields)
        record["answer"] = texts[0]
        if len(texts) > 1:
            kept["resps"] = texts
        if fields.get("filtered_resps") is not None:
            kept["filtered_resps"] = fields["filtered_resps"]
    else:
        logged = scored(fields, asked)
        record["choice_logprobs"] = list(logged.logprobs)
        kept["is_greedy"] = list(logged.is_greedy)
    return {**record, "extra": kept}


FORMAT: Final = Format(
    name="lm-eval",
    summary="Sample logs of EleutherAI's evaluation harness, with the questions in them.",
    questions=read_questions,
    predictions=read_predictions,
    questions_from="predictions",
)
