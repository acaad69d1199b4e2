"""Asks a system that is a model behind LiteLLM."""

from __future__ import annotations

import asyncio
import math
import os
from typing import TYPE_CHECKING, Any, Final

from calls.errors import CallFailure, ModelRefused, TransientFailure, WrongAddress
from calls.litellm_model import CalledModel, describe_missing_key, litellm
from calls.prices import Prices, count_tokens, find_model_info
from systems.client import Answer, Request, ReturnedError, SystemRefused, as_answer
from systems.tasks.task import TaskPrompt
from systems.templates import Templates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from calls.completion import Completion
    from systems.settings import ModelSystem
    from systems.tasks.task import BoundTask

_COUNT_MARGIN = 1.25
"""Messages may have a quarter more tokens than counted."""
_QUESTION: Final = "{{ question }}"
_FILTERED = "content_filter"


class ModelClient:
    """Sends the questions of one benchmark to a model."""

    def __init__(self, settings: ModelSystem, questions: Sequence[Mapping[str, Any]]) -> None:
        """Compile the prompt, or bind the task to the questions.

        Raises:
            SystemRefused: The prompt cannot be used, or the task cannot be done.
        """
        self._settings = settings
        self._questions = questions
        self._where = f"systems.{settings.name}"
        task = settings.task
        self._task: BoundTask = (
            _Prompt(settings, questions) if task is None else task.bind(questions)
        )
        self._model: CalledModel | None = None
        self._known_prices: Prices | None = None

    def __repr__(self) -> str:
        return f"ModelClient({self._settings.name!r}, {self._settings.model!r})"

    def request(self, question: Mapping[str, Any]) -> Request:
        """Return the messages for a question.

        Raises:
            SystemRefused: The prompt cannot be rendered, or the question lacks what the task needs.
        """
        prompts = self._task.prompts(question)
        key = [
            {
                "messages": [*prompt.messages],
                "top_logprobs": prompt.top_logprobs,
                "max_tokens": prompt.max_tokens,
            }
            for prompt in prompts
        ]
        return Request(sent=(question, prompts), key=key, calls=len(prompts))

    def most_usd(self, request: Request) -> float | None:
        """Return the cost of the messages and of the longest replies; None if it is unknown."""
        prices = self._prices()
        _, prompts = request.sent
        if not prices.known:
            return None
        total = 0.0
        for prompt in prompts:
            reply = prompt.max_tokens or self._settings.max_tokens or self._longest_reply()
            if reply is None and prices.tokens_out:
                return None
            counted = count_tokens(self._settings.model, prompt.messages)
            total += prices.most_usd(math.ceil(counted * _COUNT_MARGIN), reply or 0) or 0.0
        return total

    def missing_key(self) -> str | None:
        """Return which environment variable is not set; None if the key is there, or not needed."""
        settings = self._settings
        variable = settings.api_key_env
        return describe_missing_key(settings.model, variable, settings.api_base, self._where)

    async def open(self) -> None:
        """Make the requests of all questions, and look up the key; nothing is sent.

        Raises:
            SystemRefused: The key is not set, or a request cannot be made.
        """
        settings = self._settings
        for question in self._questions:
            self.request(question)
        missing = self.missing_key()
        if missing is not None:
            raise SystemRefused(f"{self._where}: {missing}")
        budgets = (settings.budget_usd, settings.daily_budget_usd)
        if budgets != (None, None) and not self._prices().known:
            raise SystemRefused(
                f"{self._where}: a budget needs the price of {settings.model!r}, which LiteLLM "
                "does not know: set usd_per_million_in and usd_per_million_out"
            )
        litellm()
        import openai.resources  # noqa: F401 - within the first call, it would delay all systems

        self._model = CalledModel(
            name=settings.model,
            api_base=settings.api_base,
            secret=None if settings.api_key_env is None else os.environ.get(settings.api_key_env),
            timeout_s=settings.timeout_s,
            max_reply_mb=settings.max_reply_mb,
            section=self._where,
            title=f"{self._where}: the model",
        )

    async def close(self) -> None:
        """Do nothing: connections are closed with the event loop."""

    async def ask(self, request: Request, repeat: int) -> Answer:
        """Send the messages of a question once; see `SystemClient.ask`."""
        question, prompts = request.sent
        tasks = [asyncio.create_task(self._complete(prompt, repeat)) for prompt in prompts]
        try:
            completions = await asyncio.gather(*tasks)
        except (CallFailure, SystemRefused) as failure:
            has_paid = any(each.done() and not each.exception() for each in tasks)
            failure.billed = failure.billed or has_paid
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        answer = as_answer(dict(self._task.read(question, completions)))
        costs = [self._prices().charged(each.usage) for each in completions]
        cost = _sum(costs)
        firsts = [each.first_token_s for each in completions]
        return Answer(
            fields={**answer.fields, **({} if cost is None else {"cost_usd": cost})},
            tokens_in=_sum([each.tokens_in for each in completions]),
            tokens_out=_sum([each.tokens_out for each in completions]),
            first_token_s=min((each for each in firsts if each is not None), default=None),
            served_by=completions[0].served_by or None,
            seconds=max((each.seconds for each in completions if each.seconds), default=None),
        )

    async def _complete(self, prompt: TaskPrompt, repeat: int) -> Completion:
        assert self._model is not None  # noqa: S101 - `open` comes first
        settings = self._settings
        options: dict[str, Any] = {
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "seed": None if settings.seed is None else settings.seed + repeat,
            "max_tokens": prompt.max_tokens or settings.max_tokens,
            "stop": settings.stop or None,
        }
        if prompt.top_logprobs is not None:
            options |= {"logprobs": True, "top_logprobs": prompt.top_logprobs}
        given = {name: value for name, value in options.items() if value is not None}
        try:
            completion = await self._model.complete(prompt.messages, given, stream=settings.stream)
        except ModelRefused as refusal:
            raise SystemRefused(str(refusal)) from None
        except WrongAddress as failure:
            raise SystemRefused(f"{self._where} cannot be called: {failure}") from None
        except TransientFailure:
            raise
        except CallFailure as failure:
            returned = ReturnedError(str(failure))
            returned.billed = failure.billed
            raise returned from None
        if completion.finish == _FILTERED and not completion.text:
            raise ReturnedError(f"{_FILTERED}: the provider held the answer back")
        return completion

    def _prices(self) -> Prices:
        if self._known_prices is None:
            settings = self._settings
            self._known_prices = Prices.of_model(settings.model, settings)
        return self._known_prices

    def _longest_reply(self) -> int | None:
        info = find_model_info(self._settings.model) or {}
        most = info.get("max_output_tokens")
        return most if isinstance(most, int) else None


class _Prompt:
    """A task whose one message is a template, and whose answer is the text."""

    def __init__(self, settings: ModelSystem, questions: Sequence[Mapping[str, Any]]) -> None:
        source, file = settings.prompt or _QUESTION, settings.prompt_file
        if file is not None:
            try:
                source = file.read_text("utf-8")
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or "not UTF-8"
                raise SystemRefused(f"systems.{settings.name}.prompt: {file}: {reason}") from None
        self._template = Templates(settings.name, questions).text(source, "prompt")
        if self._template.is_fixed:
            raise SystemRefused(
                f"systems.{settings.name}.prompt: every request would be the same, since the "
                f"prompt contains no field of the question, such as {_QUESTION}"
            )

    def prompts(self, question: Mapping[str, Any]) -> Sequence[TaskPrompt]:
        """Return one message of the user."""
        return [TaskPrompt(messages=[{"role": "user", "content": self._template(question)}])]

    def read(
        self,
        question: Mapping[str, Any],  # noqa: ARG002 - part of the protocol
        completions: Sequence[Completion],
    ) -> Mapping[str, Any]:
        """Return the text, or the text of a refusal; what is empty is an empty answer."""
        (completion,) = completions
        fields: dict[str, Any] = {"answer": completion.text or completion.refusal or ""}
        if completion.finish not in {None, "stop"}:
            fields["extra"] = {"finish_reason": str(completion.finish)}
        return fields


def _sum(values: Sequence[Any]) -> Any:
    return None if any(each is None for each in values) else sum(values)
