"""What all settings have in common: strict models, and the types of their values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)
from pydantic_core import PydanticCustomError

Text = Annotated[str, StringConstraints(strict=True, min_length=1, strip_whitespace=True)]
Count = Annotated[int, Field(strict=True, ge=1)]
Number = Annotated[float, Field(allow_inf_nan=False)]
UsDollars = Annotated[Number, Field(ge=0)]

PathText = Annotated[
    Text, BeforeValidator(lambda path: str(path) if isinstance(path, Path) else path)
]
"""The path of a file as text; a path in Python, too."""

_KEY_PREFIXES = ("gsk_", "hf_", "sk_", "AIza")
"""Prefixes of providers' API keys that would also be valid names of variables."""


def _check_odd(count: int) -> int:
    if count % 2 == 0:
        raise PydanticCustomError(
            "odd", "expected an odd number, so that there is a majority, found {n}", {"n": count}
        )
    return count


def _check_variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name.startswith(_KEY_PREFIXES):
        # The message does not repeat the value, because it may be the key itself.
        raise PydanticCustomError(
            "variable",
            "expected the name of an environment variable such as GROQ_API_KEY; "
            "never write the key itself into this file",
        )
    return name


def _check_url(url: str) -> str:
    if not re.match(r"https?://[^/\s]", url):
        raise PydanticCustomError(
            "url",
            "expected a URL that begins with http:// or https://, found {url}",
            {"url": repr(url)},
        )
    return url


def _check_api_base(url: str) -> str:
    if re.match(r"(?:[A-Za-z]+:)?/*[^/?#]*@", url):
        # The message does not repeat the value, because it holds a password.
        raise PydanticCustomError(
            "credentials",
            "expected an address without user and password; put the key into an environment "
            "variable and name that in api_key_env",
        )
    return _check_url(url)


OddCount = Annotated[Count, AfterValidator(_check_odd)]

EnvVariable = Annotated[Text, AfterValidator(_check_variable)]
"""The name of an environment variable."""

Url = Annotated[Text, AfterValidator(_check_url)]
ApiBase = Annotated[Text, AfterValidator(_check_api_base)]
"""The address of an API; keys have keys of their own, because addresses stand in messages."""


class ConfigModel(BaseModel):
    """A mapping in the configuration file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
