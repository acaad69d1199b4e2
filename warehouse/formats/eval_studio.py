"""H2O Eval Studio: test suites as questions, test labs with the answers of several models."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from warehouse.errors import InputError, Problem
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.readers import field_mapping
from warehouse.formats.readers.nested_json import Element, NestedJson
from warehouse.formats.readers.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from records.prediction import Prediction
    from records.question import Question


ASKED: Final = {
    "question_id": "key",
    "question": "prompt",
    "expected_answer": "expected_output",
    "constraints": "constraints",
}
"""The names of a test suite for fields of a question."""

ANSWERED: Final = {
    "question_id": "key",
    "question": "input",
    "answer": "actual_output",
    "contexts": "context",
    "latency_s": "actual_duration",
    "cost_usd": "cost",
}
"""The names of a test lab for fields of a prediction."""

REPEATED: Final = frozenset(
    {"corpus", "relationships", "expected_output", "output_constraints", "output_condition"}
)
"""The fields of a test lab that repeat its test suite."""

SOURCE_OF_PERTURBATION: Final = "perturbation_source"
PERTURBED: Final = "perturbed"
PERTURBED_BY: Final = "perturbed_by:"
FAILED: Final = "LLM HOST INTERNAL ERROR"
"""The beginning of the answer of a model whose call failed."""


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read a test suite: tests with documents, each with test cases.

    A test case without a key is called after its position in the file: q001, q002, ... What it
    perturbs is the target of its relationship, how it does is told by its category
    `perturbed_by:`. The other categories become the tag `category`; conditions and documents stay
    in `extra`.
    """
    position = 0
    for case, test in _cases(NestedJson(source.path)):
        if isinstance(case, Reject):
            yield case
            continue
        position += 1
        asked = partial(_question, test=test, number=f"q{position:03}")
        yield from field_mapping.questions([case], asked, ASKED)


def _cases(file: NestedJson) -> Iterator[tuple[Row | Reject, dict[str, Any]]]:
    for number, test in enumerate(_list(file, file.root, "tests"), start=1):
        place = f"tests[{number - 1}]"
        if not isinstance(test.value, dict):
            yield _reject(file, test, f"{place}: expected an object, found {found(test.value)}"), {}
            continue
        cases = file.member(test, "test_cases")
        if cases is None or not isinstance(cases.value, list):
            said = f"{place}.test_cases: expected a list, found "
            said += "none" if cases is None else found(cases.value)
            yield _reject(file, test, said), {}
            continue
        for case in file.elements(cases):
            yield _row(file, case, f"{place}.test_cases"), test.value


def _list(file: NestedJson, parent: Element, name: str) -> Iterator[Element]:
    member = file.member(parent, name)
    if member is None:
        raise file.wrong(f"expected an object with the list {name!r}", parent.begin)
    if not isinstance(member.value, list):
        raise file.wrong(f"{name}: expected a list, found {found(member.value)}", member.begin)
    return file.elements(member)


def _row(file: NestedJson, element: Element, place: str) -> Row | Reject:
    if not isinstance(element.value, dict):
        return _reject(file, element, f"{place}: expected objects, found {found(element.value)}")
    return Row(element.value, file.line(element.begin), file.shown(element))


def _reject(file: NestedJson, element: Element, reason: str) -> Reject:
    return Reject(file.line(element.begin), reason, file.shown(element))


def _question(row: Row, _: int, *, test: Mapping[str, Any], number: str) -> dict[str, Any]:
    fields = {name: value for name, value in row.fields.items() if value not in (None, "", [])}
    record: dict[str, Any] = {
        "question_id": fields.pop("key", number),
        "question": fields.pop("prompt", None),
        "expected_answer": fields.pop("expected_output", None),
        # An empty list (nothing is required) differs from a missing one.
        "constraints": row.fields.get("constraints"),
    }
    fields.pop("constraints", None)
    if record["question"] is None:
        raise RecordError(["question: missing"])
    documents = test.get("documents")
    if isinstance(documents, list) and documents:
        fields["documents"] = documents
        if len(documents) == 1:
            record["doc_id"] = documents[0]
    if test.get("key"):
        fields["test_key"] = test["key"]
    categories = _texts(fields, "categories")
    plain = [each for each in categories if each != PERTURBED and PERTURBED_BY not in each]
    if plain:
        record["tags"] = {"category": ", ".join(plain)}
    record |= _perturbation(fields, categories)
    return {**record, "extra": fields}


def _perturbation(fields: Mapping[str, Any], categories: list[str]) -> dict[str, Any]:
    ways = [each.removeprefix(PERTURBED_BY) for each in categories if PERTURBED_BY in each]
    found_ = {"perturbation": ", ".join(ways)} if ways else {}
    relationships = fields.get("relationships", [])
    if not isinstance(relationships, list) or not all(isinstance(e, dict) for e in relationships):
        raise RecordError(["relationships: expected a list of objects"])
    origins = [each for each in relationships if each.get("type") == SOURCE_OF_PERTURBATION]
    return {**found_, "perturbs": origins[0].get("target")} if origins else found_


def _texts(fields: Mapping[str, Any], name: str) -> list[str]:
    given = fields.get(name, [])
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise RecordError([f"{name}: expected text or a list of texts"])
    return given


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read the resolved dataset of a test lab.

    The name of a system is its `llm_model_name`, or its `name` if several models share the former,
    or its key if they share both. The path may name it if the lab has one model. A row belongs to
    the test case of its key, or else to the only one with the same prompt, because handwritten test
    suites have no keys.
    """
    file = NestedJson(source.path)
    named = systems(_list(file, file.root, "models"))
    if source.system is not None and len(set(named.values())) > 1:
        said = (
            f"expected one model, as the path names one system, found {len(named)}: "
            "leave {system} out of the path"
        )
        raise InputError([Problem(source.path, None, said)])
    dataset = file.member(file.root, "dataset")
    if dataset is None or not isinstance(dataset.value, dict):
        raise file.wrong("expected an object with the object 'dataset'", file.root.begin)
    rows = (_row(file, each, "dataset.inputs") for each in _list(file, dataset, "inputs"))
    given = partial(_prediction, named=named, has_system=source.system is not None)
    return field_mapping.predictions(rows, source, given, ANSWERED)


def _prediction(row: Row, _: int, *, named: Mapping[str, str], has_system: bool) -> dict[str, Any]:
    fields = {name: value for name, value in row.fields.items() if name not in REPEATED}
    key = fields.pop("test_case_key", None) or fields.pop("key", None)
    prompt = fields.pop("input", None)
    answer, took = fields.pop("actual_output", None), fields.pop("actual_duration", None)
    record: dict[str, Any] = {
        "question_id": key or prompt,
        "question": prompt,
        "contexts": fields.pop("context", None),
        # A duration of 0, the default, was not measured.
        "latency_s": took or None,
        "cost_usd": fields.pop("cost", None),
    }
    failed = isinstance(answer, str) and answer.startswith(FAILED)
    record["error" if failed else "answer"] = answer
    model = fields.get("model_key")
    if not has_system:
        if not isinstance(model, str) or model not in named:
            raise RecordError([f"model_key: expected one of the models, found {found(model)}"])
        record["system"] = named[model]
    kept = {name: value for name, value in fields.items() if value not in (None, "", [])}
    return {**record, "extra": kept}


SEVERAL_ANSWERS: Final = (
    "Eval Studio numbers no answers to the same question: name another model in the test lab of "
    "another run, or write the format 'canonical', with the field 'repeat'"
)

FORMAT: Final = Format(
    name="eval-studio",
    summary="H2O Eval Studio's test suites as questions, its test labs as predictions.",
    questions=read_questions,
    predictions=read_predictions,
    unknown_questions="match by text",
    is_streamed=False,
    several_answers=SEVERAL_ANSWERS,
)


NAMES: Final = ("llm_model_name", "name", "key")
"""The fields with the name of a model, the preferred one first."""


def systems(models: Iterable[Element]) -> dict[str, str]:
    """Return the system of each model key; what is not an object with a key is not a model."""
    known: list[dict[str, Any]] = [
        each.value
        for each in models
        if isinstance(each.value, dict) and isinstance(each.value.get("key"), str)
    ]
    times = {name: Counter(map(str, (model.get(name) for model in known))) for name in NAMES}
    return {
        model["key"]: next(
            model[name]
            for name in NAMES
            if name == "key" or (_is_text(model.get(name)) and times[name][model[name]] == 1)
        )
        for model in known
    }


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""
