"""Earlier publications: found by tag, run or date."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warehouse.errors import WarehouseError, closest_match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warehouse.queries.benchmarks import Source

RUN_DIGITS = 8
"""How many characters of a run's id are shown, and are enough to name it."""


NOW = "now"
"""The name of the present publication."""


class UnknownPublication(WarehouseError):  # noqa: N818 - the name says what is the matter
    """There is no such publication."""


@dataclass(frozen=True, slots=True)
class Publication:
    """One publication.

    Attributes:
        published_at: When it was published (UTC).
        run_id: The run that published; null if an old version of Scoreline did.
        tag: Its tag, if it has one.
    """

    published_at: dt.datetime
    run_id: str | None
    tag: str | None

    def __str__(self) -> str:
        at = f"{self.published_at:%Y-%m-%d %H:%M:%S} UTC"
        return at if self.tag is None else f"{self.tag} ({at})"


def list_publications(source: Source) -> list[Publication]:
    """Return all publications, the latest first."""
    rows = source.fetch(
        "SELECT published_at, run_id, tag FROM publications ORDER BY published_at DESC"
    )
    return [Publication(*row) for row in rows.iter_rows()]


def find_publication(source: Source, name: str) -> Publication:
    """Return the publication with a tag, that of a run, or the last one up to a date.

    Args:
        source: The published copy.
        name: A tag; `now` for the present one; the id of a run or its first characters, at least
            eight; or a date or time, UTC unless it has an offset. A date is the whole day. The
            present publication is never that of a date: there is nothing to compare with itself.

    Raises:
        UnknownPublication: There is none; the message suggests a similar tag.
    """
    known = list_publications(source)
    if not known:
        raise UnknownPublication("no publication is recorded yet: `scoreline run` records them")
    for each in known:
        if each.tag == name:
            return each
    if name == NOW:
        return known[0]
    of_run = [each for each in known if _is_run(each, name)]
    if len({each.run_id for each in of_run}) == 1:
        return of_run[0]
    until = _parse_time(name)
    if until is None:
        raise UnknownPublication(
            f"there is no publication {name!r}{_suggest(name, known)}: expected a tag, the id of a "
            "run, or a date such as 2026-11-30"
        )
    for each in known[1:]:
        if each.published_at <= until:
            return each
    earliest = f"{known[-1].published_at:%Y-%m-%d %H:%M:%S}"
    if len(known) == 1:
        raise UnknownPublication(f"there is only one publication, that of {earliest} UTC")
    raise UnknownPublication(
        f"there is no publication up to {name!r}: the first one is of {earliest} UTC"
    )


def _is_run(publication: Publication, name: str) -> bool:
    run = publication.run_id
    return run is not None and len(name) >= RUN_DIGITS and run.startswith(name)


def _parse_time(text: str) -> dt.datetime | None:
    """Return a time in UTC, that of a day at its end; None if the text is none."""
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        pass
    else:
        return dt.datetime.combine(day, dt.time.max)
    try:
        found = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.tzinfo is not None:
        found = found.astimezone(dt.UTC).replace(tzinfo=None)
    # Times are shown in whole seconds.
    return found if found.microsecond else found.replace(microsecond=999_999)


def _suggest(name: str, known: Sequence[Publication]) -> str:
    names = [text for each in known for text in (each.tag, each.run_id) if text is not None]
    close = closest_match(name, names)
    return "" if close is None else f" (did you mean {close!r}?)"
