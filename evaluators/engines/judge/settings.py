"""What a judge is, how it is asked, and what it may cost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evaluators.engines.judge.errors import BadRecording
from evaluators.engines.judge.judgment import JudgeCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.flows.protocols import Origin
    from evaluators.flows.requests import Ask

RECORDED = "recorded:"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The settings of a judge; nothing here loads anything heavy.

    Attributes:
        model: A model as LiteLLM names it, or `recorded:FILE`.
        api_key_env: The environment variable that holds the key; None where LiteLLM finds it, or
            none is needed. `openai/` models at an `api_base` are sent no key that is not named.
        api_base: The address of the API, for local servers.
        concurrency: Most questions under way at once.
        requests_per_minute: Most requests a minute, spread evenly.
        tokens_per_minute: Most tokens a minute, of messages and replies, spread evenly.
        budget_usd: Most US dollars that one run may spend.
        temperature: The temperature; models that refuse one are asked without.
        seed: The seed of the first replicate; the others count on from it.
        max_tokens: Most tokens of a reply; doubled once for a reply that was cut off.
        timeout_s: Most seconds that one attempt may take.
        max_attempts: How often a question is sent when the transport fails.
        backoff_s: The wait after the first failure, in seconds; it doubles with each.
        patience_s: The longest wait that a server may ask for, in seconds.
        usd_per_million_in: The price of a million tokens of messages, where LiteLLM's table lacks
            the model or is wrong about it.
        usd_per_million_out: The price of a million tokens of replies.
        structured_output: Whether models are held to the reply's schema (`auto`: where they can).
    """

    model: str
    api_key_env: str | None = None
    api_base: str | None = None
    concurrency: int = 32
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    budget_usd: float | None = None
    temperature: float = 0.0
    seed: int = 0
    max_tokens: int = 2048
    timeout_s: float = 120.0
    max_attempts: int = 6
    backoff_s: float = 2.0
    patience_s: float = 300.0
    usd_per_million_in: float | None = None
    usd_per_million_out: float | None = None
    structured_output: Literal["auto", "off"] = "auto"

    @property
    def recording(self) -> Path | None:
        """The file whose replies are replayed, if that is what the judge is."""
        if not self.model.startswith(RECORDED):
            return None
        return Path(self.model.removeprefix(RECORDED))

    @property
    def name(self) -> str:
        """The model's name without the folder of a recording, which says nothing about it."""
        recording = self.recording
        return self.model if recording is None else f"{RECORDED}{recording.name}"

    @property
    def where(self) -> str:
        """The model and its address, for messages to people."""
        return repr(self.model) if self.api_base is None else f"{self.model!r} at {self.api_base}"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the verdicts depend on beside model and messages.

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
    """Makes questions of what flows ask; those of one judge."""

    def __init__(self, settings: JudgeSettings) -> None:
        self._model = settings.name
        self._parameters = settings.parameters
        self._recorded = settings.recording is not None

    def of(self, request: Ask[Any], origin: Origin) -> JudgeCall:
        """The question as it is sent and as the ledger knows it.

        People and models that are replayed may have said different things of equal texts, so that
        a recorded judge's questions are also told apart by whose they are.
        """
        parameters = self._parameters
        if self._recorded:
            parameters = {**parameters, "origin": list(origin)}
        return JudgeCall(
            model=self._model,
            parameters=parameters,
            messages=request.prompt.messages(request.reply),
            reply_schema=request.reply.schema_of(),
            replicate=request.replicate,
        )


def _digest_of(file: Path) -> str:
    import xxhash

    digest = xxhash.xxh3_128()
    try:
        with file.open("rb") as opened:
            while piece := opened.read(1 << 20):
                digest.update(piece)
    except OSError as error:
        raise BadRecording(f"recorded replies {str(file)!r}: {error.strerror}") from error
    return digest.hexdigest()
