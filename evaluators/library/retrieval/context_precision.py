"""Context precision: whether the useful passages are at the top of the ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Key, Reply, digest_of, faults_by_id, verdicts_by_id
from evaluators.flows.requests import JUDGE, ask, ask_all
from evaluators.kinds.flow import FlowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, NotApplicable, Unscored
from evaluators.text.references import non_blank, numbered_alternatives

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample

Usefulness = Literal["none", "partly", "fully"]

APPRAISE = Instruction(
    "The block `passage` is one passage that a search returned for the question in the block "
    "`question`; the block `answer` is the answer that was wanted, or lists several of which any "
    "would have done. Take the answer as right. Say how useful the passage is for arriving at it: "
    "`fully` when somebody who reads nothing but the passage can give the answer, `partly` when "
    "the passage states or implies a piece of the answer but not all of it, `none` when it "
    "contributes nothing to the answer, even if it is on the same topic."
)

APPRAISE_ALL = Instruction(
    "The block `passages` lists passages that a search returned for the question in the block "
    "`question`, in no particular order, each after its key in brackets; the block `answer` is the "
    "answer that was wanted, or lists several of which any would have done. Take the answer as "
    "right. Say of every passage, by itself and as if it were the only one, how useful it is for "
    "arriving at the answer: `fully` when somebody who reads nothing but this passage can give the "
    "answer, `partly` when the passage states or implies a piece of the answer but not all of it, "
    "`none` when it contributes nothing to the answer, even if it is on the same topic. Give "
    "exactly one verdict for each key of the block `passages`."
)

_BY_EXPECTED = ("context_precision", "context_precision_graded")
_BY_ANSWER = "context_utilization_precision"
_WORTH: Mapping[Usefulness, float] = {"none": 0.0, "partly": 0.5, "fully": 1.0}


class Appraisal(Reply):
    """How useful one passage is."""

    reasoning: str
    usefulness: Usefulness


class KeyedAppraisal(Reply):
    """How useful one of several passages is."""

    passage: Key
    reasoning: str
    usefulness: Usefulness


class Appraisals(Reply):
    """How useful each passage is."""

    verdicts: list[KeyedAppraisal]


@dataclass(frozen=True, kw_only=True)
class ContextPrecision(FlowEvaluator):
    """Are the passages that help to answer ranked above those that do not?

    The judge decides for each passage separately whether it is useful for arriving at the expected
    answer. The metric is the average precision: the mean, over the useful passages, of the share of
    useful ones among the passages up to that rank. The graded metric counts a passage that holds
    only a piece of the answer as half a useful one. `context_utilization_precision` compares the
    passages with the system's own answer instead, for questions without an expected answer.

    Sources: context precision and context utilization of Eval Studio and ragas; ragas adds 1e-10 to
    the denominator, so a perfect ranking scores less than 1.

    Edges: no useful passage: 0. No passage with text: 0 (`no_context`). A blank passage is useless
    without a judge call. Equal passages are judged once, and count at each of their ranks. If a
    passage has no verdict, the metric has no value; the list is not shortened. Several expected
    answers are shown together, and any of them counts. An empty answer uses nothing: 0.

    Attributes:
        top_n: The number of passages from the top; null for all.
        batched: Whether one judge call shows all passages, ordered by their digests, instead of one
            call each. This is cheaper, but a verdict may depend on the other passages.
        utilization: When passages are compared with the system's answer, which doubles the number
            of judge calls: `without_expected_answer`, or `always`.
    """

    metrics = (
        Metric(
            name="context_precision",
            summary="Average precision of the ranking; useful is what leads to the expected "
            "answer.",
            primary=True,
        ),
        Metric(
            name="context_precision_graded",
            summary="The same, where a passage with a piece of the answer counts half.",
        ),
        Metric(
            name="context_utilization_precision",
            summary="Average precision of the ranking; useful is what leads to the system's own "
            "answer.",
        ),
    )
    reads = frozenset({"question", "contexts"})
    optional = frozenset({"expected_answers", "answer"})
    non_empty = frozenset({"question"})
    needs = frozenset({JUDGE})
    prompts = (APPRAISE, APPRAISE_ALL)
    replies = (Appraisal, Appraisals)

    top_n: int | None = None
    batched: bool = False
    utilization: Literal["without_expected_answer", "always"] = "without_expected_answer"

    def __post_init__(self) -> None:
        """Validate `top_n`.

        Raises:
            ValueError: `top_n` is less than 1.
        """
        if self.top_n is not None and self.top_n < 1:
            raise ValueError(f"top_n: expected 1 or more, or null, got {self.top_n}")

    def expected_calls(self, sample: Sample) -> int:
        """Return one call per distinct passage (or for all of them) and answer."""
        count = len(_distinct(self._passages(sample)))
        return len(self._references(sample)) * (min(count, 1) if self.batched else count)

    def on_failure(self, sample: Sample) -> Graded:
        """Return the metrics that are not applicable whatever the answer."""
        return Graded(self._not_applicable(sample))

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Judge the distinct passages by the expected answer, the system's answer, or both."""
        passages = self._passages(sample)
        scores: dict[str, float | Unscored] = dict.fromkeys((*_BY_EXPECTED, _BY_ANSWER), 0.0)
        scores |= self._not_applicable(sample)
        if not _distinct(passages):
            return Graded(scores, remark="no_context")
        judge = _judge_together if self.batched else _judge_separately
        detail: dict[str, list[Usefulness]] = {}
        for name, metrics, answer in self._references(sample):
            try:
                found = yield from judge(sample.question or "", answer, passages)
            except Unscored as reason:
                scores |= dict.fromkeys(metrics, reason)
            else:
                detail[name] = found
                scores |= dict(zip(metrics, precisions(found), strict=False))
        return Graded(scores, detail)

    def _references(
        self, sample: Sample
    ) -> list[tuple[str, tuple[str, ...], str | dict[str, str]]]:
        """Return the answers to compare with: the name in `detail`, the metrics, the answer."""
        references: list[tuple[str, tuple[str, ...], str | dict[str, str]]] = []
        if not self._no_expected(sample):
            references.append(
                ("useful", _BY_EXPECTED, numbered_alternatives(sample.expected_answers))
            )
        if not self._no_answer(sample) and (sample.answer or "").strip():
            references.append(("used", (_BY_ANSWER,), sample.answer or ""))
        return references

    def _passages(self, sample: Sample) -> Sequence[str]:
        return list(sample.contexts or ())[: self.top_n]

    def _not_applicable(self, sample: Sample) -> dict[str, float | Unscored]:
        """Return the metrics that are not applicable."""
        expected, answer = self._no_expected(sample), self._no_answer(sample)
        missing: dict[str, float | Unscored] = (
            dict.fromkeys(_BY_EXPECTED, expected) if expected else {}
        )
        return missing | ({_BY_ANSWER: answer} if answer else {})

    def _no_expected(self, sample: Sample) -> NotApplicable | None:
        if non_blank(sample.expected_answers):
            return None
        return NotApplicable("no expected answer with text")

    def _no_answer(self, sample: Sample) -> NotApplicable | None:
        if sample.answer is None:
            return NotApplicable("no answer")
        if self.utilization == "always" or not non_blank(sample.expected_answers):
            return None
        message = "there is an expected answer, and `utilization` is not `always`"
        return NotApplicable(message, of_run=True)


def precisions(useful: Sequence[Usefulness]) -> tuple[float, float]:
    """Return the average precision, counting a partly useful passage as useful, and as half."""
    worths = [_WORTH[each] for each in useful]
    return average_precision([float(worth > 0) for worth in worths]), average_precision(worths)


def average_precision(worths: Sequence[float]) -> float:
    """Return the mean of the useful share up to each useful passage's rank; 0 without any.

    Args:
        worths: The usefulness of each passage from 0 to 1, best rank first.
    """
    total = 0.0
    weighted = 0.0
    for rank, worth in enumerate(worths, start=1):
        total += worth
        weighted += total / rank * worth
    return weighted / total if total else 0.0


def _distinct(passages: Sequence[str]) -> list[str]:
    """Return the distinct passages with text, in their order."""
    return list(dict.fromkeys(text for text in passages if text.strip()))


def _judge_separately(
    question: str, answer: str | dict[str, str], passages: Sequence[str]
) -> Flow[list[Usefulness]]:
    """Judge the usefulness of the passage at each rank, with one call per passage."""
    shown = _distinct(passages)
    prompts = [APPRAISE.prompt(question=question, answer=answer, passage=text) for text in shown]
    replies = yield from ask_all(Appraisal, prompts)
    useful = {text: reply.usefulness for text, reply in zip(shown, replies, strict=True)}
    return [useful.get(text, "none") for text in passages]


def _judge_together(
    question: str, answer: str | dict[str, str], passages: Sequence[str]
) -> Flow[list[Usefulness]]:
    """Judge all passages with one call, in a stable order that does not reveal the ranks."""
    shown = sorted(_distinct(passages), key=digest_of)
    keyed = {f"p{place}": text for place, text in enumerate(shown, start=1)}
    reply = yield from ask(
        Appraisals,
        APPRAISE_ALL.prompt(question=question, answer=answer, passages=keyed),
        check=lambda reply: faults_by_id(
            reply.verdicts, lambda each: each.passage, lambda each: each.usefulness, keyed
        ),
    )
    found, _ = verdicts_by_id(reply.verdicts, lambda each: each.passage, keyed)
    useful = {text: found[key].usefulness for key, text in keyed.items()}
    return [useful.get(text, "none") for text in passages]
