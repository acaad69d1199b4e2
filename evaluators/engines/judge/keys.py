"""The API key of a judge: whether it is missing, and whether a run then goes on without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calls.litellm_model import describe_missing_key
from evaluators.engines.judge.settings import SKIPPED

if TYPE_CHECKING:
    from evaluators.engines.judge.settings import JudgeSettings


def missing_key(settings: JudgeSettings) -> str | None:
    """Return which key a run would miss, and what to do; None if it is there or none is needed.

    Without `api_key_env`, LiteLLM looks for the key in a variable of the provider. Servers at an
    `api_base` may need none.
    """
    if settings.recording is not None:
        return None
    return describe_missing_key(settings.model, settings.api_key_env, settings.api_base, "judge")


def skip_reason(settings: JudgeSettings) -> str | None:
    """Return why an optional judge is not called; None if it is required or its key is there."""
    if not settings.optional or settings.api_key:
        return None
    key = missing_key(settings)
    return None if key is None else f"{SKIPPED}{key}"
