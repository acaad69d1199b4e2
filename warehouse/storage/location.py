"""The location of a warehouse: the path of a DuckDB file, or the catalog and files of a lake."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import parse_qs, urlencode, urlsplit

from warehouse.errors import WarehouseError
from warehouse.storage.file_lock import this_command

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "ducklake:"
"""The prefix of the location of a lake."""

POSTGRES: Final = "ducklake:postgres:"
EXAMPLE: Final = "ducklake:postgres:dbname=scoreline host=db.example.org user=scoreline"

TIMEOUTS: Final = {
    "connect_timeout": "10",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""Parameters of libpq after which a connection counts as lost: about ten seconds without packets.
By default, the operating system waits for a quarter of an hour after a query was sent, and for two
hours while a query runs. `tcp_user_timeout` is in milliseconds, the others are in seconds."""


@dataclass(frozen=True, slots=True)
class Lake:
    """The location of a lake; the counterpart of a path.

    Like a path it has a name and a parent folder. That folder holds scratch files and
    need not be shared between machines.

    Attributes:
        catalog: The connection string of the catalog's database for libpq, without a password.
        data_path: The folder of the Parquet files, or an address such as `s3://bucket/folder`.
        folder: The local folder for scratch files.
        schema: The schema of the catalog's tables, so that one database can hold many lakes.
        password_env: The environment variable with the password; null: the methods of libpq, such
            as PGPASSWORD and the password file.
        given_password: The password itself, where it was read from that variable before.
    """

    catalog: str
    data_path: str
    folder: Path
    schema: str = "public"
    password_env: str | None = None
    given_password: str | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The name from which the names of local files are formed."""
        return "lake"

    @property
    def parent(self) -> Path:
        """The local folder for scratch files."""
        return self.folder

    def with_name(self, name: str) -> Path:
        """Return a path in the local folder."""
        return self.folder / name

    def absolute(self) -> Lake:
        """Return the location itself, which does not depend on the current folder."""
        return self

    def as_uri(self) -> str:
        """Return the location without spaces, for links."""
        return str(self).replace(" ", "%20")

    @property
    def password(self) -> str | None:
        """The password from `password_env`; null if no variable is named.

        Raises:
            WarehouseError: The variable is not set.
        """
        if self.given_password is not None or self.password_env is None:
            return self.given_password
        password = os.environ.get(self.password_env)
        if password is None:
            raise WarehouseError(
                f"the environment variable {self.password_env}, which holds the password of the "
                "warehouse, is not set"
            )
        return password

    @property
    def connection(self) -> str:
        """The connection string for libpq, with the name of this process and timeouts."""
        return with_timeouts(self.catalog)

    def __str__(self) -> str:
        return POSTGRES + self.catalog


Location: TypeAlias = Path | Lake
"""The path of a DuckDB file, or a lake; both have `name`, `parent` and `with_name`."""


def location_from_config(
    home: Path,
    catalog: str,
    *,
    data_path: str | None = None,
    schema: str | None = None,
    password_env: str | None = None,
) -> Location:
    """Return the location that a configuration describes.

    Args:
        home: The folder to which paths are relative.
        catalog: The path of a DuckDB file, or `ducklake:postgres:` and a connection string.
        data_path: The folder or address of a lake's files; null: `.scoreline/lake` in `home`.
        schema: The schema of the catalog; null: `public`.
        password_env: The environment variable with the password of the catalog.

    Raises:
        WarehouseError: The description is not valid.
    """
    if not catalog.startswith(PREFIX):
        if {data_path, schema, password_env} != {None}:
            raise WarehouseError(
                f"a DuckDB file such as {catalog!r} takes only a path; write a lake as {EXAMPLE!r}"
            )
        return home / Path(catalog).expanduser()
    beside = home / ".scoreline"
    if data_path is None:
        data_path = str(beside / "lake")
    elif "://" not in data_path:
        data_path = str(home / Path(data_path).expanduser())
    return Lake(parse_catalog(catalog), data_path, beside, schema or "public", password_env)


def location_to_json(location: Location) -> dict[str, str | None]:
    """Return a location as JSON values."""
    if isinstance(location, Lake):
        return {
            "catalog": location.catalog,
            "data_path": location.data_path,
            "folder": str(location.folder),
            "schema": location.schema,
            "password_env": location.password_env,
        }
    return {"path": str(location)}


def location_from_json(given: Mapping[str, Any]) -> Location:
    """Return the location that `location_to_json` described."""
    if "path" in given:
        return Path(given["path"])
    return Lake(**{**given, "folder": Path(given["folder"])})


def with_timeouts(catalog: str) -> str:
    """Return a connection string or address with the name of this process and timeouts."""
    defaults = {"application_name": _application_name(), **TIMEOUTS}
    missing = {key: value for key, value in defaults.items() if key not in catalog}
    if "://" in catalog:
        separator = "&" if "?" in catalog else "?"
        # Encoded, because libpq takes the text before an @ for the user.
        options = urlencode(missing)
        return f"{catalog}{separator if options else ''}{options}"
    return " ".join([catalog, *(f"{key}={value}" for key, value in missing.items())])


def parse_catalog(text: str) -> str:
    """Return the connection string in a location such as `ducklake:postgres:dbname=scoreline`.

    Raises:
        WarehouseError: It is not the location of a lake, or it holds a password (not repeated).
    """
    if not text.startswith(POSTGRES):
        kind = re.split(r"[:\s=@/]", text.removeprefix(PREFIX))[0]
        raise WarehouseError(
            f"the catalog of a lake must be in PostgreSQL, found {kind!r}: expected a location "
            f"such as {EXAMPLE!r}"
        )
    catalog = text.removeprefix(POSTGRES).strip()
    if not catalog:
        raise WarehouseError(f"no database is named: expected a location such as {EXAMPLE!r}")
    if holds_password(catalog):
        raise WarehouseError(
            "this file must not hold a password: name an environment variable in `password_env`, "
            "or set PGPASSWORD"
        )
    if "://" not in catalog and "=" not in catalog:
        raise WarehouseError(
            f"{catalog!r} is not a list of `name=value`: expected a location such as {EXAMPLE!r}"
        )
    return catalog


def holds_password(catalog: str) -> bool:
    """Return whether a connection string or address holds a password."""
    if "://" not in catalog:
        return re.search(r"(^|\s)(ssl)?password\s*=", catalog, re.IGNORECASE) is not None
    address = urlsplit(catalog)
    given = {key.lower() for key in parse_qs(address.query, keep_blank_values=True)}
    return address.password is not None or bool(given & {"password", "sslpassword"})


def _application_name() -> str:
    """Return the name of this process for PostgreSQL, which keeps 63 bytes of it."""
    command = re.sub(r"[^\w.]+", "-", this_command(), flags=re.ASCII)
    return f"scoreline-{os.getpid()}@{socket.gethostname()}/{command}"[:63]


def describe_application(name: str) -> str:
    """Return the process that gave itself this name, for messages."""
    found = re.fullmatch(r"scoreline-(\d+)@([^/]*)(?:/(.*))?", name)
    if found is None:
        return name
    pid, host, command = found.groups()
    return f"process {pid} ({(command or 'scoreline').replace('-', ' ')}) on {host}"
