"""The client of a judge model: it sends messages once, with the options that the model supports."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from calls.errors import ModelRefused
from calls.litellm_model import CalledModel
from evaluators.engines.judge.errors import BadJudgeSettings, JudgeRefused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from calls.completion import Completion, Message
    from evaluators.engines.judge.settings import JudgeSettings

Form: TypeAlias = Literal["schema", "object", "text"]
FORMS: tuple[Form, ...] = ("schema", "object", "text")
"""How replies are constrained, the strictest first: to a schema, to a JSON object, not at all."""


@dataclass(frozen=True, slots=True)
class CallOptions:
    """The request options that a model supports.

    Attributes:
        form: How the reply is constrained.
        sampling: Whether the model accepts temperature and top_p.
        seeded: Whether the model accepts a seed.
    """

    form: Form = "schema"
    sampling: bool = True
    seeded: bool = True

    def looser(self) -> CallOptions | None:
        """Return the options with the next less strict form, or None."""
        place = FORMS.index(self.form) + 1
        return replace(self, form=FORMS[place]) if place < len(FORMS) else None


class LitellmClient:
    """Sends messages to one model."""

    def __init__(self, settings: JudgeSettings) -> None:
        """Look up the key.

        Raises:
            BadJudgeSettings: The environment variable of the key is not set.
        """
        self._settings = settings
        self.secret: str | None = None
        if settings.api_key_env is not None:
            self.secret = settings.api_key or os.environ.get(settings.api_key_env)
            if not self.secret:
                raise BadJudgeSettings(
                    f"the judge's key: the environment variable {settings.api_key_env!r} is not set"
                )
        self._model = CalledModel(
            name=settings.model,
            api_base=settings.api_base,
            secret=self.secret,
            timeout_s=settings.timeout_s,
            max_reply_mb=settings.max_reply_mb,
            section="judge",
            title=settings.title,
        )

    def __repr__(self) -> str:
        return f"LitellmClient({self._settings.model!r})"

    async def call(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        options: CallOptions,
        *,
        max_tokens: int,
        seed: int,
    ) -> Completion:
        """Send messages once.

        Raises:
            CallFailure: The call failed.
            JudgeRefused: Every further call would fail too.
        """
        settings = self._settings
        sent: dict[str, Any] = {"max_tokens": max_tokens}
        if options.sampling:
            sent |= {"temperature": settings.temperature, "top_p": 1.0}
        if options.seeded:
            sent["seed"] = seed
        if schema and options.form != "text":  # without a schema, the prompt says how to reply
            sent["response_format"] = _response_format(options.form, schema)
        try:
            return await self._model.complete(messages, sent)
        except ModelRefused as refusal:
            raise JudgeRefused(str(refusal)) from None


def _response_format(form: Form, schema: Mapping[str, Any]) -> dict[str, Any]:
    if form == "object":
        return {"type": "json_object"}
    named = {"name": "reply", "strict": True, "schema": dict(schema)}
    return {"type": "json_schema", "json_schema": named}
