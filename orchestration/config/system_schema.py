"""The schema of `systems` in `scoreline.yaml`: the systems that are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, WithJsonSchema, create_model

from records.prediction import Prediction, Retrieved
from records.settings import ApiBase, ConfigModel, Count, EnvVariable, Number, Text, Url, UsDollars
from systems.client import ANSWER_FIELDS
from systems.tasks.mcqa import Mcqa
from systems.tasks.rgb import Rgb

if TYPE_CHECKING:
    from collections.abc import Iterable

    from records.record import Record


def _paths(record: type[Record], names: Iterable[str]) -> dict[str, Any]:
    """Return keys for the JSONPaths of some fields of a record."""
    return {name: _path(name, _meaning(record, name)) for name in names}


def _path(name: str, meaning: str) -> tuple[Any, Any]:
    description = f"The JSONPath: {meaning}"
    return Text | None, Field(None, description=description, examples=[f"$.{name}"])


def _meaning(record: type[Record], name: str) -> str:
    meaning = record.declared()[name].meaning
    return meaning[:1].lower() + meaning[1:]


if TYPE_CHECKING:
    RetrievedKeys = ConfigModel
else:
    RetrievedKeys = create_model(
        "RetrievedKeys",
        __base__=ConfigModel,
        __module__=__name__,
        __doc__="Where an HTTP service's answer has which field of retrieved items.",
        **_paths(Retrieved, Retrieved.model_fields),
    )


def _is_mapping(value: object) -> str:
    return "[paths]" if isinstance(value, dict | RetrievedKeys) else "[path]"


_Retrieved = Annotated[
    Annotated[Text, Tag("[path]")] | Annotated[RetrievedKeys, Tag("[paths]")],
    Discriminator(_is_mapping),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]}),
]


class HttpRequestKeys(ConfigModel):
    """The request to an HTTP service.

    Attributes:
        url: The address. `${NAME}` in it and in headers stands for an environment variable.
        method: The HTTP method.
        headers: Headers by name.
        body: The body: an object or list, which is sent as JSON, or a text. Texts in it are
            templates.
        answer: The JSONPath of the answer. Without it the answer is the whole text, or an object
            with the fields of a prediction.
        stream: Instead of `answer`, for services that stream server-sent events: the JSONPath of
            the next part of the answer in the JSON of each event. The other paths are then about
            the list of all events.
        max_reply_mb: The largest size of a reply, in megabytes.
    """

    url: Url
    method: Literal["GET", "POST", "PUT"] = "POST"
    headers: dict[Text, str] = Field(default_factory=dict)
    body: dict[str, Any] | list[Any] | str | None = None
    answer: Text | None = None
    stream: Text | None = None
    max_reply_mb: Annotated[Number, Field(gt=0)] = 16.0


_PATHS = {
    **_paths(Prediction, (name for name in ANSWER_FIELDS if name not in ("answer", "extra"))),
    "retrieved": (
        _Retrieved | None,
        Field(
            None,
            description="The JSONPath of the retrieved items, or of each of their fields: "
            '`{doc_id: "$.sources[*].id", text: "$.sources[*].text"}`.',
        ),
    ),
    "tokens_in": _path("tokens_in", "the input tokens."),
    "tokens_out": _path("tokens_out", "the output tokens."),
}

if TYPE_CHECKING:
    HttpKeys = HttpRequestKeys
else:
    HttpKeys = create_model(
        "HttpKeys",
        __base__=HttpRequestKeys,
        __module__=__name__,
        __doc__="The request to an HTTP service, and where its answer has which field.",
        **_PATHS,
    )


class TaskKeys(ConfigModel):
    """What a model is asked to do instead of answering a prompt.

    Attributes:
        mcqa: Multiple choice.
        rgb: Noisy, missing, scattered and false passages.
    """

    mcqa: Mcqa | None = None
    rgb: Rgb | None = None


class SystemKeys(ConfigModel):
    """A system that is asked: `python`, `http`, `model` or `command`.

    Attributes:
        python: `FILE_OR_MODULE:FUNCTION`: a function that takes the fields of a question and
            returns a text or the fields of a prediction.
        http: An HTTP service.
        model: A LiteLLM model name; or `local:` and a folder or a hub name, for a model on this
            machine that does a `task`.
        command: A program and its arguments. It reads a question as a JSON object in a line, and
            writes a prediction in a line.
        api_base: The URL of the API of a model: a local server or a proxy.
        api_key_env: The environment variable that holds the key of a model.
        prompt: The prompt of a model, or the file that holds it: a template in which fields of
            questions stand by their names, such as `{{ question }}`.
        task: What a model is asked to do instead of answering a prompt.
        temperature: The sampling temperature of a model.
        top_p: The mass of a model's nucleus sampling.
        seed: The seed of a model.
        max_tokens: The most tokens of an answer.
        stop: Texts that end an answer.
        stream: Whether a model's answers are streamed, which measures the time to the first token.
        usd_per_million_in: The price of a model's input tokens, where LiteLLM has none or a wrong
            one; give both prices or neither.
        usd_per_million_out: The price of its output tokens.
        usd_per_million_cache_read: The price of input tokens that the provider read from its
            cache; that of the others unless given.
        usd_per_million_cache_write: The price of input tokens that it wrote to its cache; that of
            the others unless given.
        max_reply_mb: The largest size of a model's reply, in megabytes.
        concurrency: The most questions in progress at once: 8 unless given, 32 for models, and 1
            for programs.
        requests_per_minute: The most questions per minute, evenly spaced.
        timeout_s: The timeout of one attempt, in seconds: 120 unless given, 3600 for models on this
            machine.
        start_timeout_s: The most seconds that a process may take to start: until it has loaded a
            function, or a program reads its first question. 600 unless given.
        retries: How often a question is asked again when the transport fails.
        budget_usd: The most US dollars that a run may spend on the system.
        daily_budget_usd: The most US dollars that all runs of the project together, manual ones
            included, may spend on the system in 24 hours.
        version: A name of the version. Another one asks again.
    """

    python: Text | None = None
    http: HttpKeys | None = None
    model: Text | None = None
    command: Annotated[list[str], Field(min_length=1)] | None = None
    api_base: ApiBase | None = None
    api_key_env: EnvVariable | None = None
    prompt: Text | None = None
    task: TaskKeys | None = None
    temperature: Annotated[Number, Field(ge=0, le=2)] | None = None
    top_p: Annotated[Number, Field(gt=0, le=1)] | None = None
    seed: Annotated[int, Field(strict=True)] | None = None
    max_tokens: Count | None = None
    stop: list[str] | None = None
    stream: Annotated[bool, Field(strict=True)] | None = None
    usd_per_million_in: UsDollars | None = None
    usd_per_million_out: UsDollars | None = None
    usd_per_million_cache_read: UsDollars | None = None
    usd_per_million_cache_write: UsDollars | None = None
    max_reply_mb: Annotated[Number, Field(gt=0)] | None = None
    concurrency: Count | None = None
    requests_per_minute: Count | None = None
    timeout_s: Annotated[Number, Field(gt=0)] | None = None
    start_timeout_s: Annotated[Number, Field(gt=0)] | None = None
    retries: Annotated[int, Field(strict=True, ge=0)] = 3
    budget_usd: UsDollars | None = None
    daily_budget_usd: UsDollars | None = None
    version: Text | None = None
