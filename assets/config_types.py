"""Types of the values in `scoreline.yaml`, with their validation."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
)
from pydantic_core import PydanticCustomError

from records.record import CONTROL
from records.settings import ConfigModel, Count, Text
from warehouse.storage.memory import THREAD_BYTES, parse_memory

BENCHMARK_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


def _check_control_characters(name: str) -> str:
    if re.search(CONTROL, name):
        raise PydanticCustomError(
            "control_characters",
            "expected text without control characters, found {name}",
            {"name": repr(name)},
        )
    return name


def _check_benchmark_name(name: str) -> str:
    if not BENCHMARK_NAME.fullmatch(name) or "..." in name:
        raise PydanticCustomError(
            "benchmark_name",
            "{name} cannot name a benchmark: expected 1 to 100 letters (a to z), digits, dots, "
            "dashes or underscores, not beginning with a dot and without '...'",
            {"name": repr(name)},
        )
    return name


def _check_system_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,99}", name):
        raise PydanticCustomError(
            "system_name",
            "{name} cannot name a system: expected 1 to 100 letters (a to z), digits, or the "
            "characters . - _ @ +, not beginning with one of . - @ +",
            {"name": repr(name)},
        )
    return name


def _check_pattern(path: str) -> str:
    named = re.findall(r"\{[^}]*\}?|\}", path)
    wrong = [
        part
        for part in named
        if part != "{system}" and not re.fullmatch(r"\{[^{}/]*,[^{}/]*\}", part)
    ]
    if wrong:
        raise PydanticCustomError(
            "pattern",
            "{part} in a path: {system} is the only placeholder",
            {"part": repr(wrong[0]), "system": "{system}"},
        )
    return path


def _check_memory(size: str) -> str:
    try:
        is_enough = parse_memory(size) >= THREAD_BYTES
    except ValueError as error:
        raise PydanticCustomError("memory", "{reason}", {"reason": str(error)}) from error
    if not is_enough:
        raise PydanticCustomError("memory", "expected at least 100MB, with which DuckDB can spill")
    return size


def _check_cron(text: str) -> str:
    from dagster._utils.schedules import is_valid_cron_string

    if not is_valid_cron_string(text):
        raise PydanticCustomError(
            "cron", "expected a cron expression such as '0 2 * * *', found {t}", {"t": text}
        )
    return text


def _check_timezone(name: str) -> str:
    from zoneinfo import available_timezones

    if name not in available_timezones():
        raise PydanticCustomError(
            "timezone", "unknown time zone {n}: expected one such as Europe/Berlin", {"n": name}
        )
    return name


def _check_executor(name: object) -> object:
    if name == "celery":
        raise PydanticCustomError(
            "celery",
            "the executor 'celery' no longer exists: to use several machines, set "
            "run_per_benchmark: true and configure a run launcher; see docs/scale-out.md",
        )
    return name


def _check_asset_key(key: str) -> str:
    if not all(part.strip() for part in key.split("/")):
        raise PydanticCustomError(
            "asset_key", "expected the key of a Dagster asset, such as `team/answers`"
        )
    return key


def _check_evaluator_name(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise PydanticCustomError(
            "evaluator_name", "the name of an evaluator has lower-case letters, digits and _"
        )
    return name


FieldName = Annotated[Text, AfterValidator(_check_control_characters)]
"""The name of a tag or of another field of questions."""

UpstreamAsset = Annotated[Text, AfterValidator(_check_asset_key)]
"""The key of an asset of another team, such as `team/answers`."""

EvaluatorName = Annotated[Text, AfterValidator(_check_evaluator_name)]
AskedSystemName = Annotated[str, AfterValidator(_check_system_name)]
"""The name of a system that is asked; it names a file and an asset."""

BenchmarkName = Annotated[str, AfterValidator(_check_benchmark_name)]
PathPattern = Annotated[Text, AfterValidator(_check_pattern)]
"""A path or glob pattern whose only placeholder is `{system}`; `{a,b}` are alternatives."""

MemorySize = Annotated[Text, AfterValidator(_check_memory)]
"""An amount of memory, such as `4GB`."""

Cron = Annotated[Text, AfterValidator(_check_cron)]
Timezone = Annotated[Text, AfterValidator(_check_timezone)]
Executor = Annotated[Literal["in_process", "multiprocess"], BeforeValidator(_check_executor)]


class History(ConfigModel):
    """How long the questions, answers and scores of publications are kept.

    Old leaderboards stay in any case. `scoreline compare --before` needs the scores.

    Attributes:
        publications: Of how many publications of a benchmark, besides those with a tag; 0 keeps
            none.
        max_samples: Larger benchmarks (questions times systems) keep none.
    """

    publications: Annotated[int, Field(strict=True, ge=0)] = 20
    max_samples: Count = 200_000
