"""Reads the answers of HTTP services."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from calls.errors import TransientFailure
from calls.http.body import parse_retry_after
from systems.client import Answer, ReturnedError, SystemRefused, WrongShape, as_answer
from systems.http.events import DONE, EVENT_STREAM, arrival_of, read_events
from systems.http.json_paths import JsonPaths, StreamPath

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import httpx

    from calls.http.body import Arrival
    from systems.http.variables import Values

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

    def __init__(
        self, system: str, paths: Mapping[str, str], stream: str | None, *, is_url_fixed: bool
    ) -> None:
        """Compile the paths.

        Args:
            system: The name of the system.
            paths: JSONPath expressions by field.
            stream: That of a part of the answer in each event; None if answers are not streamed.
            is_url_fixed: Whether all questions are sent to one URL.

        Raises:
            SystemRefused: A path cannot be used.
        """
        self._where = f"systems.{system}"
        self._paths = JsonPaths(system, paths) if paths else None
        self._stream = None if stream is None else StreamPath(system, stream)
        self._is_url_fixed = is_url_fixed
        self._has_answered = False

    def read(
        self,
        response: httpx.Response,
        body: bytes,
        values: Values,
        started: float,
        arrivals: Sequence[Arrival],
    ) -> Answer:
        """Return the answer in a response, without secrets and with storable texts.

        Args:
            response: The response.
            body: Its body.
            values: The values of environment variables.
            started: When the request was sent, by the monotonic clock.
            arrivals: When the parts of the body arrived.

        Raises:
            CallFailure: There is none.
            SystemRefused: No request will get one.
        """
        if not response.is_success:
            self._fail(response, body, values)
        self._has_answered = True
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if self._stream is not None:
            if kind != EVENT_STREAM:
                raise WrongShape(
                    f"{self._where}: expected {EVENT_STREAM}, as `http.stream` is set, found "
                    f"{kind or 'no content type'}: {_start(body, values)}"
                )
            return self._read_stream(self._stream, body, values, started, arrivals)
        if kind == EVENT_STREAM:
            raise WrongShape(
                f"{self._where}: the service streams its answer ({EVENT_STREAM}): set "
                "`http.stream` to the JSONPath of its parts; the stream begins with "
                f"{_start(body, values)}"
            )
        if self._paths is not None:
            reply = values.clean(self._parse(body, kind, values))
            return as_answer(self._paths.read(reply))
        if kind == "application/json" or kind.endswith("+json"):
            return as_answer(values.clean(self._parse(body, kind, values)))
        if kind == "text/html":
            raise WrongShape(
                f"{self._where}: expected a text or JSON, found {kind}: {_start(body, values)}"
            )
        return as_answer(values.clean(self._decode(response, body)))

    def _read_stream(
        self,
        path: StreamPath,
        body: bytes,
        values: Values,
        started: float,
        arrivals: Sequence[Arrival],
    ) -> Answer:
        events: list[Any] = []
        parts: list[str] = []
        is_found, first = False, None
        for event in read_events(body):
            if event.data.strip() == DONE:
                break
            if not event.data.strip():
                continue  # keeps the connection alive
            try:
                events.append(values.clean(self._parse(event.data, EVENT_STREAM, values)))
            except WrongShape:
                if event.is_whole:
                    raise
                raise TransientFailure("the stream ended within an event", billed=True) from None
            part = path.part(events[-1])
            is_found = is_found or part is not None
            if part:
                parts.append(part)
                first = first or arrival_of(event, arrivals)
        if not events:
            raise TransientFailure("the stream ended before its first event", billed=True)
        fields = {} if self._paths is None else self._paths.read(events)
        if "error" not in fields:
            if not is_found:
                path.fail_empty(events[0], len(events))
            # Once more, since a secret may be divided between two events.
            fields["answer"] = values.clean("".join(parts))
        answer = as_answer(fields)
        return replace(answer, first_token_s=None if first is None else first - started)

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
            raise TransientFailure(reason, busy=True, retry_after=wait)
        if status in _TRANSIENT or status >= _SERVER_ERROR:
            raise TransientFailure(reason, retry_after=wait, billed=status >= _SERVER_ERROR)
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
    raise ValueError(f"{name}, which is not a JSON number")
