"""Asks a causal language model on this machine, many questions per forward pass."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeAlias

from calls.completion import Completion, TokenLogprob
from calls.errors import ModelRefused
from evaluators.engines.local.next_text import NextText
from evaluators.engines.local.text_predictor import TextPredictor
from systems.client import (
    Answer,
    Request,
    ReturnedError,
    SystemRefused,
    as_answer,
    timed,
)
from systems.tasks.option_letters import LETTERS, spellings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from systems.settings import LocalModelSystem

_Answers: TypeAlias = "dict[NextText, list[float] | str]"


class LocalModelClient:
    """A `SystemClient` that computes the log-probabilities of all option letters.

    Requests that wait while the model computes form the next batch.

    Attributes:
        model: The model.
        batches: The number of prompts of each batch.
    """

    def __init__(self, settings: LocalModelSystem, questions: Sequence[Mapping[str, Any]]) -> None:
        """Bind the task to the questions; no model is loaded.

        Raises:
            SystemRefused: The task cannot be done, whatever the question.
        """
        self.model = model_of(settings)
        self.batches: list[int] = []
        self._questions = questions
        self._timeout_s = settings.timeout_s
        self._task = settings.task.bind(questions)
        self._free = asyncio.Lock()
        self._next: dict[NextText, None] | None = None
        self._batch_of_next: asyncio.Task[_Answers]
        self._batches: set[asyncio.Task[_Answers]] = set()

    def request(self, question: Mapping[str, Any]) -> Request:
        """Return the prompts of a question.

        Raises:
            SystemRefused: The question lacks what the task needs.
        """
        prompts = self._task.prompts(question)
        letters = LETTERS[: len(question["choices"])]
        texts = tuple(spellings(letter) for letter in letters)
        sent = [
            NextText(tuple((each["role"], each["content"]) for each in prompt.messages), texts)
            for prompt in prompts
        ]
        messages = [prompt.messages for prompt in prompts]
        key = {"messages": messages, "letters": letters}
        return Request(sent=(question, sent), key=key, calls=len(prompts))

    def most_usd(self, request: Request) -> float:  # noqa: ARG002 - free, whatever is asked
        """Return 0: the model costs nothing."""
        return 0.0

    def missing_key(self) -> None:
        """Return None: a model on this machine needs no key."""

    async def open(self) -> None:
        """Make the requests of all questions, and load the model, which may download it.

        Raises:
            SystemRefused: A request cannot be made, or the model cannot be loaded.
        """
        for question in self._questions:
            self.request(question)
        try:
            await asyncio.to_thread(self.model.load)
        except ModelRefused as reason:
            raise SystemRefused(str(reason)) from None

    async def ask(self, request: Request, repeat: int) -> Answer:  # noqa: ARG002 - no sampling
        """Compute the log-probabilities of the letters; every repeat gets the same.

        Raises:
            ReturnedError: The prompt exceeds the model's window, or the model gave no numbers.
            SystemRefused: The model cannot be loaded, or cannot write a letter.
            WrongShape: The task cannot read the probabilities.
        """
        return await timed(self._ask(request), self._timeout_s)

    async def _ask(self, request: Request) -> Answer:
        question, prompts = request.sent
        try:
            found = await self._compute(prompts)
        except ModelRefused as reason:
            raise SystemRefused(str(reason)) from None
        served_by, completions = self.model.identity, []
        for each in found:
            if isinstance(each, str):
                raise ReturnedError(each)
            letters = LETTERS[: len(each)]
            completions.append(_completion(letters, each, served_by))
        fields = dict(self._task.read(question, completions))
        answer = as_answer({**fields, "cost_usd": 0.0})
        return Answer(fields=answer.fields, served_by=served_by)

    async def close(self) -> None:
        """Wait for the batches in progress: a thread cannot be cancelled."""
        await asyncio.gather(*self._batches, return_exceptions=True)

    async def _compute(self, prompts: Sequence[NextText]) -> list[list[float] | str]:
        if self._next is None:
            self._next = prompted = dict.fromkeys(prompts)
            batch = asyncio.create_task(self._compute_batch(prompted))
            self._batch_of_next = batch
            self._batches.add(batch)
            batch.add_done_callback(self._batches.discard)
        else:
            self._next |= dict.fromkeys(prompts)
        # A question that is cancelled does not stop the others.
        answers = await asyncio.shield(self._batch_of_next)
        return [answers[each] for each in prompts]

    async def _compute_batch(self, prompted: Mapping[NextText, None]) -> _Answers:
        """Compute the prompts that have joined by the time that the model is free."""
        async with self._free:
            self._next = None
            distinct = list(prompted)
            self.batches.append(len(distinct))
            answers = await asyncio.to_thread(self.model.predict, distinct)
        return dict(zip(distinct, answers, strict=True))


def model_of(settings: LocalModelSystem) -> TextPredictor:
    """Return the model of a system; nothing is read before the first request."""
    label = f"systems.{settings.name}"
    return TextPredictor(label, settings.model, settings.home, settings.options)


def _completion(letters: str, logprobs: Sequence[float], served_by: str) -> Completion:
    """Return a completion whose first position lists the letters and nothing else."""
    top = tuple(map(TokenLogprob, letters, logprobs))
    return Completion(
        text=None, finish=None, refusal=None, tokens_in=None, tokens_out=None, usage=None,
        served_by=served_by, top_logprobs=(top,),
    )  # fmt: skip
