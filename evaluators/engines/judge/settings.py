"""The settings of a judge, and how they determine its calls."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from calls.call import Call
from evaluators.engines.judge.errors import BadRecording

if TYPE_CHECKING:
    from collections.abc import Mapping

    from calls.call import Origin
    from evaluators.flows.requests import Ask

RECORDED = "recorded:"

_ANSWER_STEPS = 2_000_000

SKIPPED = "judge skipped: "
"""The beginning of the reason why an optional judge was not called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The settings of a judge; this module loads nothing heavy.

    Attributes:
        model: The model's name in LiteLLM, or `recorded:FILE`.
        api_key_env: The environment variable of the key; None if LiteLLM finds the key or none is
            needed. Without it, `openai/` models at an `api_base` receive no key.
        api_key: The key itself, where it was read from that variable before.
        api_base: The address of the API, for local servers.
        concurrency: The most calls in flight.
        requests_per_minute: The most requests per minute, spread evenly.
        tokens_per_minute: The most tokens per minute (messages and replies), spread evenly.
        budget_usd: The most US dollars that one run may spend.
        daily_budget_usd: The most US dollars that all runs of a project may spend in 24 hours.
        temperature: The temperature; not sent to models that reject it.
        seed: The seed of the first replicate; each further one adds 1.
        max_tokens: The most tokens of a reply; doubled once for a truncated reply.
        timeout_s: The timeout of one attempt, in seconds.
        max_reply_mb: The largest size of an answer of the server, in megabytes.
        max_attempts: The most attempts if the transport fails.
        backoff_s: The wait after the first failure, in seconds; it doubles with each failure.
        patience_s: The longest accepted `Retry-After`, in seconds.
        usd_per_million_in: The price of a million input tokens, if LiteLLM's table lacks the model
            or is wrong.
        usd_per_million_out: The price of a million output tokens.
        usd_per_million_cache_read: The price of input tokens that the provider read from its
            cache; that of the others unless given.
        usd_per_million_cache_write: The price of input tokens that it wrote to its cache; that of
            the others unless given.
        structured_output: `auto` constrains replies to the schema where the model supports it.
        optional: Whether a run goes on without the judge while its key is missing.
        title: What messages call the judge; the members of a panel have their names.
    """

    model: str
    api_key_env: str | None = None
    api_key: str | None = field(default=None, repr=False)
    api_base: str | None = None
    concurrency: int = 32
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    budget_usd: float | None = None
    daily_budget_usd: float | None = None
    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 2048
    timeout_s: float = 120.0
    max_reply_mb: float = 4.0
    max_attempts: int = 6
    backoff_s: float = 2.0
    patience_s: float = 300.0
    usd_per_million_in: float | None = None
    usd_per_million_out: float | None = None
    usd_per_million_cache_read: float | None = None
    usd_per_million_cache_write: float | None = None
    structured_output: Literal["auto", "off"] = "auto"
    optional: bool = False
    title: str = "the judge"

    @property
    def recording(self) -> Path | None:
        """The replay file, for a judge `recorded:FILE`."""
        if not self.model.startswith(RECORDED):
            return None
        return Path(self.model.removeprefix(RECORDED))

    @property
    def name(self) -> str:
        """The model's name; for a replay file, without its folder."""
        recording = self.recording
        return self.model if recording is None else f"{RECORDED}{recording.name}"

    @property
    def where(self) -> str:
        """The model and its address, for messages."""
        return repr(self.model) if self.api_base is None else f"{self.model!r} at {self.api_base}"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the verdicts depend on besides model and messages.

        Raises:
            BadRecording: There is no such file.
        """
        recording = self.recording
        if recording is not None:
            return {"recording": _digest_of(recording)}
        return {
            "temperature": self.temperature,
            "top_p": 1.0,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
            "structured_output": self.structured_output,
        }

    @property
    def identity(self) -> str:
        """Model and parameters: scores by judges of the same identity are comparable.

        Raises:
            BadRecording: There is no file of recorded replies.
        """
        return f"{self.name} {json.dumps(dict(self.parameters), sort_keys=True)}"


class JudgeCallBuilder:
    """Makes the calls of one judge from the requests of flows."""

    def __init__(self, settings: JudgeSettings) -> None:
        self._model = settings.name
        self._parameters = settings.parameters
        self._recorded = settings.recording is not None

    def of(self, request: Ask[Any], origin: Origin) -> Call:
        """Make the call that is sent and that is the key in the ledger.

        A replay file may hold different replies to equal texts (of human labels, say), so its calls
        also depend on the origin.
        """
        parameters = self._parameters
        if self._recorded:
            parameters = {**parameters, "origin": list(recorded_address(origin))}
        return Call(
            model=self._model,
            parameters=parameters,
            messages=request.prompt.messages(request.reply),
            reply_schema=request.reply.schema_of(),
            replicate=request.replicate,
        )


def recorded_address(origin: Origin) -> tuple[str, str, str, str, int]:
    """Return the benchmark, system, question, evaluator and step of a call in a replay file.

    The steps of further answers to a question follow in the file after two million each; this is
    also part of the keys of such calls.
    """
    step = origin.repeat * _ANSWER_STEPS + origin.step
    return origin.benchmark, origin.system, origin.question_id, origin.evaluator, step


def _digest_of(file: Path) -> str:
    import xxhash

    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, xxhash.xxh3_128).hexdigest()
    except OSError as error:
        raise BadRecording(f"recorded replies {str(file)!r}: {error.strerror}") from error
