"""The values of `scoreline.yaml`: texts and numbers, and what may be wrong with them."""

from __future__ import annotations

import re
from typing import Annotated

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


_KEYS_BEGIN = ("gsk_", "hf_", "sk_", "AIza")
"""How providers' keys begin that could be names of variables."""


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name.startswith(_KEYS_BEGIN):
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


Variable = Annotated[Text, AfterValidator(_variable)]
"""The name of an environment variable."""

Address = Annotated[Text, AfterValidator(_address)]
"""An address of the web."""

BenchmarkName = Annotated[str, AfterValidator(_benchmark_name)]
Pattern = Annotated[Text, AfterValidator(_pattern)]
"""A path in which only `{system}` stands in braces."""

Cron = Annotated[Text, AfterValidator(_cron)]
Timezone = Annotated[Text, AfterValidator(_timezone)]


class Keys(BaseModel):
    """A mapping of the configuration file: no key is accepted that is not described."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
