"""The keys of the judge in `scoreline.yaml`, or of the judges of a panel."""

from __future__ import annotations

from typing import Annotated, Literal, LiteralString

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from evaluators.engines.judge.settings import RECORDED, JudgeKeys, JudgeModel
from records.settings import Number, OddCount, UsDollars


class PanelMember(JudgeKeys):
    """A judge of a panel.

    Attributes:
        model: A LiteLLM model name, or `recorded:FILE`.
    """

    model: JudgeModel


_SMALLEST_PANEL = 2
"""Two judges; with escalation there is a third."""


def _expand_member(member: object) -> object:
    return {"model": member} if isinstance(member, str) else member


def _check_panel(panel: list[PanelMember]) -> list[PanelMember]:
    # A recording goes by the name of its file, without the folder.
    names = [each.model.rpartition("/")[2] if _is_recorded(each) else each.model for each in panel]
    if len(names) < _SMALLEST_PANEL:
        raise PydanticCustomError("panel", "expected two judges or more")
    if "human" in names:
        raise PydanticCustomError(
            "panel",
            "human labels cannot be a member: import them, and the table `panel_calibration` "
            "compares each member with them",
        )
    if len(set(names)) < len(names):
        raise PydanticCustomError(
            "panel", "two members have the same model, so the second would get the first's replies"
        )
    return panel


def _is_recorded(member: PanelMember) -> bool:
    return member.model.startswith(RECORDED)


class Judge(JudgeKeys):
    """The judge. Without it, evaluators that need a judge are skipped with that reason.

    Attributes:
        budget_usd: The most US dollars that a run may spend, with all members of a panel together;
            a hard limit.
        replicates: How often every sample is judged; an odd number.
        escalate_to: How often samples near the threshold of the metric's source (not the
            benchmark's) are judged; an odd number.
        escalate_within: How near that is, on the scale of the primary metric. With a panel: how
            far two members may differ and still agree.
        panel: Several judges instead of one: model names, or mappings with the keys of a judge from
            `model` to `structured_output`. Keys that a member does not give are those given beside
            `panel`.
        combine: How the values of a panel become one: `majority` takes the middle value (of passes
            and failures the verdict of the majority), `mean` the mean.
        escalate: Whether only the first two members judge every sample, and the others where these
            two disagree.
        optional: Whether a run goes on without the judge while its key is missing. Samples whose
            replies the ledger lacks are then `not_applicable` with that reason.
    """

    budget_usd: UsDollars | None = None
    replicates: OddCount = 1
    escalate_to: OddCount = 1
    escalate_within: Annotated[Number, Field(ge=0)] = 0.1
    panel: (
        Annotated[
            list[
                Annotated[
                    PanelMember,
                    BeforeValidator(_expand_member, json_schema_input_type=str | PanelMember),
                ]
            ],
            AfterValidator(_check_panel),
        ]
        | None
    ) = None
    combine: Literal["majority", "mean"] = "majority"
    escalate: Annotated[bool, Field(strict=True)] = False
    optional: Annotated[bool, Field(strict=True)] = False

    @model_validator(mode="after")
    def _check(self) -> Judge:
        """Check the keys that depend on whether there is a panel."""
        if self.panel is None:
            fault = _fault_without_panel(self)
        else:
            fault = _fault_with_panel(self, len(self.panel))
        if fault is not None:
            raise PydanticCustomError("judge", fault)
        return self


def _fault_without_panel(judge: Judge) -> LiteralString | None:
    if judge.model is None:
        return "the key 'model' is missing, or 'panel' for several judges"
    if judge.escalate or judge.combine != "majority":
        return "`combine` and `escalate` are about a panel: add `panel`, or remove them"
    return None


def _fault_with_panel(judge: Judge, members: int) -> LiteralString | None:
    if judge.model is not None:
        return "expected `model` or `panel`, found both: remove one of them"
    if max(judge.replicates, judge.escalate_to) > 1:
        return "a panel judges each sample once per member: remove `replicates` and `escalate_to`"
    if judge.escalate and members == _SMALLEST_PANEL:
        return "`escalate` needs a third member, who judges where the first two disagree"
    return None
