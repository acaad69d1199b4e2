"""LiteLLM calls: send messages to a model once and return its completion."""

from __future__ import annotations

import asyncio
import math
import os
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from calls.completion import Completion, TokenLogprob, check_token_count
from calls.completion_stream import join_chunks
from calls.errors import BadAnswer, CallFailure, TransientFailure, map_error, map_unreadable
from calls.http.litellm_transport import check_answers, install_transport, skip_prices
from calls.redaction import find_secrets, replace_secrets
from records.packages import require_extra

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from types import ModuleType

    from calls.completion import Message
    from calls.http.litellm_transport import AnswerCheck

_LOADING = Lock()


def litellm() -> ModuleType:
    """Import LiteLLM without network access, prints and telemetry; once, whichever thread asks."""
    with _LOADING:
        return _load()


@cache
def _load() -> ModuleType:
    require_extra("judge", "a model that is called")
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
    # Raised for the usage at the end of a stream.
    warnings.filterwarnings("ignore", message="Accessing the 'model_(computed_)?fields' attribute")
    library.telemetry = False
    library.suppress_debug_info = True
    library.disable_hf_tokenizer_download = True
    library.turn_off_message_logging = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    install_transport()
    skip_prices()
    return library


def describe_missing_key(
    model: str, variable: str | None, api_base: str | None, section: str
) -> str | None:
    """Return which key a call would miss, and what to do; None if it is there or none is needed.

    Without a variable, LiteLLM looks for the key in one of the provider. Servers at an `api_base`
    may need none.

    Args:
        model: The model's name in LiteLLM.
        variable: The environment variable of the key.
        api_base: The address of the API.
        section: The configuration section of the model.
    """
    if variable is not None:
        if os.environ.get(variable):
            return None
        return f"the environment variable {variable} is not set: export {variable}=..."
    if api_base is not None:
        return None
    found = litellm().validate_environment(model)
    names = [name for name in found["missing_keys"] if name.endswith("_API_KEY")]
    if not names:
        return None
    advice = f"export it, or set {section}.api_key_env"
    return f"the environment variable {' or '.join(names)} is not set: {advice}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledModel:
    """A model, and the limits of calls to it.

    Attributes:
        name: The model's name in LiteLLM.
        api_base: The address of the API, for local servers.
        secret: The key.
        timeout_s: The timeout of a call, in seconds.
        max_reply_mb: The largest size of an answer, in megabytes.
        section: The configuration section of the model, for messages.
        title: What messages call the model.
    """

    name: str
    api_base: str | None
    secret: str | None = field(repr=False)
    timeout_s: float
    max_reply_mb: float
    section: str
    title: str

    async def complete(
        self, messages: Sequence[Message], options: Mapping[str, Any], *, stream: bool = False
    ) -> Completion:
        """Send messages once.

        Args:
            messages: The messages.
            options: Parameters of the call in LiteLLM.
            stream: Whether the completion is streamed, to measure the time to the first token.

        Raises:
            CallFailure: The call failed.
            ModelRefused: Every further call would fail too.
        """
        sent = {"messages": [*messages], **options}
        if stream:
            sent |= {"stream": True, "stream_options": {"include_usage": True}}
        first = None
        async with self._checked(stream=stream) as check:
            response = await litellm().acompletion(**self._arguments(), **sent)
            if stream:
                response, first = await join_chunks(response, check.events)
            completion = _completion(response, find_secrets(self.secret))
            # LiteLLM loads parts of itself within the first call, which is not latency.
            sent_at = check.sent_at
            if sent_at is None:
                return completion
            return replace(
                completion,
                first_token_s=None if first is None else first - sent_at,
                seconds=time.monotonic() - sent_at,
            )

    async def complete_text(self, text: str, options: Mapping[str, Any]) -> Any:
        """Send a text to a text completion API once; return LiteLLM's response.

        Args:
            text: The text.
            options: Parameters of the call in LiteLLM.

        Raises:
            CallFailure: The call failed.
            ModelRefused: Every further call would fail too.
        """
        async with self._checked():
            return await litellm().atext_completion(**self._arguments(), prompt=text, **options)

    @asynccontextmanager
    async def _checked(self, *, stream: bool = False) -> AsyncIterator[AnswerCheck]:
        """Limit a call in time and size, and raise what its failure means."""
        litellm()  # within the time limit, its import would count
        _skip_call_logging()
        with check_answers(self.max_reply_mb, self.section, streamed=stream) as check:
            try:
                async with asyncio.timeout(self.timeout_s):
                    yield check
            except Exception as error:  # noqa: BLE001 - a server may make LiteLLM raise anything
                cause = check.failure or error
                if not isinstance(cause, CallFailure):
                    unreadable = None
                    if check.is_json:
                        unreadable = map_unreadable(cause, self.secret, self.name)
                    cause = unreadable or map_error(cause, self.secret, self.title)
                raise cause from None

    def _arguments(self) -> dict[str, Any]:
        given: dict[str, Any] = {
            "model": self.name,
            "timeout": self.timeout_s,
            "max_retries": 0,
            "num_retries": 0,
            "no-log": True,
        }
        if self.api_base is not None:
            given["api_base"] = self.api_base
        if self.secret is not None:
            given["api_key"] = self.secret
        elif self.api_base is not None and not _is_signed(self.name):
            # Without a key, LiteLLM sends the server the key of the provider from the environment.
            # Local servers need none, but some clients require one.
            given["api_key"] = "none"
        return given


def _is_signed(name: str) -> bool:
    """Return whether requests to a model are signed, so that no server gets the key."""
    return name.startswith("bedrock/") and not os.environ.get("AWS_BEARER_TOKEN_BEDROCK")


def _skip_call_logging() -> None:
    """Disable LiteLLM's logging of the call, which takes a seventh of its time."""
    with suppress(ImportError):  # private to LiteLLM; only the speed depends on it
        from litellm._internal_context import is_internal_call

        is_internal_call.set(True)


def reported_usage(response: Any) -> Any:
    """Return the usage of a response; None if the provider reports none: LiteLLM writes 0 then."""
    usage = getattr(response, "usage", None)
    if usage is None or not (usage.prompt_tokens or usage.completion_tokens):
        return None
    return usage


def _completion(response: Any, secrets: tuple[str, ...]) -> Completion:
    if not response.choices:
        raise TransientFailure("transport: the answer holds no choices", garbled=True, billed=True)
    choice = response.choices[0]
    usage = reported_usage(response)
    if usage is not None:
        check_token_count("prompt_tokens", usage.prompt_tokens)
        check_token_count("completion_tokens", usage.completion_tokens)
    fields = choice.message.provider_specific_fields or {}
    served_by = [_text(each, secrets) for each in (response.model, response.system_fingerprint)]
    return Completion(
        text=_text(choice.message.content, secrets),
        finish=choice.finish_reason,
        refusal=_text(fields.get("refusal"), secrets),
        tokens_in=None if usage is None else usage.prompt_tokens,
        tokens_out=None if usage is None else usage.completion_tokens,
        usage=usage,
        served_by=" ".join(filter(None, served_by)),
        top_logprobs=_top_logprobs(getattr(choice, "logprobs", None), secrets),
    )


def _top_logprobs(
    given: Any, secrets: tuple[str, ...]
) -> tuple[tuple[TokenLogprob, ...], ...] | None:
    """Return the likeliest tokens of each position, or None.

    Raises:
        BadAnswer: A log-probability is not a number.
    """
    positions = getattr(given, "content", None)
    if not positions:
        return None
    return tuple(
        tuple(
            TokenLogprob(_text(each.token, secrets) or "", _logprob(each.logprob))
            for each in getattr(position, "top_logprobs", None) or ()
        )
        for position in positions
    )


def _logprob(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or math.isnan(given):
        raise BadAnswer(f"a log-probability is {str(given)[:40]}")
    return float(given)


def _text(value: object, secrets: tuple[str, ...]) -> str | None:
    """Return a text of the server without secrets and what databases cannot store, or None."""
    if not isinstance(value, str):
        return None
    storable = value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    return replace_secrets(storable, secrets)
