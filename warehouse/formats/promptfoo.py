"""promptfoo: the results of `promptfoo eval`, of every provider with every prompt."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from records.error_messages import RecordError, found
from records.record import CONTROL, integer
from warehouse.errors import InputError, Problem
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.promptfoo_assertions import read_assertions, read_reported
from warehouse.formats.promptfoo_files import FAILED, results
from warehouse.formats.readers import field_mapping
from warehouse.formats.readers.conversations import expected_answer
from warehouse.formats.readers.exports import id_of_text, seconds_of, tags_of
from warehouse.formats.readers.rows import Row

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence
    from pathlib import Path

    from records.prediction import Prediction
    from records.question import Question

NAMES: Final = {
    "answer": "response.output",
    "question": "vars",
    "expected_answer": "vars",
    "contexts": "vars.context",
    "cost_usd": "response.cost",
    "tokens_in": "response.tokenUsage.prompt",
    "tokens_out": "response.tokenUsage.completion",
    "tags": "testCase.metadata",
}
"""promptfoo's names for fields of a question or prediction."""

ASKED: Final = ("question", "query", "user_input", "input", "user_query", "message", "prompt")
"""The variables that hold the question, the preferred one first."""

LONGEST_LABEL: Final = 60
READ: Final = frozenset(
    {"id", "vars", "prompt", "promptId", "promptIdx", "provider", "response", "testCase", "testIdx"}
    | {"latencyMs", "cost", "error"}
)

SEVERAL_ANSWERS: Final = (
    "promptfoo numbers the answers of `eval --repeat` by 'testIdx'; if they are of two evals, give "
    "the provider a label of its own in each"
)

_Key: TypeAlias = tuple[int | None, str, str, str]
"""The column of a result, the id and the name of its provider, and the label of its prompt."""


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read the test cases; the id follows from their variables.

    The question is the variable `question`, or one of the others in `ASKED`, or the only variable,
    or all of them.
    """
    translate = partial(_question, shared=_overview(source.path).shared)
    return field_mapping.questions(results(source.path), translate, NAMES)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read the outputs of every provider with every prompt.

    Raises:
        InputError: The file cannot be read, or holds several systems although its path names one.
    """
    overview = _overview(source.path)
    if source.system is not None and len(overview.systems) > 1:
        said = (
            f"expected one provider with one prompt, as the path names one system, found "
            f"{len(overview.systems)}: leave {{system}} out of the path"
        )
        raise InputError([Problem(source.path, None, said)])
    is_named = source.system is not None
    translate = partial(_prediction, overview=overview, is_named=is_named)
    return field_mapping.predictions(results(source.path), source, translate, NAMES)


@dataclass(frozen=True, slots=True)
class _Overview:
    """What follows only from all results of a file.

    Attributes:
        systems: The systems by what `_key` returns for their results.
        shared: The ids of variables that tests with different assertions or metadata share.
        repeats: The number of each answer of a system to a question, by the position of its row.
            Answers of one number are second answers.
    """

    systems: Mapping[_Key, str]
    shared: frozenset[str]
    repeats: Mapping[int, int]


def _overview(path: Path) -> _Overview:
    given: dict[_Key, tuple[str, str]] = {}
    contents: dict[str, set[str]] = {}
    answers: list[tuple[_Key, str, str, int | None, int]] = []
    for position, row in enumerate(results(path), start=1):
        if not isinstance(row, Row):
            continue
        key = _key(row.fields)
        given.setdefault(key, _provider_and_prompt(row.fields))
        try:
            question = _test(row.fields)
        except RecordError:  # said when the row is read
            continue
        name, content = question["question_id"], _content(question)
        contents.setdefault(name, set()).add(content)
        answers.append((key, name, content, _whole(row.fields.get("testIdx")), position))
    shared = frozenset(name for name, found in contents.items() if len(found) > 1)
    return _Overview(_systems(given), shared, _repeats(answers, shared))


def _repeats(
    answers: Sequence[tuple[_Key, str, str, int | None, int]], shared: frozenset[str]
) -> dict[int, int]:
    """Return the number of each answer, by the position of its row.

    With --repeat, the same test comes again, with another index. An answer with the index of
    another is a second one, as are all where an index stands for several tests: their rows are
    those of several evals.
    """
    tests: dict[Hashable, set[tuple[str, str]]] = {}
    for key, name, content, index, _ in answers:
        tests.setdefault((key, index), set()).add((name, content))
    several = {
        key for key, _, _, index, _ in answers if index is not None and len(tests[key, index]) > 1
    }
    repeats: dict[int, int] = {}
    last: dict[Hashable, tuple[int | None, int]] = {}
    for key, name, content, index, position in sorted(answers, key=lambda each: _order(*each[3:])):
        answered = (key, name, content if name in shared else None)
        if answered not in last or key in several:
            number = 0
        else:
            before, number = last[answered]
            number += index is None or index != before
        last[answered] = index, number
        repeats[position] = number
    return repeats


def _order(index: int | None, position: int) -> tuple[int, int]:
    return (0 if index is None else index), position


def _systems(given: Mapping[_Key, tuple[str, str]]) -> dict[_Key, str]:
    """Return the names of systems, of which provider and prompt are given.

    A system is called after the label or id of its provider, and after its prompt if there are
    several. A prompt without a short label is called after its number.
    """
    # Results come in the order in which calls end.
    given = {key: given[key] for key in sorted(given, key=lambda key: key[0] or 0)}
    labels = list(dict.fromkeys(label for _, label in given.values()))
    named: dict[_Key, str] = {}
    for key, (provider, label) in given.items():
        name = provider
        if len(labels) > 1:
            is_short = 0 < len(label) <= LONGEST_LABEL and "{{" not in label
            is_plain = is_short and re.search(CONTROL, label) is None
            name += " / " + (label if is_plain else f"prompt {labels.index(label) + 1}")
        times = sum(each == name or each.startswith(f"{name} #") for each in named.values())
        named[key] = f"{name} #{times + 1}" if times else name
    return named


def _whole(value: object) -> int | None:
    index = integer(value)
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _key(fields: dict[str, Any]) -> _Key:
    """Return what the results of a system share.

    Where a file holds several evals, the number of a column does not suffice.
    """
    provider = fields.get("provider")
    name = provider.get("id") if isinstance(provider, dict) else provider
    return _whole(fields.get("promptIdx")), str(name), *_provider_and_prompt(fields)


def _provider_and_prompt(fields: dict[str, Any]) -> tuple[str, str]:
    provider, prompt = fields.get("provider"), fields.get("prompt")
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id")
    label = prompt.get("label") if isinstance(prompt, dict) else None
    return (
        provider if isinstance(provider, str) else "",
        label if isinstance(label, str) else "",
    )


def _object(fields: dict[str, Any], name: str) -> dict[str, Any]:
    given = fields.get(name)
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise RecordError([f"{name}: expected an object, found {found(given)}"])
    return given


def _variables(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of a test case by name, without those that promptfoo sets itself."""
    given = _object(fields, "vars")
    return {
        name: value
        for name, value in sorted(given.items())
        if not name.startswith("_") and name != "sessionId"
    }


def _asked(fields: dict[str, Any]) -> tuple[str, str]:
    """Return the id and the text of the question."""
    given = _variables(fields)
    if not given:
        text = _object(fields, "testCase").get("description")
        text = text or _object(fields, "prompt").get("raw")
        if not isinstance(text, str) or not text:
            raise RecordError(["vars: expected variables, found none"])
        return id_of_text(text), text
    named = [given[name] for name in ASKED if isinstance(given.get(name), str) and given[name]]
    if named:
        text = named[0]
    elif len(given) == 1:
        (text,) = map(_text, given.values())
    else:
        text = "\n".join(f"{name}: {_text(value)}" for name, value in given.items())
    whole = text if len(given) == 1 else json.dumps(given, sort_keys=True)
    return id_of_text(whole), text


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _question(row: Row, _: int, *, shared: frozenset[str]) -> dict[str, Any]:
    record = _test(row.fields)
    return {**record, "question_id": _id(record, shared)}


def _test(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a question, with the id that follows from the variables alone."""
    given, test = _variables(fields), _object(fields, "testCase")
    name, text = _asked(fields)
    kept: dict[str, Any] = {"vars": given} if given else {}
    kept |= {each: test[each] for each in ("description", "threshold") if test.get(each)}
    record: dict[str, Any] = {"question_id": name, "question": text, "extra": kept}
    found = read_assertions(test, given)
    reference = expected_answer(given)
    if reference is not None:
        record["expected_answer"] = reference
    elif compared := [each for each in found.expected if each != text]:
        record["expected_answer"] = compared
    if found.constraints:
        record["constraints"] = found.constraints
    if found.others:
        kept["assert"] = found.others
    tags = tags_of(test.get("metadata"))
    return {**record, "tags": tags} if tags else record


def _content(question: dict[str, Any]) -> str:
    """Return a text that differs for questions that differ."""
    return id_of_text(json.dumps(question, sort_keys=True))


def _id(question: dict[str, Any], shared: frozenset[str]) -> str:
    """Return the id of a question; that of its content where other tests have its variables."""
    name: str = question["question_id"]
    return _content(question) if name in shared else name


def _prediction(row: Row, position: int, *, overview: _Overview, is_named: bool) -> dict[str, Any]:
    fields = row.fields
    response = _object(fields, "response")
    question = _test(fields)
    record: dict[str, Any] = {
        "question_id": _id(question, overview.shared),
        "question": question["question"],
        "repeat": overview.repeats[position],
        "reported": read_reported(fields),
    }
    if not is_named:
        record["system"] = overview.systems[_key(fields)] or None
    output, reason = response.get("output"), fields.get("failureReason")
    # Without output, promptfoo writes the reason 0 and the error "No output".
    if reason == FAILED or output is None:
        fault = response.get("error") or fields.get("error") or "there is no output"
        record["error"] = _text(fault).strip() or "there is no output"
    else:
        record["answer"] = _text(output)
    if not response.get("cached"):
        record["latency_s"] = seconds_of(fields.get("latencyMs"), "latencyMs")
        # `cost` is 0 where the provider does not say what it costs.
        record["cost_usd"] = response.get("cost")
        usage = response.get("tokenUsage")
        # Numbers are 0 where the provider does not count.
        if isinstance(usage, dict) and usage.get("prompt"):
            record["tokens_in"], record["tokens_out"] = usage.get("prompt"), usage.get("completion")
    context = _variables(fields).get("context")
    if context is not None:
        record["contexts"] = context if isinstance(context, list) else [_text(context)]
    kept = {each: fields[each] for each in fields.keys() - READ if fields[each] is not None}
    prompt = _object(fields, "prompt").get("raw")
    if prompt is not None:
        kept["prompt"] = prompt
    return {**record, "extra": kept}


FORMAT: Final = Format(
    name="promptfoo",
    summary="Results of promptfoo: the outputs of every provider with every prompt.",
    questions=read_questions,
    predictions=read_predictions,
    questions_from="predictions",
    version=5,
    several_answers=SEVERAL_ANSWERS,
    is_streamed=False,
    may_list_twice=True,
)
