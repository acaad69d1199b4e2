"""Capabilities of a model, learned from requests that it rejects."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from calls.errors import UnsupportedRequest
from evaluators.engines.judge.litellm_client import CallOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from evaluators.engines.judge.litellm_client import Form
    from evaluators.engines.judge.settings import JudgeSettings

_LOG = logging.getLogger(__name__)

T = TypeVar("T")


class Capabilities:
    """Learns which options a model supports: the form of replies by schema, the others for all.

    LiteLLM's table of capabilities lacks most models, so this class tries them.
    """

    def __init__(self, settings: JudgeSettings) -> None:
        self._where = settings.where
        self._options = CallOptions("text" if settings.structured_output == "off" else "schema")
        self._forms: dict[str, Form] = {}

    def options_for(self, schema: Mapping[str, object]) -> CallOptions:
        """Return the options that the model supports for a schema, as far as is known."""
        form = self._forms.get(_key(schema), self._options.form)
        return replace(self._options, form=form)

    async def call_with_supported_options(
        self, schema: Mapping[str, object], attempt: Callable[[CallOptions], Awaitable[T]]
    ) -> T:
        """Make a call with the options that the model supports.

        Args:
            schema: The schema of the reply.
            attempt: Makes the call; raises `UnsupportedRequest` if the model rejects the options.
        """
        options = self.options_for(schema)
        while True:
            try:
                result = await attempt(options)
            except UnsupportedRequest as failure:
                other = _drop_rejected(options, str(failure).lower())
                if other is None:
                    raise
                options = other
            else:
                self._learn(schema, options)
                return result

    def _learn(self, schema: Mapping[str, object], options: CallOptions) -> None:
        """Remember options that worked; a rejection alone may be due to the messages."""
        if options == self.options_for(schema):
            return
        self._forms[_key(schema)] = options.form
        self._options = replace(options, form=self._options.form)
        _LOG.warning("calls to the judge %s now use %s", self._where, options)


def _key(schema: Mapping[str, object]) -> str:
    return json.dumps(schema, sort_keys=True)


def _drop_rejected(options: CallOptions, complaint: str) -> CallOptions | None:
    """Return the options without the rejected one, or None if there is nothing left to drop."""
    if options.sampling and ("temperature" in complaint or "top_p" in complaint):
        return replace(options, sampling=False)
    if options.seeded and "seed" in complaint:
        return replace(options, seeded=False)
    looser = options.looser()
    if looser is not None:
        return looser
    if options.seeded:
        return replace(options, seeded=False)
    return replace(options, sampling=False) if options.sampling else None
