"""Server-sent events: a streamed answer, and when its first text arrived."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from calls.http.body import Arrival

EVENT_STREAM: Final = "text/event-stream"

DONE: Final = b"[DONE]"
"""The data of the last event of services with the interface of OpenAI."""

_LINE = re.compile(rb"([^\r\n]*)(\r\n|\n|\r|\Z)")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """The data of one event.

    Attributes:
        data: The data.
        end: Where the event ends in the body.
        is_whole: Whether the blank line that ends it is there.
    """

    data: bytes
    end: int
    is_whole: bool


def read_events(body: bytes) -> Iterator[Event]:
    """Yield the events of a stream that have data, as the HTML standard defines them.

    Names, ids and comments are ignored. An unfinished event at the end is yielded, too.
    """
    data: list[bytes] = []
    for line in _LINE.finditer(body, len(_BYTE_ORDER_MARK) * body.startswith(_BYTE_ORDER_MARK)):
        name, _, value = line[1].partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
        is_last = not line[2]
        if data and (is_last or not line[1]):
            yield Event(b"\n".join(data), line.end(), is_whole=not is_last)
            data = []
        if is_last:
            return


def arrival_of(event: Event, arrivals: Sequence[Arrival]) -> float | None:
    """Return when all of an event had arrived; None if that was not recorded."""
    return next((each.time for each in arrivals if each.size >= event.end), None)
