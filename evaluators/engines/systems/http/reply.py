"""Reads the answers of HTTP services."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NoReturn

from evaluators.engines.http_body import parse_retry_after
from evaluators.engines.systems.client import (
    Answer,
    ReturnedError,
    SystemRefused,
    TransportFailure,
    WrongShape,
    as_answer,
)
from evaluators.engines.systems.http.json_paths import JsonPaths

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from evaluators.engines.systems.http.variables import Values

_SHOWN = 200
_BUSY: Final = frozenset({429, 503, 529})
_TRANSIENT: Final = frozenset({408, 425})
_REFUSED: Final = {401: "the key", 402: "the account", 407: "the proxy's credentials"}
_PERHAPS_REFUSED: Final = {403: "the key", 404: "the address", 405: "the method"}
"""Statuses that are about every request until one of them has been answered."""
_OF_ADDRESS: Final = frozenset({404, 405})
_SERVER_ERROR = 500


class HttpReplyReader:
    """Reads the answers of one service."""

    def __init__(self, system: str, paths: Mapping[str, str], *, is_url_fixed: bool) -> None:
        """Compile the paths.

        Args:
            system: The name of the system.
            paths: JSONPath expressions by field.
            is_url_fixed: Whether all questions are sent to one URL.

        Raises:
            SystemRefused: A path cannot be used.
        """
        self._where = f"systems.{system}"
        self._paths = JsonPaths(system, paths) if paths else None
        self._is_url_fixed = is_url_fixed
        self._has_answered = False

    def read(self, response: httpx.Response, body: bytes, values: Values) -> Answer:
        """Return the answer in a response, without secrets and with storable texts.

        Raises:
            SystemFailure: There is none.
            SystemRefused: No request will get one.
        """
        if not response.is_success:
            self._fail(response, body, values)
        self._has_answered = True
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if self._paths is not None:
            reply = values.clean(self._parse(body, kind, values))
            return as_answer(self._paths.read(reply))
        if kind == "application/json" or kind.endswith("+json"):
            return as_answer(values.clean(self._parse(body, kind, values)))
        if kind in {"text/html", "text/event-stream"}:
            raise WrongShape(
                f"{self._where}: expected a text or JSON, found {kind}: {_start(body, values)}"
            )
        return as_answer(values.clean(self._decode(response, body)))

    def _parse(self, body: bytes, kind: str, values: Values) -> Any:
        try:
            return json.loads(body, parse_constant=_refuse_constant)
        except RecursionError:
            reason = "nested too deeply"
        except UnicodeDecodeError:
            reason = "not UTF-8"
        except json.JSONDecodeError:
            described = f" ({kind})" if kind else ""
            reason = f"{_start(body, values)}{described}" if body else "an empty body"
        except ValueError as error:  # also of Python's limit for the digits of a whole number
            reason = str(error).partition(";")[0]
        raise WrongShape(f"{self._where}: expected JSON, found {reason}")

    def _decode(self, response: httpx.Response, body: bytes) -> str:
        charset = response.charset_encoding or "utf-8"
        try:
            return body.decode("utf-8-sig" if charset.lower() in {"utf-8", "utf8"} else charset)
        except (UnicodeDecodeError, LookupError):
            raise WrongShape(
                f"{self._where}: expected a text in {charset[:40]!r}, found other bytes"
            ) from None

    def _fail(self, response: httpx.Response, body: bytes, values: Values) -> NoReturn:
        status = response.status_code
        said = _start(body, values)
        reason = f"status {status}" + (f": {said}" if body.strip() else "")
        wait = parse_retry_after(response.headers.get("retry-after"))
        if status in _BUSY:
            raise TransportFailure(reason, busy=True, retry_after=wait)
        if status in _TRANSIENT or status >= _SERVER_ERROR:
            raise TransportFailure(reason, retry_after=wait, billed=status >= _SERVER_ERROR)
        refused = _REFUSED.get(status)
        is_about_all = self._is_url_fixed or status not in _OF_ADDRESS
        if refused is None and is_about_all and not self._has_answered:
            refused = _PERHAPS_REFUSED.get(status)
        if refused is not None:
            raise SystemRefused(f"{self._where}: the service refuses {refused}: {reason}")
        if response.is_redirect or response.is_informational or not response.is_client_error:
            raise WrongShape(f"{self._where}: expected an answer, found {reason}")
        raise ReturnedError(reason)


def _start(body: bytes, values: Values) -> str:
    """Return the first line of a body that says something, shortened; without secrets."""
    # Redact before truncating: otherwise a part of a secret could remain.
    text = values.redact(body.decode("utf-8", "replace"))
    lines = (" ".join(line.split()) for line in text.splitlines())
    line = "".join(
        each if each.isprintable() else "\ufffd" for each in next(filter(None, lines), "")
    )
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name}, which is no JSON number")
