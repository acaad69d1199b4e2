"""The schema of `scoreline.yaml`: its keys and the types of their values."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from assets.config_types import (
    ApiBase,
    BenchmarkName,
    ConfigModel,
    Count,
    EnvVariable,
    EvaluatorName,
    FieldName,
    MemorySize,
    Number,
    OddCount,
    PathPattern,
    Text,
    UsDollars,
)
from assets.project import Alerts, Automation, BenchmarkGate, Drift, Execution, Gate


class Judge(ConfigModel):
    """The judge model. Without it, evaluators that need a judge are skipped with that reason.

    Attributes:
        model: A LiteLLM model name (`openai/...`, `anthropic/...`, `groq/...`, `ollama_chat/...`),
            `recorded:FILE`, or `human`.
        api_key_env: The environment variable that holds the key. Without it LiteLLM reads the
            provider's own variable (`OPENAI_API_KEY`, ...), and a server given by `api_base` gets
            no key.
        api_base: The URL of the API: a local server or a proxy.
        concurrency: The most judge calls in progress at once.
        requests_per_minute: The most requests per minute, evenly spaced.
        tokens_per_minute: The most tokens per minute, input and output together.
        budget_usd: The most US dollars that a run may spend; a hard limit.
        replicates: How often every sample is judged; an odd number.
        escalate_to: How often samples near the threshold of the metric's source (not the
            benchmark's) are judged; an odd number.
        escalate_within: How near that is, on the scale of the primary metric.
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
        structured_output: `off` never sends a JSON schema, for servers that support it poorly.
    """

    model: Text
    api_key_env: EnvVariable | None = None
    api_base: ApiBase | None = None
    concurrency: Count = 32
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    budget_usd: UsDollars | None = None
    replicates: OddCount = 1
    escalate_to: OddCount = 1
    escalate_within: Annotated[Number, Field(ge=0)] = 0.1
    temperature: Annotated[Number, Field(ge=0, le=2)] | None = None
    max_tokens: Count = 2048
    timeout_s: Annotated[Number, Field(gt=0)] = 120.0
    max_reply_mb: Annotated[Number, Field(gt=0)] = 4.0
    max_attempts: Count = 6
    usd_per_million_in: UsDollars | None = None
    usd_per_million_out: UsDollars | None = None
    structured_output: Literal["auto", "off"] = "auto"


class Models(ConfigModel):
    """The models of the other engines, and how they run.

    Each role takes a folder, `package:` and the name of a distribution that contains a model, or a
    name on the Hugging Face hub, `owner/model` or `owner/model@revision`. `language_model` may also
    be `litellm:` and the name of a model with a text completion API.

    Attributes:
        embedding: A text encoder: a sentence-transformers model.
        hallucination: A cross-encoder with one output, Vectara's HHEM 2, or an entailment model.
        entailment: A classifier of text pairs with the labels entailment, neutral and
            contradiction.
        language_model: A causal language model with a fast tokenizer, or `litellm:` and a model
            that echoes log-probabilities.
        similarity: A cross-encoder with one output, for `answer_semantic_similarity` with `by:
            similarity`.
        toxicity: A text classifier with Detoxify's labels.
        fairness_bias: A text classifier with a label `Biased`.
        offline: Whether downloads are disabled; a model that is not on this machine is then an
            error.
        device: Where models compute: `auto`, `cpu`, `mps`, `cuda` or `cuda:0`.
        dtype: The precision of the models. Others than `float32` change scores and are part of
            signatures.
        batch_size: How many texts are computed together; the engine chooses unless given.
        store_mb: The largest size of the cache of vectors and other model outputs, in megabytes.
        api_base: The URL of the text completion API of a `litellm:` language model.
        api_key_env: The environment variable that holds its key.
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
    api_base: ApiBase | None = None
    api_key_env: EnvVariable | None = None


class ExpectationKeys(ConfigModel):
    """An expectation of the rows of a table, in addition to those that every table has.

    Attributes:
        name: An expectation of Great Expectations that Scoreline evaluates in DuckDB.
        kwargs: Its arguments.
        severity: `error` stops the run, `warn` only prints a warning.
        meaning: An explanation for those who read that the expectation failed.
    """

    name: Text
    kwargs: dict[str, Any] = Field(default_factory=dict)
    severity: Literal["error", "warn"] = "error"
    meaning: str = ""


DEFAULT = "default"
"""The key in `thresholds` for all metrics that it does not name."""


def _expand_thresholds(thresholds: object) -> object:
    return {DEFAULT: thresholds} if isinstance(thresholds, str) else thresholds


def _check_threshold(threshold: object) -> object:
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        is_known = threshold in ("source", "none")
    else:
        is_known = math.isfinite(threshold)
    if not is_known:
        raise PydanticCustomError("threshold", "expected a number, `source` or `none`")
    return threshold


Threshold = Annotated[float | Literal["source", "none"], BeforeValidator(_check_threshold)]


def _rename_bootstrap(method: object) -> object:
    """Return the successor of the former default, which was `bootstrap`."""
    return "skew_adjusted_t" if method == "bootstrap" else method


NamedInstance = Annotated[dict[EvaluatorName, Text], Field(min_length=1, max_length=1)]


class BenchmarkKeys(ConfigModel):
    """One benchmark: its files, and what to compute on them.

    Attributes:
        format: The input format of the files; see the formats.
        questions: The question files, a path or a pattern such as `data/*.jsonl`. Required, unless
            the format has the questions in the prediction files.
        documents: The document files, if there are any.
        predictions: The prediction files. `{system}` in the path stands for the name of the system.
        evaluators: Names of evaluators or families, or `all`. `{polite: byop}` is the evaluator
            `byop` under the name `polite`, so that a benchmark can use it several times.
        parameters: Parameters of evaluators that differ from the defaults, by evaluator.
        slices: Tags, or `noise_ratio`, `scenario`, `perturbation`, `doc_id`, `cluster`,
            `expected_label`: there is a leaderboard for each of their values.
        cluster: The question field that marks dependent questions, for intervals and tests.
        thresholds: The mean from which on a system passes, by metric such as `citation.f1`: a
            number, `source` (the threshold of the metric's source, see `scoreline evaluators`) or
            `none`. `default: source` applies the sources' thresholds to all other metrics, and
            `thresholds: source` to all. Without this key there are no thresholds, except those of
            the source with `format: eval-studio`.
        rank_by: The metric, such as `citation.f1`, by whose rank systems are ordered everywhere;
            the primary metric of the first evaluator unless given.
        intervals: The method for confidence intervals of means: `t` is Student's,
            `skew_adjusted_t` the same, adjusted for skewness.
        gates: Systems that must not be worse than others or must reach a number, as in the list
            at the top level.
        max_reject_ratio: The largest share of unusable rows in a file with which a run continues.
        expectations: Additional expectations by table: `questions`, `documents`, `predictions`,
            `scores/<evaluator>`, `leaderboard`, `system_scores`.
    """

    format: Text = "canonical"
    questions: Text | None = None
    documents: Text | None = None
    predictions: PathPattern
    evaluators: Annotated[list[Text | NamedInstance], Field(min_length=1)]
    parameters: dict[str, dict[str, Any]] = Field(default_factory=dict)
    slices: list[FieldName] = Field(default_factory=list)
    cluster: FieldName | None = None
    thresholds: Annotated[
        dict[str, Threshold],
        BeforeValidator(
            _expand_thresholds,
            json_schema_input_type=dict[str, Number] | Literal["source", "none"],
        ),
    ] = Field(default_factory=dict)
    rank_by: Text | None = None
    intervals: Annotated[Literal["skew_adjusted_t", "t"], BeforeValidator(_rename_bootstrap)] = (
        "skew_adjusted_t"
    )
    gates: list[Gate] = Field(default_factory=list)
    max_reject_ratio: Annotated[Number, Field(ge=0, le=1)] = 0.0
    expectations: dict[str, list[ExpectationKeys]] = Field(default_factory=dict)


class WarehouseKeys(ConfigModel):
    """The location of the warehouse; instead of the mapping you may give its `catalog` alone.

    Attributes:
        catalog: The path of a DuckDB file, or `ducklake:postgres:` and the connection string of a
            lake's database; see the guide to scale-out.
        data_path: The folder or object store of a lake's Parquet files; `.scoreline/lake` unless
            given.
        catalog_schema: The database schema of the lake's catalogue; `public` unless given. With a
            schema each, many projects share a database.
        password_env: The environment variable that holds the PostgreSQL password.
    """

    catalog: Text
    data_path: Text | None = None
    catalog_schema: Text | None = None
    password_env: EnvVariable | None = None


def _expand_catalog(warehouse: object) -> object:
    return {"catalog": warehouse} if isinstance(warehouse, str) else warehouse


class ProjectKeys(ConfigModel):
    """The whole configuration file.

    Attributes:
        warehouse: The location of the warehouse, a DuckDB file or a lake;
            `.scoreline/warehouse.duckdb` unless given.
        publish: The folder for the published copy and the report.
        memory_limit: The memory that DuckDB uses before it spills to disk, such as `4GB` or
            `512MB`; half of the memory of the machine or container unless given. Python and Polars
            need memory beside it, and each process has a limit of its own.
        plugins: Files beside this one, or importable modules, with evaluators of your own.
        judge: The judge model. Without one, evaluators that need a judge are not applicable.
        models: The models of the other engines.
        expectations: `sql` disables Great Expectations; the checks of keys, columns and grids
            remain.
        drift: How far numbers may change between two publications without a warning.
        automation: Automated runs.
        alerts: Where messages about failed runs go.
        execution: Where the steps of a run are executed.
        gates: Systems that must not be worse than others or must reach a number; if one does not,
            the run publishes its results and ends with exit code 1.
        benchmarks: The benchmarks by name (1 to 100 letters, digits, dots, dashes or underscores).
    """

    warehouse: Annotated[
        WarehouseKeys, BeforeValidator(_expand_catalog, json_schema_input_type=str | WarehouseKeys)
    ] = WarehouseKeys(catalog=".scoreline/warehouse.duckdb")
    publish: Text = "published"
    memory_limit: MemorySize | None = None
    plugins: list[Text] = Field(default_factory=list)
    judge: Judge | None = None
    models: Models = Models()
    expectations: Literal["full", "sql"] = "full"
    drift: Drift = Drift()
    automation: Automation = Automation()
    alerts: Alerts = Alerts()
    execution: Execution = Execution()
    gates: list[BenchmarkGate] = Field(default_factory=list)
    benchmarks: Annotated[
        dict[BenchmarkName, BenchmarkKeys],
        Field(min_length=1),
    ]
