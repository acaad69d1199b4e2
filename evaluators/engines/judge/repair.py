"""Repair: what is said to a judge whose reply cannot be used, and when nothing need be said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators.engines.judge.asker import EMPTY, FILTERED, REFUSAL

if TYPE_CHECKING:
    from evaluators.engines.judge.judgment import JudgeCall
    from evaluators.engines.judge.litellm_call import Completion
    from evaluators.engines.judge.parse import InvalidReply
    from evaluators.flows.prompt import Message

_LONGEST_SHOWN = 40_000
"""Characters of a faulty reply that the judge is shown again."""


def missing_text_reason(said: Completion) -> str | None:
    """Why there is no text to read, if there is none."""
    if said.refusal:
        return f"{REFUSAL}: {' '.join(said.refusal.split())}"
    if said.finish == "content_filter":
        return f"{FILTERED}: the provider held the reply back"
    if not (said.text or "").strip():
        return f"{EMPTY}: the judge replied with nothing"
    return None


def repair_messages(question: JudgeCall, text: str, faulty: InvalidReply) -> list[Message]:
    """The messages that ask for a reply to be put right.

    Args:
        question: What was asked.
        text: What came back.
        faulty: What is wrong with it.
    """
    plain = "in the words that you were asked for"
    form = "one JSON object that follows the schema" if question.reply_schema else plain
    faults = "\n".join(f"- {fault}" for fault in faulty.faults)
    return [
        *question.messages,
        {"role": "assistant", "content": text[:_LONGEST_SHOWN]},
        {
            "role": "user",
            "content": "Your reply cannot be used:\n"
            f"{faults}\n"
            "Give the whole reply again with these faults put right and your verdicts unchanged "
            f"where they were not at fault: {form}, nothing else.",
        },
    ]
