"""A query whose rows are read instead of a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from warehouse.errors import InputError, Problem, WarehouseError
from warehouse.storage.location import holds_password

SERVERS: Final = ("postgresql://", "postgres://")
"""The beginnings of addresses of PostgreSQL."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query whose rows are read instead of a file.

    Attributes:
        sql: A SELECT.
        database: The path of a DuckDB or SQLite file, or the address of a PostgreSQL database
            without a password.
        origin: Where the configuration names it, for messages.
        password_env: The environment variable with the password of PostgreSQL; null: the methods of
            libpq, such as PGPASSWORD and the password file.
        memory_limit: The memory that DuckDB uses before it spills to disk, such as `4GB`; null:
            half of the machine's.
    """

    sql: str
    database: Path | str
    origin: str
    password_env: str | None = None
    memory_limit: str | None = None

    def __str__(self) -> str:
        return self.origin

    @property
    def files(self) -> list[Path]:
        """The files of the database with what is not yet written into it; none for a server."""
        if isinstance(self.database, str):
            return []
        # A log may exist without content while another process reads.
        logs = (Path(f"{self.database}{ending}") for ending in (".wal", "-wal"))
        return [self.database, *(log for log in logs if log.is_file() and log.stat().st_size)]

    @property
    def password(self) -> str | None:
        """The password from `password_env`; null if no variable is named.

        Raises:
            InputError: The variable is not set.
        """
        if self.password_env is None:
            return None
        password = os.environ.get(self.password_env)
        if password is None:
            message = f"the environment variable {self.password_env}, which holds the password"
            raise self.wrong(f"{message} of the database, is not set")
        return password

    def wrong(self, message: str) -> InputError:
        """Return an error about the query as a whole."""
        return InputError([Problem(self.origin, None, message)])


InputFile: TypeAlias = Path | Query
"""Where rows are read from: a file, or a query."""


def locate_database(home: Path, database: str, password_env: str | None) -> Path | str:
    """Return the database that a configuration describes: a path, or an address of PostgreSQL.

    Raises:
        WarehouseError: The description is not valid, or it holds a password (not repeated).
    """
    if database.startswith(SERVERS):
        if holds_password(database):
            raise WarehouseError(
                "this file must not hold a password: name an environment variable in "
                "`password_env`, or set PGPASSWORD"
            )
        return database
    if "://" in database:
        scheme = database.partition("://")[0]
        raise WarehouseError(
            f"expected the path of a DuckDB or SQLite file, or postgresql://..., found {scheme}://"
        )
    if password_env is not None:
        raise WarehouseError("only PostgreSQL has a password: remove `password_env`")
    return home / Path(database).expanduser()
