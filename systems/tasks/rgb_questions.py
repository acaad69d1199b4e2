"""The questions of RGB: one for each scenario and ratio that a question's passages allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator, Field

from records.settings import ConfigModel, Count, Number
from systems.tasks.rgb_passages import falsify, integrate, mix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Scenario: TypeAlias = Literal[
    "noise_robustness",
    "negative_rejection",
    "information_integration",
    "counterfactual_robustness",
]
SCENARIOS: Final[tuple[Scenario, ...]] = get_args(Scenario)

PASSAGES: Final = "passages"
"""The field of `extra` with the passages of a question."""

SOURCE_SEED: Final = 2333
"""The seed of the benchmark's script."""

_SOURCES: Final = ("positive", "negative", "positive_wrong")


def _distinct(ratios: list[float]) -> list[float]:
    return list(dict.fromkeys(ratios))


def _in_order(scenarios: list[Scenario]) -> list[Scenario]:
    return [each for each in SCENARIOS if each in scenarios]


class RgbQuestions(ConfigModel):
    """Makes the questions.

    Attributes:
        noise_ratios: The shares of irrelevant passages for noise robustness and information
            integration; negative rejection is the share 1.
        passages: The number of passages in the prompt.
        seed: The seed of the choice and the order of passages; unless given, that of the
            benchmark's script.
        scenarios: The scenarios that are asked, as far as the passages allow them.
    """

    noise_ratios: Annotated[
        list[Annotated[Number, Field(ge=0, lt=1)]],
        Field(min_length=1, max_length=100),
        AfterValidator(_distinct),
    ] = Field(default=[0.0, 0.2, 0.4, 0.6, 0.8])
    passages: Count = 5
    seed: Annotated[int, Field(strict=True)] = SOURCE_SEED
    scenarios: Annotated[list[Scenario], Field(min_length=1), AfterValidator(_in_order)] = Field(
        default=[*SCENARIOS]
    )

    def construction(self) -> Mapping[str, Any]:
        """Return what the questions depend on besides their passages, as JSON values."""
        return {
            "noise_ratios": self.noise_ratios,
            "passages": self.passages,
            "seed": self.seed,
            "scenarios": self.scenarios,
        }

    def expand(self, question: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the questions that a question with passages becomes.

        `extra.positive` and `extra.negative` are the passages with and without the answer. They
        give noise robustness at each ratio, or information integration where `positive` is a list
        of lists, one for each part of the answer; and negative rejection, with irrelevant passages
        only. `extra.positive_wrong` with a `counterfactual_answer` gives counterfactual robustness,
        with false passages only.

        Ids are `ID@RATIO`, for negative rejection `ID@1`, and `ID@counterfactual`: the same as for
        RGB's output files at these ratios. All questions made of one belong to one cluster. A
        question without passages is returned unchanged.

        Raises:
            ValueError: The passages are not texts or lists of texts, or a list of them is empty.
        """
        extra = question.get("extra") or {}
        if not any(name in extra for name in _SOURCES):
            return [dict(question)]
        negative, false = _texts(extra, "negative"), _texts(extra, "positive_wrong")
        made: list[tuple[Scenario, float, list[str]]] = []
        given = extra.get("positive")
        if given and negative:
            for ratio in self.noise_ratios:
                settings = (negative, ratio, self.passages, self.seed)
                if isinstance(given[0], list):
                    passages = integrate(_groups(given), *settings)
                    made.append(("information_integration", ratio, passages))
                else:
                    passages = mix(_texts(extra, "positive"), *settings)
                    made.append(("noise_robustness", ratio, passages))
            passages = mix((), negative, 1.0, self.passages, self.seed)
            made.append(("negative_rejection", 1.0, passages))
        if false and question.get("counterfactual_answer") is not None:
            passages = falsify(false, self.passages, self.seed)
            made.append(("counterfactual_robustness", 0.0, passages))
        return [_question(question, *each) for each in made if each[0] in self.scenarios]


def _question(
    question: Mapping[str, Any], scenario: Scenario, ratio: float, passages: list[str]
) -> dict[str, Any]:
    name = question["question_id"]
    suffix = "counterfactual" if scenario == "counterfactual_robustness" else f"{ratio:g}"
    extra = {field: value for field, value in question["extra"].items() if field not in _SOURCES}
    return {
        **question,
        "question_id": f"{name}@{suffix}",
        "scenario": scenario,
        "noise_ratio": ratio,
        "cluster": question.get("cluster") or name,
        "extra": {**extra, PASSAGES: passages},
    }


def _texts(extra: Mapping[str, Any], name: str) -> Sequence[str]:
    value = extra.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{name}: expected a list of texts")
    return value


def _groups(value: Sequence[Any]) -> Sequence[Sequence[str]]:
    groups = [_texts({"positive": group}, "positive") for group in value]
    if not all(groups):
        raise ValueError("positive: expected no empty list of passages")
    return groups
