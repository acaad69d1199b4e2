"""The settings of a judge, and how they determine its calls."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from calls.call import Call
from evaluators.engines.judge.errors import BadRecording
from records.settings import ApiBase, ConfigModel, Count, EnvVariable, Number, Text, UsDollars
from records.similar_names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from calls.call import Origin
    from evaluators.flows.requests import Ask

RECORDED = "recorded:"

_ANSWER_STEPS = 2_000_000

SKIPPED = "judge skipped: "
"""The beginning of the reason why an optional judge was not called."""


def _check_model(name: str) -> str:
    kind, colon, file = name.partition(":")
    if colon and f"{kind}:" != RECORDED and did_you_mean(kind.lower(), [RECORDED[:-1]]):
        raise PydanticCustomError(
            "judge_model",
            "{name} is not a model; did you mean {meant}?",
            {"name": repr(name), "meant": repr(RECORDED + file)},
        )
    return name


JudgeModel = Annotated[Text, AfterValidator(_check_model)]
"""The name of a model in LiteLLM, or `recorded:FILE`."""


class JudgeKeys(ConfigModel):
    """A judge model and how it is called.

    Attributes:
        model: A LiteLLM model name (`openai/...`, `anthropic/...`, `groq/...`, `ollama_chat/...`),
            `recorded:FILE`, or `human`. Required, unless there is a `panel`.
        api_key_env: The environment variable that holds the key. Without it LiteLLM reads the
            provider's own variable (`OPENAI_API_KEY`, ...), and a server given by `api_base` gets
            no key.
        api_base: The URL of the API: a local server or a proxy.
        concurrency: The most judge calls in progress at once.
        requests_per_minute: The most requests per minute, evenly spaced.
        tokens_per_minute: The most tokens per minute, input and output together.
        temperature: The sampling temperature: 0 unless given, 0.5 with repeats. Models that do not
            support it are called without.
        max_tokens: The most tokens of a reply; doubled once for a truncated reply.
        timeout_s: The timeout of one attempt, in seconds.
        max_reply_mb: The largest size of an answer of the server, in megabytes; a call with a
            larger one is a `judge_error`.
        max_attempts: How often a call is attempted when the transport fails.
        usd_per_million_in: The price of input tokens, where LiteLLM's price list has none or is
            wrong; give both prices or neither.
        usd_per_million_out: The price of output tokens.
        usd_per_million_cache_read: The price of input tokens that the provider read from its
            cache; that of the others unless given.
        usd_per_million_cache_write: The price of input tokens that it wrote to its cache; that of
            the others unless given.
        structured_output: `off` never sends a JSON schema, for servers that support it poorly.
    """

    model: JudgeModel | None = None
    api_key_env: EnvVariable | None = None
    api_base: ApiBase | None = None
    concurrency: Count = 32
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    temperature: Annotated[Number, Field(ge=0, le=2)] | None = None
    max_tokens: Count = 2048
    timeout_s: Annotated[Number, Field(gt=0)] = 120.0
    max_reply_mb: Annotated[Number, Field(gt=0)] = 4.0
    max_attempts: Count = 6
    usd_per_million_in: UsDollars | None = None
    usd_per_million_out: UsDollars | None = None
    usd_per_million_cache_read: UsDollars | None = None
    usd_per_million_cache_write: UsDollars | None = None
    structured_output: Literal["auto", "off"] = "auto"


class JudgeSettings(JudgeKeys):
    """A judge as its clients use it; this module loads nothing heavy.

    The further attributes are not keys of a judge in the configuration, or are given once for all
    judges of a panel.

    Attributes:
        model: The model's name in LiteLLM, or `recorded:FILE`.
        api_key: The key itself, where it was read from its variable before.
        budget_usd: The most US dollars that one run may spend.
        daily_budget_usd: The most US dollars that all runs of a project may spend in 24 hours.
        temperature: The temperature; not sent to models that reject it.
        seed: The seed of the first replicate; each further one adds 1.
        backoff_s: The wait after the first failure, in seconds; it doubles with each failure.
        patience_s: The longest accepted `Retry-After`, in seconds.
        optional: Whether a run goes on without the judge while its key is missing.
        title: What messages call the judge; the members of a panel have their names.
    """

    model: JudgeModel
    api_key: str | None = Field(default=None, repr=False)
    budget_usd: UsDollars | None = None
    daily_budget_usd: UsDollars | None = None
    temperature: Annotated[Number, Field(ge=0, le=2)] = 0.0
    seed: int = 0
    backoff_s: float = 2.0
    patience_s: float = 300.0
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
