"""DuckDB's extensions for a lake, from Python packages: nothing is downloaded while it works."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb

from warehouse.errors import WarehouseError
from warehouse.schema.ddl import literal

if TYPE_CHECKING:
    from warehouse.storage.location import Lake

LAKE: Final = ("ducklake", "postgres_scanner")
REMOTE: Final = ("httpfs",)
"""What an object store takes besides."""

ADVICE: Final = {"httpfs": "`pip install duckdb-extension-httpfs`"}
"""How to come by what is not part of the extra."""


def load_extensions(connection: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Load what a lake needs.

    Raises:
        WarehouseError: It is not installed, or made for another DuckDB.
    """
    for name in (*LAKE, *(REMOTE if "://" in lake.data_path else ())):
        try:
            connection.execute(f"LOAD {literal(_file(name))}")
        except duckdb.Error as error:
            raise WarehouseError(
                f"DuckDB's extension {name!r} cannot be loaded ({str(error).splitlines()[0]}): "
                "`pip install scoreline[lake]` installs the one that fits"
            ) from error


def _file(name: str) -> str:
    package = f"duckdb_extension_{name}"
    spec = find_spec(package)
    folder = spec.submodule_search_locations if spec is not None else None
    found = [
        file
        for place in folder or ()
        for file in Path(place).glob(f"extensions/v{duckdb.__version__}/{name}.duckdb_extension")
    ]
    if not found:
        there = "is not installed" if spec is None else f"does not fit DuckDB {duckdb.__version__}"
        raise WarehouseError(
            f"the warehouse is a lake, and the package {package.replace('_', '-')!r} {there}: "
            + ADVICE.get(name, "`pip install scoreline[lake]`")
        )
    return str(found[0])
