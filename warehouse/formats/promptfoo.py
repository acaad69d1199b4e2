"""promptfoo: the results of `promptfoo eval`, of every provider with every prompt."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from records.record import CONTROL, integer
from warehouse.errors import InputError, Problem
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.readers import field_mapping
from warehouse.formats.readers.exports import (
    element_row,
    id_of_text,
    require_kind,
    require_object,
    tags_of,
    wrong_kind,
)
from warehouse.formats.readers.files import kind
from warehouse.formats.readers.nested_json import NestedJson
from warehouse.formats.readers.rows import Row, json_lines

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator
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

REFERENCES: Final = ("expected_answer", "expected_output", "reference", "ground_truth", "expected")
"""The variables that hold the expected answer, the preferred one first."""

COMPARING: Final = frozenset({"equals", "similar", "factuality", "levenshtein", "rouge-n", "bleu"})
"""The assertions whose value is an expected answer."""

FAILED: Final = 2
"""The `failureReason` of a call that failed; 1 is a failed assertion."""

LONGEST_LABEL: Final = 60
LONGEST_WAIT: Final = 1e12
"""Milliseconds, some 30 years: a larger number is not a latency."""

READ: Final = frozenset(
    {"id", "vars", "prompt", "promptId", "promptIdx", "provider", "response", "testCase", "testIdx"}
    | {"latencyMs", "cost", "error"}
)
EXPECTED: Final = "results of `promptfoo eval`, each with 'vars', 'provider' and 'response'"


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read the test cases; the id follows from their variables.

    The question is the variable `question`, or one of the others in `ASKED`, or the only variable,
    or all of them.
    """
    return field_mapping.questions(_rows(source.path), _question, NAMES)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read the outputs of every provider with every prompt.

    Raises:
        InputError: The file cannot be read, or holds several systems although its path names one.
    """
    named = _systems(source.path)
    if source.system is not None and len(named) > 1:
        said = (
            f"expected one provider with one prompt, as the path names one system, found "
            f"{len(named)}: leave {{system}} out of the path"
        )
        raise InputError([Problem(source.path, None, said)])
    translate = partial(_prediction, named={} if source.system is not None else named)
    return field_mapping.predictions(_rows(source.path), source, translate, NAMES)


def _rows(path: Path) -> Iterator[Row | Reject]:
    match kind(path):
        case ".json":
            given = _results(path)
        case ".jsonl" | ".ndjson":
            given = json_lines(path)
        case other:
            said = f"unknown file suffix {other!r}; expected .json or .jsonl, as "
            said += "`promptfoo eval --output results.json` writes"
            raise InputError([Problem(path, None, said)])
    return require_kind(given, path, EXPECTED, {"vars", "prompt"}, {"provider"})


def _results(path: Path) -> Iterator[Row | Reject]:
    expected = "promptfoo's results with the list 'results.results'"
    require_object(path, expected)
    file = NestedJson(path)
    summary = file.member(file.root, "results")
    results = None if summary is None else file.member(summary, "results")
    if results is None or not isinstance(results.value, list):
        raise wrong_kind(path, file.line(file.root.begin), expected, file.root.value)
    for element in file.elements(results):
        yield element_row(file, element, "results.results")


def _systems(path: Path) -> dict[Hashable, str]:
    """Return the systems by what `_key` returns for their results.

    A system is called after the label or id of its provider, and after its prompt if there are
    several. A prompt without a short label is called after its number.
    """
    given: dict[Hashable, tuple[str, str]] = {}
    for row in _rows(path):
        if isinstance(row, Row):
            given.setdefault(_key(row.fields), _provider_and_prompt(row.fields))
    # Results come in the order in which calls end.
    given = {key: given[key] for key in sorted(given, key=_index)}
    labels = list(dict.fromkeys(label for _, label in given.values()))
    named: dict[Hashable, str] = {}
    for key, (provider, label) in given.items():
        name = provider
        if len(labels) > 1:
            is_short = 0 < len(label) <= LONGEST_LABEL and "{{" not in label
            is_plain = is_short and re.search(CONTROL, label) is None
            name += " / " + (label if is_plain else f"prompt {labels.index(label) + 1}")
        times = sum(each == name or each.startswith(f"{name} #") for each in named.values())
        named[key] = f"{name} #{times + 1}" if times else name
    return named


def _index(key: Hashable) -> int:
    return key if isinstance(key, int) else 0


def _key(fields: dict[str, Any]) -> Hashable:
    index = integer(fields.get("promptIdx"))
    is_index = isinstance(index, int) and not isinstance(index, bool)
    return index if is_index else _provider_and_prompt(fields)


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


def _question(row: Row, _: int) -> dict[str, Any]:
    given, test = _variables(row.fields), _object(row.fields, "testCase")
    name, text = _asked(row.fields)
    kept: dict[str, Any] = {"vars": given} if given else {}
    if test.get("description"):
        kept["description"] = test["description"]
    record: dict[str, Any] = {"question_id": name, "question": text, "extra": kept}
    expected = [given[each] for each in REFERENCES if given.get(each) is not None]
    if expected:
        record["expected_answer"] = expected[0]
    elif compared := _compared(test.get("assert")):
        record["expected_answer"] = compared
    tags = tags_of(test.get("metadata"))
    return {**record, "tags": tags} if tags else record


def _compared(assertions: object) -> list[str]:
    """Return the texts with which assertions compare the output."""
    texts = [
        each.get("value")
        for each in (assertions if isinstance(assertions, list) else [])
        if isinstance(each, dict) and str(each.get("type")) in COMPARING
    ]
    plain = [each for each in texts if isinstance(each, str) and "{{" not in each]
    return list(dict.fromkeys(plain))


def _prediction(row: Row, _: int, *, named: dict[Hashable, str]) -> dict[str, Any]:
    fields = row.fields
    response = _object(fields, "response")
    name, text = _asked(fields)
    record: dict[str, Any] = {"question_id": name, "question": text}
    if named:
        record["system"] = named[_key(fields)] or None
    output, reason = response.get("output"), fields.get("failureReason")
    # Without output, promptfoo writes the reason 0 and the error "No output".
    if reason == FAILED or output is None:
        fault = response.get("error") or fields.get("error") or "there is no output"
        record["error"] = _text(fault).strip() or "there is no output"
    else:
        record["answer"] = _text(output)
    if not response.get("cached"):
        record["latency_s"] = _seconds(fields.get("latencyMs"))
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


def _seconds(milliseconds: Any) -> float | None:
    if milliseconds is None:
        return None
    is_number = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
    if not is_number or not 0 <= milliseconds < LONGEST_WAIT:
        raise RecordError([f"latencyMs: expected milliseconds, found {found(milliseconds)}"])
    return float(milliseconds) / 1000


FORMAT: Final = Format(
    name="promptfoo",
    summary="Results of promptfoo: the outputs of every provider with every prompt.",
    questions=read_questions,
    predictions=read_predictions,
    questions_from="predictions",
    version=3,
    is_streamed=False,
)
