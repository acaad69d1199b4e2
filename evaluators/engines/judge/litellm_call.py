"""LiteLLM calls: send messages to a model once and return its completion."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from evaluators.engines.http_answers import check_answers, check_token_count, install_checks
from evaluators.engines.judge.errors import (
    BadJudgeSettings,
    CallFailure,
    TransientFailure,
    map_error,
    redact,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from evaluators.engines.judge.settings import JudgeSettings
    from evaluators.flows.prompt import Message

Form: TypeAlias = Literal["schema", "object", "text"]
_OPENAI = "openai/"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The completion of a model.

    Attributes:
        text: The text, if there is one; without the key, which some servers repeat.
        finish: Why the model stopped (`stop`, `length`, `content_filter`, ...).
        refusal: The text of a refusal, from providers that have a field for it.
        tokens_in: Tokens of the messages; None if not reported.
        tokens_out: Tokens of the reply; None if not reported.
        usage: The provider's usage object, to compute the cost.
        served_by: The provider's model name and fingerprint.
    """

    text: str | None
    finish: str | None
    refusal: str | None
    tokens_in: int | None
    tokens_out: int | None
    usage: Any
    served_by: str


@cache
def litellm() -> ModuleType:
    """Import LiteLLM without network access, prints and telemetry."""
    import logging
    import warnings

    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it fetches prices
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import litellm as library
    # Raised by LiteLLM's own types at the first call.
    warnings.filterwarnings("ignore", message="Item '.*' on TypedDict class")
    # Raised for calls that are cancelled while LiteLLM prepares them in a thread.
    warnings.filterwarnings("ignore", message="coroutine '.*acompletion' was never awaited")
    # Raised for fields of wrong types, which become failures of the call.
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
    library.telemetry = False
    library.suppress_debug_info = True
    library.disable_hf_tokenizer_download = True
    library.turn_off_message_logging = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    install_checks()
    return library


def missing_key(settings: JudgeSettings) -> str | None:
    """Return which key a run would miss, and what to do; None if it is there or none is needed.

    Without `api_key_env`, LiteLLM looks for the key in a variable of the provider. Servers at an
    `api_base` may need none.
    """
    if settings.recording is not None:
        return None
    variable = settings.api_key_env
    if variable is not None:
        if os.environ.get(variable):
            return None
        return f"the environment variable {variable} is not set: export {variable}=..."
    if settings.api_base is not None:
        return None
    found = litellm().validate_environment(settings.model)
    names = [name for name in found["missing_keys"] if name.endswith("_API_KEY")]
    if not names:
        return None
    advice = "export it, or set judge.api_key_env"
    return f"the environment variable {' or '.join(names)} is not set: {advice}"


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
            self.secret = os.environ.get(settings.api_key_env)
            if not self.secret:
                raise BadJudgeSettings(
                    f"the judge's key: the environment variable {settings.api_key_env!r} is not set"
                )
        self._fixed: dict[str, Any] = {
            "model": settings.model,
            "timeout": settings.timeout_s,
            "max_retries": 0,
            "num_retries": 0,
            "no-log": True,
        }
        if settings.api_base is not None:
            self._fixed["api_base"] = settings.api_base
        if self.secret is not None:
            self._fixed["api_key"] = self.secret
        elif settings.api_base is not None and settings.model.startswith(_OPENAI):
            # Local servers need no key, but the client requires one; LiteLLM would send them the
            # key of OpenAI from the environment.
            self._fixed["api_key"] = "none"

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
        sent: dict[str, Any] = {**self._fixed, "messages": [*messages], "max_tokens": max_tokens}
        if options.sampling:
            sent |= {"temperature": settings.temperature, "top_p": 1.0}
        if options.seeded:
            sent["seed"] = seed
        if schema and options.form != "text":  # without a schema, the prompt says how to reply
            sent["response_format"] = _response_format(options.form, schema)
        library = litellm()
        _skip_call_logging()
        with check_answers(settings.max_reply_mb) as check:
            try:
                async with asyncio.timeout(settings.timeout_s):
                    response = await library.acompletion(**sent)
                return _completion(response, self.secret)
            except Exception as error:  # noqa: BLE001 - a server may make LiteLLM raise anything
                cause = check.failure or error
                is_mapped = isinstance(cause, CallFailure)
                raise (cause if is_mapped else map_error(cause, self.secret)) from None


def _skip_call_logging() -> None:
    """Disable LiteLLM's logging of the call, which takes a seventh of its time."""
    with suppress(ImportError):  # private to LiteLLM; only the speed depends on it
        from litellm._internal_context import is_internal_call

        is_internal_call.set(True)


def _response_format(form: Form, schema: Mapping[str, Any]) -> dict[str, Any]:
    if form == "object":
        return {"type": "json_object"}
    named = {"name": "reply", "strict": True, "schema": dict(schema)}
    return {"type": "json_schema", "json_schema": named}


def _completion(response: Any, secret: str | None) -> Completion:
    if not response.choices:
        raise TransientFailure("transport: the answer holds no choices", garbled=True, billed=True)
    choice = response.choices[0]
    usage = getattr(response, "usage", None)
    if usage is not None and not (usage.prompt_tokens or usage.completion_tokens):
        usage = None  # LiteLLM writes 0 if the provider reports nothing
    if usage is not None:
        check_token_count("prompt_tokens", usage.prompt_tokens)
        check_token_count("completion_tokens", usage.completion_tokens)
    fields = choice.message.provider_specific_fields or {}
    served_by = [_text(each, secret) for each in (response.model, response.system_fingerprint)]
    return Completion(
        text=_text(choice.message.content, secret),
        finish=choice.finish_reason,
        refusal=_text(fields.get("refusal"), secret),
        tokens_in=None if usage is None else usage.prompt_tokens,
        tokens_out=None if usage is None else usage.completion_tokens,
        usage=usage,
        served_by=" ".join(filter(None, served_by)),
    )


def _text(value: object, secret: str | None) -> str | None:
    """Return a text of the server without the key and what databases cannot store, or None."""
    if not isinstance(value, str):
        return None
    storable = value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    return redact(storable, secret)
