"""GPTScore: how likely a text is to a language model after an instruction.

Source: Fu et al., "GPTScore: evaluate as you desire", 2023; the instructions and the choice of the
scored text follow Eval Studio. The value is the average negative log-likelihood of the scored
tokens: the paper's score with the opposite sign.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from evaluators.flows.reply import digest_of
from evaluators.flows.requests import LANGUAGE_MODEL, Likelihood
from evaluators.kinds.flow import FlowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, Undefined
from evaluators.text.likelihoods import average_negative, count_zeros
from evaluators.text.references import non_blank

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluators.flows.protocols import TokenLikelihood
    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample


def aspects(summaries: Mapping[str, str]) -> tuple[Metric, ...]:
    """Return the metric of each aspect; the first is the primary one.

    Low is good, from 0 to infinity, and every value passes.

    Args:
        summaries: The summary of each aspect's metric.
    """
    primary = next(iter(summaries))
    return tuple(
        Metric(
            name=name,
            summary=summary,
            best="low",
            bounds=(0.0, math.inf),
            threshold=math.inf,
            primary=name == primary,
        )
        for name, summary in summaries.items()
    )


def aspect_instructions(template: str, words: Mapping[str, str]) -> Mapping[str, str]:
    """Return the instruction of each aspect.

    Args:
        template: The instruction, with `ASPECT` in place of the words and `{}` in place of the
            source.
        words: The words for each aspect.
    """
    return MappingProxyType(
        {name: template.replace("ASPECT", each) for name, each in words.items()}
    )


@dataclass(frozen=True, kw_only=True)
class GptScore(FlowEvaluator):
    """Scores texts by one instruction for each aspect.

    Attributes:
        instructions: The instructions by aspect. They define the metrics, so their digest is part
            of the signature.
    """

    instructions: ClassVar[Mapping[str, str]]
    needs = frozenset({LANGUAGE_MODEL})

    def expected_calls(self, sample: object) -> int:  # noqa: ARG002
        """Return 0: there are no judge calls."""
        return 0

    def identity(self) -> Sequence[str]:
        """Add the digest of the instructions."""
        content = json.dumps(dict(self.instructions), ensure_ascii=False)
        return [f"instructions:{digest_of(content)}", *super().identity()]


def likelihood_request(instruction: str, source: str, text: str) -> Likelihood:
    """Request the likelihood of a text after an instruction that contains a source.

    Args:
        instruction: The instruction, with `{}` in place of the source.
        source: The source; cut from its end if the whole exceeds the model's window.
        text: The text whose tokens are scored.

    Raises:
        Undefined: The text is blank.
    """
    if not text.strip():
        raise Undefined("a text that is to be scored is blank")
    before, after = instruction.split("{}")
    given = source.strip()
    shorten = (len(before), len(before) + len(given))
    return Likelihood(f"{before}{given}{after}", text.strip(), shorten=shorten)


def score_text(
    instructions: Mapping[str, str], source: str, text: str
) -> Flow[tuple[dict[str, float], dict[str, int]]]:
    """Score a text after several instructions with the same source.

    Returns:
        The average negative log-likelihood by aspect, and the numbers of shortened prefixes and of
        tokens with probability 0.
    """
    requests = tuple(likelihood_request(each, source, text) for each in instructions.values())
    found: list[TokenLikelihood] = yield requests
    values = [average_negative(each.logprobs) for each in found]
    remarks = {
        "truncated": sum(each.truncated for each in found),
        "zeros": sum(count_zeros(each.logprobs) for each in found),
    }
    return dict(zip(instructions, values, strict=True)), remarks


@dataclass(frozen=True, kw_only=True)
class ReferencedGptScore(GptScore):
    """Scores the answer after the expected answer and vice versa; the value is the mean."""

    reads = frozenset({"expected_answers", "answer"})
    non_empty = frozenset({"expected_answers"})

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Score the answer and the first expected answer, each after the other."""
        (expected, *_), answer = non_blank(sample.expected_answers), sample.answer or ""
        forth, shown = yield from score_text(self.instructions, expected, answer)
        back, returned = yield from score_text(self.instructions, answer, expected)
        detail: dict[str, object] = {
            "answer_given_expected": forth,
            "expected_given_answer": back,
            **{name: shown[name] + returned[name] for name in shown},
        }
        return Graded({name: (forth[name] + back[name]) / 2 for name in forth}, detail)
