"""What holds for every evaluator that asks engines, by its declarations and by what it asks."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, cast

import pytest

from evaluators import catalog
from evaluators.flows import requests
from evaluators.flows.prompt import Instruction
from evaluators.flows.protocols import Engines
from evaluators.flows.reply import Reply
from evaluators.kinds.flow import FlowEvaluator
from evaluators.sample import Sample
from evaluators.scoring import score
from tests.evaluators.fabricated import FabricatedJudge, engines
from tests.support.samples import samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROLES = {role for name, role in vars(requests).items() if name.isupper() and isinstance(role, str)}
FLOWS = [name for name, cls in catalog.catalogue().items() if issubclass(cls, FlowEvaluator)]


def built(name: str) -> FlowEvaluator:
    return cast("FlowEvaluator", catalog.build(name))


def roles(evaluator: FlowEvaluator) -> bool:
    """It asks some engine, known by its role; the judge exactly if it has prompts and replies."""
    judged = {requests.JUDGE in evaluator.needs, bool(evaluator.prompts), bool(evaluator.replies)}
    return bool(evaluator.needs) and evaluator.needs <= ROLES and len(judged) == 1


def wordings(evaluator: FlowEvaluator) -> bool:
    """Every instruction that its module defines or imports is part of its signature."""
    used = [value for value in _names(evaluator) if isinstance(value, Instruction)]
    return set(used) <= set(evaluator.prompts)


def forms(evaluator: FlowEvaluator) -> bool:
    """So is every form of reply, but for those that are parts of another."""
    inner = {
        name for form in evaluator.replies for name in form.model_json_schema().get("$defs", {})
    }
    used = [value for value in _names(evaluator) if inspect.isclass(value)]
    return all(
        form in evaluator.replies or form.__name__ in inner
        for form in used
        if issubclass(form, Reply) and form is not Reply
    )


def reasons_first(evaluator: FlowEvaluator) -> bool:
    """In no object of a reply does a verdict stand before the reasons for it."""
    schemas = [form.model_json_schema() for form in evaluator.replies]
    objects = [node for schema in schemas for node in (schema, *schema.get("$defs", {}).values())]
    return all(_in_order(node.get("properties", {})) for node in objects)


RULES = (roles, wordings, forms, reasons_first)


def _names(evaluator: FlowEvaluator) -> list[Any]:
    """Everything that the evaluator's module defines or imports."""
    return list(vars(sys.modules[type(evaluator).__module__]).values())


def _in_order(properties: Mapping[str, Any]) -> bool:
    names = list(properties)
    verdicts = [
        names.index(n) for n in names if properties[n].get("type") in {"boolean", "integer"}
    ]
    return "reasoning" not in names or names.index("reasoning") < min(verdicts, default=len(names))


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_flow_keeps(rule: Callable[[FlowEvaluator], bool], name: str) -> None:
    assert rule(built(name)), f"{name}: {rule.__doc__}"


class Hasty(Reply):
    """Verdict first."""

    holds: bool
    reasoning: str


def wrong(name: str, **attributes: Any) -> FlowEvaluator:
    """An evaluator of the catalogue that declares something else."""
    cls = catalog.catalogue()[name]
    body = {**attributes, "__module__": cls.__module__}
    return cast("FlowEvaluator", type(cls.__name__, (cls,), body)())


WRONG = [
    (roles, wrong("context_relevancy", needs=frozenset())),
    (roles, wrong("context_relevancy", needs=frozenset({"jugde"}))),
    (roles, wrong("context_relevancy", prompts=())),
    (wordings, wrong("faithfulness", prompts=built("faithfulness").prompts[1:])),
    (forms, wrong("fairness_bias_judge", replies=())),
    (reasons_first, wrong("sexism", replies=(Hasty,))),
]


@pytest.mark.parametrize(("rule", "evaluator"), WRONG)
def test_a_wrong_flow_is_found(
    rule: Callable[[FlowEvaluator], bool], evaluator: FlowEvaluator
) -> None:
    assert not rule(evaluator)


def test_every_rule_finds_something() -> None:
    assert {rule for rule, _ in WRONG} == set(RULES)


def rows() -> Iterator[dict[str, Any]]:
    """Samples of all sorts: much or little retrieved, with and without an expected answer."""
    levels = {str(level): f"Level {level}." for level in range(1, 6)}
    for number in range(40):
        text = f"The ferry {number} leaves at eight."
        yield {
            "question": f"The harbour is old. It has a ferry. When does ferry {number} leave?",
            "answer": f"{text} It is never late." if number % 3 else text,
            "contexts": [text, "The harbour is old. It has two piers."][: 1 + number % 2],
            "expected_answers": ["At eight."] if number % 4 else [],
            "rubric": f'{{"description": "The hour.", "scale": {levels}}}'.replace("'", '"'),
            "document_sentences": [{"sentence_id": "S1", "text": text}],
            "opponents": [{"system": "other", "answer": f"I do not know ferry {number}."}],
        }


@pytest.mark.parametrize("name", FLOWS)
def test_made_up_engines_give_numbers_and_reasons(name: str) -> None:
    # Or the properties of the catalogue would hold of evaluators that never give a number.
    evaluator = built(name)
    long = score(evaluator, samples(list(rows())), engines(evaluator)).long()
    (primary,) = [metric.name for metric in evaluator.sample_metrics if metric.primary]
    assert long.filter(status="scored", metric=primary).height
    lost = {"parse_failure", "judge_error", "undefined"}
    assert lost & set(long.filter(metric=primary)["status"])


@pytest.mark.parametrize("name", FLOWS)
def test_the_number_of_questions_is_known_beforehand(name: str) -> None:
    # An estimate may be too high, since questions can follow from replies, but not too low.
    evaluator = built(name)
    frame = samples(list(rows()))
    judge = FabricatedJudge(mishaps=0)
    score(evaluator, frame, engines(evaluator, judge))
    likely = sum(evaluator.expected_calls(Sample.of(row)) for row in frame.iter_rows(named=True))
    assert len(judge.asked) <= likely


@pytest.mark.parametrize("name", FLOWS)
def test_without_engines_there_is_no_number(name: str) -> None:
    long = score(built(name), samples(list(rows())), Engines()).long()
    assert set(long["status"]) == {"not_applicable"}
