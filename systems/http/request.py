"""The request to an HTTP service, and where its answer has which field."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Discriminator, Field, Tag, WithJsonSchema, create_model

from records.prediction import Prediction, Retrieved
from records.settings import ConfigModel, Number, Text, Url
from systems.client import ANSWER_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from records.record import Record

_SECRET_HEADER: Final = re.compile(
    r"authorization|cookie|.*(key|token|secret|password).*", re.IGNORECASE
)
_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


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
    RetrievedPaths = ConfigModel
else:
    RetrievedPaths = create_model(
        "RetrievedPaths",
        __base__=ConfigModel,
        __module__=__name__,
        __doc__="Where an HTTP service's answer has which field of retrieved items.",
        **_paths(Retrieved, Retrieved.model_fields),
    )


def _is_mapping(value: object) -> str:
    return "[paths]" if isinstance(value, dict | RetrievedPaths) else "[path]"


_Retrieved = Annotated[
    Annotated[Text, Tag("[path]")] | Annotated[RetrievedPaths, Tag("[paths]")],
    Discriminator(_is_mapping),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]}),
]


class PlainHttpRequest(ConfigModel):
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

    @property
    def paths(self) -> Mapping[str, str]:
        """The JSONPaths by field, such as `answer`, `tokens_in` or `retrieved.text`."""
        others = set(PlainHttpRequest.model_fields) - {"answer"}
        found = self.model_dump(exclude_none=True, exclude=others)
        if isinstance(found.get("retrieved"), dict):
            fields = found.pop("retrieved")
            found |= {f"retrieved.{name}": path for name, path in fields.items()}
        return found

    @property
    def exposed_headers(self) -> list[str]:
        """The names of the headers that hold a secret themselves, and not a variable."""
        return [
            name
            for name, value in self.headers.items()
            if _SECRET_HEADER.fullmatch(name) and not _VARIABLE.search(value)
        ]


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
    HttpRequest = PlainHttpRequest
else:
    HttpRequest = create_model(
        "HttpRequest",
        __base__=PlainHttpRequest,
        __module__=__name__,
        __doc__="The request to an HTTP service, and where its answer has which field.",
        **_PATHS,
    )
