"""RGB: robustness to noisy, missing, scattered and wrong passages."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from records.record import integer
from warehouse.errors import InputError, Problem
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.readers import field_mapping
from warehouse.formats.readers.rows import json_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from records.prediction import Prediction
    from records.question import Question
    from warehouse.formats.readers.rows import Row

NAMES: Final = {
    "question_id": "id",
    "question": "query",
    "expected_answer": "answer",
    "expected_parts": "answer",
    "counterfactual_answer": "fakeanswer",
}
"""The names of a question file for fields of a question."""

GIVEN: Final = {"question_id": "id", "question": "query", "contexts": "docs"}
"""The names of an output file for fields of a prediction."""

ANSWERS: Final = ("prediction", "response", "answer")
NOISE: Final = ("noise_rate", "noise_ratio", "noise rate")
MARKS: Final = ("label", "factlabel", "ans")
"""The fields of an output that repeat the question or score the answer; kept in `extra`."""


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read questions; each is repeated for every noise rate of the outputs.

    Its passages stay in `extra`. The scenario is the one that the row names. Otherwise it is
    negative rejection at a noise rate of 1, where no passage holds the answer; counterfactual
    robustness where the row has a `fakeanswer` or the file's name has `_fact` in it; information
    integration where it has `_int` in it, as the benchmark itself has it; and noise robustness for
    all others.
    """
    dataset = _name_of(source.path)
    prefix = f"{dataset}/" if source.beside else ""
    rates = sorted(_rates(source), key=lambda rate: -1.0 if rate is None else rate)
    for row in json_rows(source.path, key="id"):
        for rate in rates or [None]:
            asked = partial(_question, rate=rate, prefix=prefix, dataset=dataset)
            (read,) = field_mapping.questions([row], asked, NAMES)
            yield read
            if isinstance(read, Reject):
                break


def _rates(source: Source) -> set[float | None]:
    rates: set[float | None] = set()
    files = (source.path, *source.beside)
    for path in source.answered_in:
        if _dataset(path, files) not in {None, _name_of(source.path)}:
            continue
        for row in json_rows(path, key="id"):
            if isinstance(row, Reject):
                continue
            # Problems of a row are reported when its prediction is read.
            with suppress(RecordError):
                rates.add(_rate(row.fields))
    return rates


def _name_of(path: Path) -> str:
    return path.name.partition(".")[0]


def _dataset(outputs: Path, questions: Sequence[Path]) -> str | None:
    """Return the file of questions, by name, that a file of outputs answers; null: the only one.

    Raises:
        InputError: There are several, and neither the name of the file nor its folders have one.
    """
    names = sorted({_name_of(path) for path in questions}, key=len, reverse=True)
    if len(questions) < 2:  # noqa: PLR2004
        return None
    for part in (outputs.name, *(folder.name for folder in outputs.parents)):
        for name in names:
            # `en` is not the dataset of `prediction_en_int_...`.
            if re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?!_?(?:int|fact)|[A-Za-z0-9])", part):
                return name
    listed = ", ".join(repr(name) for name in sorted(names))
    message = f"expected the file of questions in the name of the outputs, one of {listed}"
    raise InputError([Problem(outputs, None, message)])


def _rate(fields: dict[str, Any]) -> float | None:
    for name in NOISE:
        value = fields.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise RecordError([f"{name}: expected a number from 0 to 1, found {found(value)}"])
        return float(value)
    return None


def _name(fields: dict[str, Any], rate: float | None, prefix: str) -> object:
    number = integer(fields.get("id", fields.get("question_id")))
    if isinstance(number, bool) or not isinstance(number, int | str):
        return number
    return f"{prefix}{number}" + ("" if rate is None else f"@{rate:g}")


def _question(row: Row, _: int, *, rate: float | None, prefix: str, dataset: str) -> dict[str, Any]:
    fields = field_mapping.with_own_extra(row.fields)
    extra: dict[str, Any] = fields.pop("extra", {})
    fields["question_id"] = _name(fields, rate, prefix)
    fields.pop("id", None)
    if "query" in fields:
        fields["question"] = fields.pop("query")
    if rate is not None:
        fields["noise_ratio"] = rate
    fields |= _expected(fields.pop("answer", None))
    planted = fields.pop("fakeanswer", None)
    if isinstance(planted, list) and planted:
        extra["fakeanswer"], planted = planted, planted[0]
    if planted is not None:
        fields["counterfactual_answer"] = planted
    if fields.get("scenario") is None:
        fields["scenario"] = _scenario(rate, dataset, is_false=planted is not None)
    return {**fields, "extra": extra}


def _scenario(rate: float | None, dataset: str, *, is_false: bool) -> str:
    if rate == 1:
        return "negative_rejection"
    if is_false or "_fact" in dataset:
        return "counterfactual_robustness"
    return "information_integration" if "_int" in dataset else "noise_robustness"


def _expected(answer: object) -> dict[str, Any]:
    # The benchmark's script requires each element of the list; a nested list holds alternatives.
    if not isinstance(answer, list):
        return {} if answer is None else {"expected_answer": answer}
    if len(answer) == 1:
        return {"expected_answer": answer[0]}
    return {"expected_parts": answer} if answer else {}


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read outputs: the answers of a system at different noise rates.

    The answer is `prediction` or `response`, the passages in the prompt are `docs`. The system is
    the one that the path names, or else the row's `system` or `model`.
    """
    dataset = _dataset(source.path, source.beside)
    prefix = "" if dataset is None else f"{dataset}/"
    answered = partial(_prediction, prefix=prefix, has_system=source.system is not None)
    return field_mapping.predictions(json_rows(source.path, key="id"), source, answered, GIVEN)


def _prediction(row: Row, _: int, *, prefix: str, has_system: bool) -> dict[str, Any]:
    fields = field_mapping.with_own_extra(row.fields)
    question_id = _name(fields, _rate(fields), prefix)
    field_mapping.rename(fields, GIVEN)
    fields["question_id"] = question_id
    for name in NOISE:
        fields.pop(name, None)
    extra = {name: fields.pop(name) for name in MARKS if fields.get(name) is not None}
    extra |= fields.pop("extra", {})
    if not has_system and "system" not in fields and "model" in fields:
        fields["system"] = fields.pop("model")
    given = [name for name in ANSWERS if fields.get(name) is not None]
    if len(given) > 1:
        raise RecordError([f"{given[1]}: expected it or {given[0]}, found both"])
    if given:
        fields["answer"] = field_mapping.text(fields.pop(given[0]), given[0])
    elif not fields.get("error"):
        raise RecordError(["prediction: missing, and so is response; expected one of the two"])
    return {**fields, "extra": extra}


FORMAT: Final = Format(
    name="rgb",
    summary="RGB's questions with their passages, and outputs at several noise rates.",
    questions=read_questions,
    predictions=read_predictions,
    questions_from="both",
    version=3,
)
