"""The schema of `scoreline.yaml`: its keys and the types of their values."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from assets.config_types import (
    AskedSystemName,
    BenchmarkName,
    EvaluatorName,
    FieldName,
    History,
    MemorySize,
    PathPattern,
    UpstreamAsset,
)
from assets.project import Alerts, Automation, BenchmarkGate, Drift, Execution, Gate
from orchestration.config.judge.schema import Judge
from orchestration.config.system_schema import SystemKeys
from records.prediction import MAX_REPEAT
from records.settings import ApiBase, ConfigModel, Count, EnvVariable, Number, Text


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
"""The key in `thresholds` and `missing` for everything that they do not name."""


def _expand_thresholds(thresholds: object) -> object:
    return {DEFAULT: thresholds} if isinstance(thresholds, str) else thresholds


def _expand_missing(missing: object) -> object:
    return {DEFAULT: missing} if isinstance(missing, str) else missing


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


class QueryKeys(ConfigModel):
    """A query whose rows are read instead of files.

    Attributes:
        sql: A SELECT, whose columns are the fields of the canonical format.
        database: The path of a DuckDB or SQLite file, or `postgresql://USER@HOST/DATABASE`.
        password_env: The environment variable that holds the PostgreSQL password.
    """

    sql: Text
    database: Text
    password_env: EnvVariable | None = None


def _is_query(value: object) -> str:
    return "[query]" if isinstance(value, dict | QueryKeys) else "[path]"


_AS_QUERY = Annotated[QueryKeys, Tag("[query]")]
_TEXT_OR_MAPPING = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]})

Input = Annotated[
    Annotated[Text, Tag("[path]")] | _AS_QUERY, Discriminator(_is_query), _TEXT_OR_MAPPING
]
"""A path or pattern, or a query."""

PredictionInput = Annotated[
    Annotated[PathPattern, Tag("[path]")] | _AS_QUERY, Discriminator(_is_query), _TEXT_OR_MAPPING
]
"""The same with `{system}` in paths."""


class ConversionKeys(ConfigModel):
    """A column that needs more than the name of its field.

    Attributes:
        to: The field.
        scale: What the values of the column are multiplied by, such as 0.001 for milliseconds; the
            field then holds a number.
        optional: Whether files may lack the column.
        separator: What separates the items of a list that is written as text, such as `;`.
    """

    to: Text
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    optional: Annotated[bool, Field(strict=True)] = False
    separator: Annotated[str, Field(min_length=1)] | None = None


def _is_conversion(value: object) -> str:
    return "[conversion]" if isinstance(value, dict | ConversionKeys) else "[field]"


Target = Annotated[
    Annotated[Text, Tag("[field]")] | Annotated[ConversionKeys, Tag("[conversion]")],
    Discriminator(_is_conversion),
    _TEXT_OR_MAPPING,
]
"""The field that a column is read as."""


class ColumnKeys(ConfigModel):
    """Which columns of the files are which fields, by kind of file.

    Attributes:
        questions: Fields of questions by column, such as `{query: question}`.
        predictions: Fields of predictions by column. If the format has the questions in the
            prediction files, fields of questions, too. A column in another unit is converted:
            `{latency_ms: {to: latency_s, scale: 0.001}}`. A column that some files lack is
            optional: `{reply_ms: {to: latency_s, optional: true}}`. Ids, texts and scores of what
            was retrieved may be columns of their own: `{docs: retrieved.doc_id}`.
        systems: The same for the files of one system, by system; they come before `predictions`.
        documents: Fields of documents by column.
    """

    questions: dict[FieldName, Target] = Field(default_factory=dict)
    predictions: dict[FieldName, Target] = Field(default_factory=dict)
    systems: dict[Text, dict[FieldName, Target]] = Field(default_factory=dict)
    documents: dict[FieldName, Target] = Field(default_factory=dict)


class BenchmarkKeys(ConfigModel):
    """One benchmark: its files, and what to compute on them.

    Attributes:
        format: The input format of the files; see the formats.
        questions: The question files, a path or a pattern such as `data/*.jsonl`, or a query
            `{sql: "SELECT ...", database: FILE_OR_URL}`. Required, unless the format has the
            questions in the prediction files.
        documents: The document files, if there are any, or a query.
        split: The split to read, such as `test`, with `format: beir` or `huggingface`.
        predictions: The prediction files, or a query. `{system}` in the path stands for the name of
            the system. Not needed with `systems`.
        columns: Which columns of the files are which fields, for files with other names.
        tags: Columns of questions that become tags, which `slices` may name.
        systems: The systems that are asked, beside those that `predictions` reads from files;
            names from the `systems` at the top level.
        repeats: How often the systems that are asked answer each question. Files of predictions
            number several answers to a question by the field `repeat`, from 0.
        missing: What a question means that a system did not answer: `failed`, a failed answer, or
            `not_asked`, a question that it was not asked. Also by system: `{default: failed,
            rag-v3: not_asked}`.
        evaluators: Names of evaluators or families, or `all`. `{polite: byop}` is the evaluator
            `byop` under the name `polite`, so that a benchmark can use it several times.
        parameters: Parameters of evaluators that differ from the defaults, by evaluator. With
            `only_systems: [rag-v3]` among them an evaluator scores these systems only; it is not
            applicable to the others, and the judge is not asked about them. `no_data: zero` gives
            samples 0 for which a metric is not applicable or undefined.
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
        deps: The Dagster assets that write the files, such as `team/answers`, in the code location
            that this project is merged into. New materializations of them start an evaluation.
        expectations: Additional expectations by table: `questions`, `documents`, `predictions`,
            `scores/<evaluator>`, `leaderboard`, `system_scores`.
    """

    format: Text = "canonical"
    questions: Input | None = None
    documents: Input | None = None
    split: Text | None = None
    predictions: PredictionInput | None = None
    systems: list[Text] = Field(default_factory=list)
    repeats: Annotated[Count, Field(le=1 + MAX_REPEAT)] = 1
    columns: ColumnKeys = ColumnKeys()
    tags: list[FieldName] = Field(default_factory=list)
    missing: Annotated[
        dict[str, Literal["failed", "not_asked"]],
        BeforeValidator(
            _expand_missing,
            json_schema_input_type=Literal["failed", "not_asked"]
            | dict[str, Literal["failed", "not_asked"]],
        ),
    ] = Field(default_factory=dict)
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
    deps: list[UpstreamAsset] = Field(default_factory=list)
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
        report_url: The address at which you host the report. Dagster's interface links to it;
            unless given, to `/report/`, where `scoreline dev` serves it.
        memory_limit: The memory that DuckDB uses before it spills to disk, such as `4GB` or
            `512MB`; half of the memory of the machine or container unless given. Python and Polars
            need memory beside it, and each process has a limit of its own.
        plugins: Files beside this one, or importable modules, with evaluators of your own.
        systems: The systems that benchmarks ask, by name (1 to 100 letters, digits, and the
            characters . - _ @ +).
        judge: The judge model. Without one, evaluators that need a judge are not applicable.
        models: The models of the other engines.
        expectations: `sql` disables Great Expectations; the checks of keys, columns and grids
            remain.
        drift: How far numbers may change between two publications without a warning.
        history: How long the questions, answers and scores of publications are kept.
        automation: Automated runs.
        alerts: Where messages about failed runs go.
        execution: Where the steps of a run are executed.
        gates: Systems that must not be worse than others or must reach a number; if one does not,
            the run publishes its results and ends with exit code 1.
        default_benchmarks: The benchmarks that commands such as `scoreline run` take without
            `--benchmark`; all unless given. The files of others may be missing.
        benchmarks: The benchmarks by name (1 to 100 letters, digits, dots, dashes or underscores).
    """

    warehouse: Annotated[
        WarehouseKeys, BeforeValidator(_expand_catalog, json_schema_input_type=str | WarehouseKeys)
    ] = WarehouseKeys(catalog=".scoreline/warehouse.duckdb")
    publish: Text = "published"
    report_url: Annotated[Text, Field(pattern=r"^https?://")] | None = None
    memory_limit: MemorySize | None = None
    plugins: list[Text] = Field(default_factory=list)
    systems: dict[AskedSystemName, SystemKeys] = Field(default_factory=dict)
    judge: Judge | None = None
    models: Models = Models()
    expectations: Literal["full", "sql"] = "full"
    drift: Drift = Drift()
    history: History = History()
    automation: Automation = Automation()
    alerts: Alerts = Alerts()
    execution: Execution = Execution()
    gates: list[BenchmarkGate] = Field(default_factory=list)
    default_benchmarks: list[BenchmarkName] = Field(default_factory=list)
    benchmarks: Annotated[
        dict[BenchmarkName, BenchmarkKeys],
        Field(min_length=1),
    ]
