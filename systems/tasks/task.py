"""The protocol of tasks: from a question to messages, and from completions to a prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from calls.completion import Completion, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPrompt:
    """One request to a model.

    Attributes:
        messages: The messages.
        top_logprobs: How many of the likeliest tokens are requested for each position; None
            requests no log-probabilities.
        max_tokens: The most tokens of the completion; None leaves it to the settings.
    """

    messages: Sequence[Message]
    top_logprobs: int | None = None
    max_tokens: int | None = None


class BoundTask(Protocol):
    """A task with the questions of one benchmark, among which it may choose examples."""

    def prompts(self, question: Mapping[str, Any]) -> Sequence[TaskPrompt]:
        """Return the requests for a question; equal questions give equal requests.

        Raises:
            SystemRefused: The question lacks what the task needs; the message names it.
        """

    def read(
        self, question: Mapping[str, Any], completions: Sequence[Completion]
    ) -> Mapping[str, Any]:
        """Return fields of a prediction.

        Args:
            question: The question.
            completions: One completion per request, in the order of `prompts`.

        Raises:
            WrongShape: The completions do not contain what the task reads.
        """
