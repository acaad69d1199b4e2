"""Sample logs of EleutherAI's evaluation harness: questions and the answers of one model."""

from __future__ import annotations

import json
import math
import re
import string
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from records.error_messages import RecordError, found
from records.record import integer
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.lm_eval_scores import HASHES, READ, logged_as, responses_of, scores_of
from warehouse.formats.readers import field_mapping
from warehouse.formats.readers.exports import reported_of
from warehouse.formats.readers.rows import Row, json_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from records.prediction import Prediction
    from records.question import Question

NAMES: Final = {"question_id": "doc_id"}
TASK: Final = re.compile(r"samples_(.+?)_\d{4}-\d\d-\d\dT[\d.:-]+\.jsonl?(?:\.gz|\.zst)?")
"""The name that the harness gives a log: task and date."""

ROLLING: Final = (
    "the log-likelihoods of whole texts (perplexity) are not read, since there are no answers: the "
    "harness has their figures in its results_*.json"
)


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read the questions of a log.

    The question is the document's `question` or `query`, or else the prompt. Where the model
    weighed continuations, these are the choices and the target is one of them; otherwise the
    target is the expected answer. The document is kept in `extra`.
    """
    rows = _first_of_each(source)
    return field_mapping.questions(rows, partial(_question, task=_task(source.path)), NAMES)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read the answers of the model, or its log-probability of each choice.

    The answer is the unfiltered text of the model; each of several responses is an answer. The
    metrics of the harness are kept in `extra` and, if they are numbers, in `reported`.
    """
    given = partial(_prediction, task=_task(source.path))
    return field_mapping.predictions(_each_answer(source), source, given, NAMES)


def _first_of_each(source: Source) -> Iterator[Row | Reject]:
    """Yield the first row of each document in a log, without texts that were only to be read.

    The harness logs a document once for each filter of a task, with the same responses. Early
    versions do not name the filter. What is logged again otherwise is not passed over.
    """
    logged: dict[str, tuple[object, int]] = {}
    is_read = False
    for row in json_rows(source.path, key="doc_id"):
        if isinstance(row, Reject):
            yield row
            continue
        if _is_rolling(row.fields):
            is_read = True
            continue
        name = row.fields.get("filter")
        responses = hash(json.dumps(row.fields.get("resps"), sort_keys=True))
        is_new = repr(row.fields.get("doc_id")) not in logged
        first, before = logged.setdefault(repr(row.fields.get("doc_id")), (name, responses))
        if is_new or responses != before or (name is not None and name == first):
            yield row
    if is_read:
        source.notes.append(ROLLING)


def _is_rolling(fields: Mapping[str, Any]) -> bool:
    """Return whether all requests are texts alone, whose likelihood as a whole was asked for."""
    given, responses = fields.get("arguments"), fields.get("resps")
    given = list(given.values()) if isinstance(given, dict) else given
    if not isinstance(given, list) or not given or not isinstance(responses, list):
        return False
    if len(given) != len(responses):
        return False
    texts = [list(each.values()) if isinstance(each, dict) else each for each in given]
    return all(
        isinstance(each, list) and len(each) == 1 and isinstance(each[0], str) for each in texts
    )


def _each_answer(source: Source) -> Iterator[Row | Reject]:
    """Yield a row for each response to the requests of a document, numbered by `repeat`.

    Each has the scores that are `reported` of it. The harness scores what a filter leaves of all
    responses: if that is one response, the score stands at the first; if it is several, at none.
    It is that of each response where all are alike.
    """
    scores = scores_of(source.path)
    for row in _first_of_each(source):
        if isinstance(row, Reject):
            yield row
            continue
        fields, given = row.fields, scores.get(logged_as(row.fields), ())
        lists, several = responses_of(fields)
        are_alike = all(each == responses[0] for responses in lists for each in responses)
        for number in range(several):
            own: dict[str, Any] = {"repeat": number} if several > 1 else {}
            if several > 1:
                own["resps"] = [[responses[number]] for responses in lists]
            is_meant = several == 1 or are_alike
            own["reported"] = reported_of(
                (name, score)
                for name, score, of_one in given
                if is_meant or (of_one and not number)
            )
            yield Row({**fields, **own}, row.line, row.text)


def _task(path: Path) -> str | None:
    match = TASK.fullmatch(path.name)
    return match[1] if match else None


def _name(fields: dict[str, Any], task: str | None) -> object:
    number = integer(fields.get("doc_id"))
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
        # `correct_choice` cannot hold several choices.
        if target is not None:
            kept["target"] = target
        return {}
    return {"correct_choice": target_position(target, logged, fields.get("acc"))}


def _prediction(row: Row, _: int, *, task: str | None) -> dict[str, Any]:
    fields = row.fields
    asked = requests(fields)
    kept = {name: fields[name] for name in fields.keys() - READ - HASHES}
    record = {"question_id": _name(fields, task), "reported": fields["reported"]}
    if "repeat" in kept:
        record["repeat"] = kept.pop("repeat")
    if "system" in kept:
        record["system"] = kept.pop("system")
    if asked[0].continuation is None:
        record["answer"] = answered(fields)
        if fields.get("filtered_resps") is not None:
            kept["filtered_resps"] = fields["filtered_resps"]
    else:
        logged = scored(fields, asked)
        record["choice_logprobs"] = list(logged.logprobs)
        kept["is_greedy"] = list(logged.is_greedy)
    return {**record, "extra": kept}


SEVERAL_ANSWERS: Final = (
    "the harness logs several answers in one row (`repeats` of the task); give the log of another "
    "run a system of its own by {system} in the path"
)

FORMAT: Final = Format(
    name="lm-eval",
    summary="Sample logs of EleutherAI's evaluation harness, with the questions in them.",
    questions=read_questions,
    predictions=read_predictions,
    questions_from="predictions",
    version=3,
    is_streamed=False,
    several_answers=SEVERAL_ANSWERS,
)


_PAIR = 2
_DIGITS = 9
"""The number of digits up to which a text can be a position."""


class Request(NamedTuple):
    """A prompt and the continuation to be scored; null: the model was to write."""

    context: str
    continuation: str | None


@dataclass(frozen=True, slots=True)
class Scored:
    """The choices of a document with the log-likelihoods of the model.

    Attributes:
        choices: The texts of the choices, without surrounding spaces.
        logprobs: Their log-likelihoods; null for minus infinity.
        is_greedy: Whether each is what the model would have written.
    """

    choices: tuple[str, ...]
    logprobs: tuple[float | None, ...]
    is_greedy: tuple[bool | None, ...]


def requests(fields: Mapping[str, Any]) -> list[Request]:
    """Return the requests of a row from `arguments`, in the form of any version.

    Raises:
        RecordError: There are none, or their form is unknown.
    """
    given = fields.get("arguments")
    if isinstance(given, dict):
        pairs = [list(each.values()) if isinstance(each, dict) else each for each in given.values()]
    elif isinstance(given, list):
        pairs = given
    else:
        raise RecordError([f"arguments: expected an object or a list, found {found(given)}"])
    if not pairs:
        raise RecordError(["arguments: expected at least one request, found none"])
    asked = []
    for position, pair in enumerate(pairs):
        if not isinstance(pair, list) or len(pair) < _PAIR or not isinstance(pair[0], str):
            raise RecordError(
                [f"arguments[{position}]: expected a prompt and a continuation or settings"]
            )
        asked.append(Request(pair[0], pair[1] if isinstance(pair[1], str) else None))
    if len({each.continuation is None for each in asked}) > 1:
        raise RecordError(["arguments: expected continuations for all requests or for none"])
    return asked


def scored(fields: Mapping[str, Any], asked: Sequence[Request]) -> Scored:
    """Return the log-likelihoods of the choices from `filtered_resps` or `resps`.

    The choices are the continuations, or the prompts where these are what differs. Requests
    without a prompt that repeat the continuations, as the harness adds them for the mutual
    information, are left out.

    Raises:
        RecordError: They are not one pair of log-likelihood and greediness for each request.
    """
    is_filtered = fields.get("filtered_resps") is not None and "repeat" not in fields
    name = "filtered_resps" if is_filtered else "resps"
    given = fields.get(name)
    if not isinstance(given, list):
        raise RecordError([f"{name}: expected a list, found {found(given)}"])
    if len(given) != len(asked):
        raise RecordError(
            [f"{name}: expected one response for each of {len(asked)} requests, found {len(given)}"]
        )
    pairs = [_pair(each, f"{name}[{position}]") for position, each in enumerate(given)]
    texts = [each.continuation or "" for each in asked]
    half = len(texts) // 2
    if half and texts[:half] == texts[half:] and not any(each.context for each in asked[half:]):
        texts, pairs, asked = texts[:half], pairs[:half], asked[:half]
    if len(set(texts)) == 1 < len(texts):
        texts = [each.context for each in asked]
    return Scored(
        tuple(each.strip() for each in texts),
        tuple(logprob for logprob, _ in pairs),
        tuple(greedy for _, greedy in pairs),
    )


def _pair(given: object, place: str) -> tuple[float | None, bool | None]:
    # `resps` has a list of responses where `filtered_resps` has the response itself.
    if isinstance(given, list) and given and isinstance(given[0], list):
        given = given[0]
    if not isinstance(given, list) or len(given) != _PAIR:
        raise RecordError([f"{place}: expected [log-likelihood, is greedy], found {found(given)}"])
    number, greedy = given
    return _logprob(number, place), {"True": True, "False": False}.get(str(greedy))


def _logprob(given: object, place: str) -> float | None:
    wrong = RecordError([f"{place}: expected a log-likelihood, found {found(given)}"])
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise wrong
    try:
        value = float(given)
    except (ValueError, OverflowError):
        raise wrong from None
    if math.isnan(value) or value == math.inf:
        raise wrong
    return None if value == -math.inf else value


def answered(fields: Mapping[str, Any]) -> str:
    """Return the first response of the model to the first request.

    Raises:
        RecordError: `resps` has another form.
    """
    given = fields.get("resps")
    first = given[0] if isinstance(given, list) and given else None
    written = first if isinstance(first, list) else [first]
    if not written or not isinstance(written[0], str):
        raise RecordError(["resps: expected a list of texts for the request"])
    return written[0]


def target_position(target: object, logged: Scored, accuracy: object) -> int:
    """Return the position of the correct choice: the target is a position, a text or a letter.

    Later versions log positions as text, so that `1` may be the second choice or a choice that
    reads `1`. Where that matters, the accuracy that the harness found (the row's `acc`) decides.

    Raises:
        RecordError: It is not one of the choices, or is ambiguous.
    """
    choices = logged.choices
    count = len(choices)
    target = integer(target)
    if isinstance(target, int) and not isinstance(target, bool) and 0 <= target < count:
        return target
    text = target.strip() if isinstance(target, str) else ""
    possible = {choices.index(text)} if text in choices else set()
    if text.isdecimal() and len(text) <= _DIGITS and int(text) < count:
        possible.add(int(text))
    if len(possible) > 1:
        possible = _as_graded(possible, logged, accuracy)
    if len(possible) == 1:
        return possible.pop()
    letter = string.ascii_uppercase.find(text) if len(text) == 1 else -1
    if not possible and 0 <= letter < count:
        return letter
    what = "only one of them" if possible else f"one of the {count} choices"
    raise RecordError(
        [f"target: expected {what} (position, text or letter), found {found(target)}"]
    )


def _as_graded(possible: set[int], logged: Scored, accuracy: object) -> set[int]:
    numbers = [-math.inf if each is None else each for each in logged.logprobs]
    chosen = numbers.index(max(numbers))
    if accuracy == 1:
        return possible & {chosen}
    return possible - {chosen} if accuracy == 0 else possible
