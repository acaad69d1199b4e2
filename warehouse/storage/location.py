"""Where a warehouse is: the path of a DuckDB file, or the catalogue and the files of a lake."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import parse_qs, urlencode, urlsplit

from warehouse.errors import WarehouseError

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "ducklake:"
"""How the place of every lake begins."""

POSTGRES: Final = "ducklake:postgres:"
EXAMPLE: Final = "ducklake:postgres:dbname=scoreline host=db.example.org user=scoreline"


@dataclass(frozen=True, slots=True)
class Lake:
    """A lake, as a path is a file: nothing is opened by it.

    Like a file it has a name and a folder: there stands what a process keeps beside the warehouse,
    such as journals and scratch files. That folder need not be shared between machines.

    Attributes:
        catalog: The database of the catalogue as libpq understands it, without a password.
        data_path: The folder of its Parquet files, or an address such as `s3://bucket/folder`.
        folder: The folder for what stands beside it.
        schema: The schema of the catalogue's tables, so that one database may hold many lakes.
        password_env: The environment variable that holds the password; null: libpq's own ways,
            such as PGPASSWORD and the password file.
    """

    catalog: str
    data_path: str
    folder: Path
    schema: str = "public"
    password_env: str | None = None

    @property
    def name(self) -> str:
        """The name by which it is known beside itself."""
        return "lake"

    @property
    def parent(self) -> Path:
        """The folder for what stands beside it."""
        return self.folder

    def with_name(self, name: str) -> Path:
        """A file or folder beside it."""
        return self.folder / name

    def absolute(self) -> Lake:
        """It itself: no folder changes what it means."""
        return self

    def as_uri(self) -> str:
        """It in one word, for those who show links."""
        return str(self).replace(" ", "%20")

    @property
    def password(self) -> str | None:
        """The password, if an environment variable was named for it.

        Raises:
            WarehouseError: The variable is not set.
        """
        if self.password_env is None:
            return None
        password = os.environ.get(self.password_env)
        if password is None:
            raise WarehouseError(
                f"the password of the warehouse is to be found in the environment variable "
                f"{self.password_env}, which is not set"
            )
        return password

    @property
    def connection(self) -> str:
        """The catalogue for libpq, with the name of this process and a bound on waiting."""
        said = {
            "application_name": f"scoreline-{os.getpid()}@{socket.gethostname()}"[:63],
            "connect_timeout": "10",
        }
        missing = {key: value for key, value in said.items() if key not in self.catalog}
        if "://" in self.catalog:
            mark = "&" if "?" in self.catalog else "?"
            # What stands before an @ would be taken for the user.
            given = urlencode(missing)
            return f"{self.catalog}{mark if given else ''}{given}"
        return " ".join([self.catalog, *(f"{key}={value}" for key, value in missing.items())])

    def __str__(self) -> str:
        return POSTGRES + self.catalog


Location: TypeAlias = Path | Lake
"""The path of a DuckDB file, or a lake. Both have a name, a folder and files beside them."""


def location_from_config(
    home: Path,
    catalog: str,
    *,
    data_path: str | None = None,
    schema: str | None = None,
    password_env: str | None = None,
) -> Location:
    """The place that a configuration names.

    Args:
        home: The folder that paths are relative to.
        catalog: The path of a DuckDB file, or `ducklake:postgres:` and a database.
        data_path: The folder or address of a lake's files; null: `.scoreline/lake` in `home`.
        schema: The schema of its catalogue; null: `public`.
        password_env: The environment variable that holds the password of a lake's catalogue.

    Raises:
        WarehouseError: That is no place.
    """
    if not catalog.startswith(PREFIX):
        if {data_path, schema, password_env} != {None}:
            raise WarehouseError(
                f"a DuckDB file such as {catalog!r} has nothing but its path; a lake is named "
                f"{EXAMPLE!r}"
            )
        return home / Path(catalog).expanduser()
    beside = home / ".scoreline"
    if data_path is None:
        data_path = str(beside / "lake")
    elif "://" not in data_path:
        data_path = str(home / Path(data_path).expanduser())
    return Lake(parse_catalog(catalog), data_path, beside, schema or "public", password_env)


def location_to_json(place: Location) -> dict[str, str | None]:
    """A place as JSON can hold it, for another process."""
    if isinstance(place, Lake):
        return {
            "catalog": place.catalog,
            "data_path": place.data_path,
            "folder": str(place.folder),
            "schema": place.schema,
            "password_env": place.password_env,
        }
    return {"path": str(place)}


def location_from_json(given: Mapping[str, Any]) -> Location:
    """The place that `described` told of."""
    if "path" in given:
        return Path(given["path"])
    return Lake(**{**given, "folder": Path(given["folder"])})


def parse_catalog(text: str) -> str:
    """The database that a place such as `ducklake:postgres:dbname=scoreline` names.

    Raises:
        WarehouseError: It is no place of a lake, or it holds a password, which is not repeated.
    """
    if not text.startswith(POSTGRES):
        kind = re.split(r"[:\s=@/]", text.removeprefix(PREFIX))[0]
        raise WarehouseError(
            f"a lake keeps its catalogue in PostgreSQL, found {kind!r}: expected a place such as "
            f"{EXAMPLE!r}"
        )
    catalog = text.removeprefix(POSTGRES).strip()
    if not catalog:
        raise WarehouseError(f"no database is named: expected a place such as {EXAMPLE!r}")
    if _holds_password(catalog):
        raise WarehouseError(
            "a password never stands in this file: give the name of an environment variable in "
            "`password_env`, or set PGPASSWORD"
        )
    if "://" not in catalog and "=" not in catalog:
        raise WarehouseError(
            f"{catalog!r} is no list of `name=value`: expected a place such as {EXAMPLE!r}"
        )
    return catalog


def _holds_password(catalog: str) -> bool:
    if "://" not in catalog:
        return re.search(r"(^|\s)(ssl)?password\s*=", catalog, re.IGNORECASE) is not None
    address = urlsplit(catalog)
    given = {key.lower() for key in parse_qs(address.query, keep_blank_values=True)}
    return address.password is not None or bool(given & {"password", "sslpassword"})
