"""Lakes of a test's own: a schema in a database of a real PostgreSQL, and a folder."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tests.support.services import POSTGRES
from tests.support.warehouse_contents import contents
from warehouse.storage.connection import Settings
from warehouse.storage.ducklake import session
from warehouse.storage.ducklake.session import connect_catalog
from warehouse.storage.location import Lake, location_to_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warehouse.storage.location import Location
    from warehouse.store import Warehouse


@contextmanager
def fresh(database: str, folder: Path) -> Iterator[Lake]:
    """A lake that nobody has made yet; its catalogue is dropped at the end."""
    place = lake_at(folder, database, f"lake_{uuid4().hex[:12]}")
    try:
        yield place
    finally:
        close_sessions()
        drop(place)


def close_sessions() -> None:
    """Close every connection of this process to a lake, so that its catalogue can be dropped."""
    for each in list(session._SESSIONS.values()):
        each.close()
        session.drop_session(each)


def lake_at(folder: Path, database: str, schema: str = "public") -> Lake:
    """The lake whose catalogue is in that database."""
    where = " ".join(f"{key}={value}" for key, value in POSTGRES.items())
    return Lake(f"dbname={database} {where}", str(folder / "lake"), folder / "beside", schema)


def configured(place: Lake) -> dict[str, str]:
    """What `scoreline.yaml` says of a lake."""
    return {
        "catalog": str(place),
        "data_path": place.data_path,
        "catalog_schema": place.schema,
    }


def unlike(one: Warehouse, other: Warehouse) -> list[tuple[str, object, object]]:
    """The rows by which two warehouses differ, sums of another order apart."""
    first, second = contents(one), contents(other)
    differing: list[tuple[str, object, object]] = []
    for table, rows in first.items():
        pairs = zip_longest(rows, second[table])
        differing += [(table, a, b) for a, b in pairs if not _alike(a, b)]
    return differing


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)


def told(place: Location) -> str:
    """A place in one argument, for `place_described` in another process."""
    return json.dumps(location_to_json(place))


def drop(place: Lake) -> None:
    """Drop the catalogue of a lake: to make and drop a database each time would take seconds."""
    with connect_catalog(place, Settings(), 0.0) as connection:
        address = place.connection.replace("'", "''")
        connection.execute(f"ATTACH '{address}' AS owned (TYPE postgres)")
        connection.execute(
            f"CALL postgres_execute('owned', 'DROP SCHEMA IF EXISTS {place.schema} CASCADE')"
        )
