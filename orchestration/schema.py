"""The keys of `scoreline.yaml`: what each may hold, and nothing else."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

Text = Annotated[str, StringConstraints(strict=True, min_length=1, strip_whitespace=True)]
Count = Annotated[int, Field(strict=True, ge=1)]
Number = Annotated[float, Field(allow_inf_nan=False)]

Price = Annotated[Number, Field(ge=0)]


def _odd(count: int) -> int:
    if count % 2 == 0:
        raise PydanticCustomError(
            "odd", "expected an odd number, so that there is a majority, found {n}", {"n": count}
        )
    return count


OddCount = Annotated[Count, AfterValidator(_odd)]

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        # The value is not repeated: it may be the key itself.
        raise PydanticCustomError(
            "variable",
            "expected the name of an environment variable such as GROQ_API_KEY; "
            "the key itself never stands in this file",
        )
    return name


def _address(url: str) -> str:
    if not re.match(r"https?://[^/\s]", url):
        raise PydanticCustomError(
            "address",
            "expected an address that begins with http:// or https://, found {url}",
            {"url": repr(url)},
        )
    return url


def _benchmark_name(name: str) -> str:
    if not NAME.fullmatch(name) or "..." in name:
        raise PydanticCustomError(
            "benchmark_name",
            "{name} cannot name a benchmark: expected 1 to 100 letters (a to z), digits, dots, "
            "dashes or underscores, not beginning with a dot and without '...'",
            {"name": repr(name)},
        )
    return name


def _pattern(path: str) -> str:
    named = re.findall(r"\{[^}]*\}?|\}", path)
    wrong = [part for part in named if part != "{system}"]
    if wrong:
        raise PydanticCustomError(
            "pattern",
            "{part} in a path: only {system} may stand in braces",
            {"part": repr(wrong[0]), "system": "{system}"},
        )
    return path


class Keys(BaseModel):
    """A mapping of the configuration file: no key is accepted that is not described."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Judge(Keys):
    """The judge model. Absent: evaluators that need it are skipped with that reason."""

    model: Text
    api_key_env: Annotated[Text, AfterValidator(_variable)] | None = None
    api_base: Annotated[Text, AfterValidator(_address)] | None = None
    concurrency: Count = 32
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    budget_usd: Price | None = None
    replicates: OddCount = 1
    escalate_to: OddCount = 1
    escalate_within: Annotated[Number, Field(ge=0)] = 0.1
    temperature: Annotated[Number, Field(ge=0, le=2)] | None = None
    max_tokens: Count = 2048
    timeout_s: Annotated[Number, Field(gt=0)] = 120.0
    max_attempts: Count = 6
    usd_per_million_in: Price | None = None
    usd_per_million_out: Price | None = None
    structured_output: Literal["auto", "off"] = "auto"


class Models(Keys):
    """The models of the other engines, and how they are run.

    Each role takes a folder, `package:` and the name of a distribution that carries a model, or a
    name on the hub, `owner/model` or `owner/model@revision`. `language_model` may also be
    `litellm:` and the name of a model behind a text completion interface.
    """

    embedding: Text | None = None
    hallucination: Text | None = None
    entailment: Text | None = None
    language_model: Text | None = None
    similarity: Text | None = None
    toxicity: Text | None = None
    fairness_bias: Text | None = None
    offline: Annotated[bool, Field(strict=True)] = False
    device: Annotated[str, StringConstraints(pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$")] = "auto"
    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    batch_size: Count | None = None
    store_mb: Count = 2_000
    api_base: Annotated[Text, AfterValidator(_address)] | None = None
    api_key_env: Annotated[Text, AfterValidator(_variable)] | None = None


class GateKeys(Keys):
    """A system that must not fall behind a baseline; the run fails when it does."""

    system: Text
    baseline: Text
    metrics: list[Text] = Field(default_factory=list)
    tolerance: Annotated[Number, Field(ge=0)] = 0.0


class ExpectationKeys(Keys):
    """One thing that a user expects of the rows of a table."""

    name: Text
    kwargs: dict[str, Any] = Field(default_factory=dict)
    severity: Literal["error", "warn"] = "error"
    meaning: str = ""


class DriftKeys(Keys):
    """How far numbers may move between two publications before a warning says so."""

    failure_rate: Annotated[Number, Field(ge=0, le=1)] = 0.05
    coverage: Annotated[Number, Field(ge=0, le=1)] = 0.05
    cost: Annotated[Number, Field(ge=0)] = 0.5


def _cron(text: str) -> str:
    from dagster._utils.schedules import is_valid_cron_string

    if not is_valid_cron_string(text):
        raise PydanticCustomError(
            "cron", "expected a time as cron says it, such as '0 2 * * *', found {t}", {"t": text}
        )
    return text


def _timezone(name: str) -> str:
    from zoneinfo import available_timezones

    if name not in available_timezones():
        raise PydanticCustomError(
            "timezone", "there is no time zone {n}: expected one such as Europe/Berlin", {"n": name}
        )
    return name


class AutomationKeys(Keys):
    """Runs that nobody starts; all of them are off until they are switched on."""

    cron: Annotated[Text, AfterValidator(_cron)] = "0 2 * * *"
    timezone: Annotated[Text, AfterValidator(_timezone)] = "UTC"
    settle_s: Annotated[Number, Field(ge=1)] = 20.0
    interval_s: Annotated[int, Field(strict=True, ge=1)] = 30
    fresh_for_hours: Annotated[Number, Field(gt=0)] = 26.0
    daily_budget_usd: Price | None = None


class AlertsKeys(Keys):
    """Who is told of runs that failed."""

    webhook: Annotated[Text, AfterValidator(_address)] | None = None
    webhook_env: Annotated[Text, AfterValidator(_variable)] | None = None


class BenchmarkKeys(Keys):
    """One benchmark: where its files are and what is computed on them."""

    format: Text = "canonical"
    questions: Text | None = None
    documents: Text | None = None
    predictions: Annotated[Text, AfterValidator(_pattern)]
    evaluators: Annotated[list[Text], Field(min_length=1)]
    parameters: dict[str, dict[str, Any]] = Field(default_factory=dict)
    slices: list[Text] = Field(default_factory=list)
    cluster: Text | None = None
    thresholds: dict[str, Number] = Field(default_factory=dict)
    intervals: Literal["bootstrap", "t"] = "bootstrap"
    gates: list[GateKeys] = Field(default_factory=list)
    max_reject_ratio: Annotated[Number, Field(ge=0, le=1)] = 0.0
    expectations: dict[str, list[ExpectationKeys]] = Field(default_factory=dict)


class ProjectKeys(Keys):
    """The whole configuration file."""

    warehouse: Text = ".scoreline/warehouse.duckdb"
    publish: Text = "published"
    judge: Judge | None = None
    models: Models = Models()
    expectations: Literal["full", "sql"] = "full"
    drift: DriftKeys = DriftKeys()
    automation: AutomationKeys = AutomationKeys()
    alerts: AlertsKeys = AlertsKeys()
    benchmarks: Annotated[
        dict[Annotated[str, AfterValidator(_benchmark_name)], BenchmarkKeys],
        Field(min_length=1),
    ]
