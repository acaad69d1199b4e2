"""Loads DuckDB's extensions for a lake from Python packages, without downloads."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb

from records.packages import install_command
from warehouse.errors import WarehouseError
from warehouse.schema.quoting import literal

if TYPE_CHECKING:
    from warehouse.storage.location import Lake

LAKE: Final = ("ducklake", "postgres_scanner")
REMOTE: Final = ("httpfs",)
"""Additional extensions for an object store."""

ADVICE: Final = {"httpfs": "`pip install duckdb-extension-httpfs`"}
"""How to install extensions that the extra does not include."""


def load_extensions(connection: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """Load the extensions that a lake needs.

    Raises:
        WarehouseError: An extension is not installed, or is for another version of DuckDB.
    """
    for name in (*LAKE, *(REMOTE if "://" in lake.data_path else ())):
        try:
            connection.execute(f"LOAD {literal(_file(name))}")
        except duckdb.Error as error:
            raise WarehouseError(
                f"DuckDB's extension {name!r} cannot be loaded ({str(error).splitlines()[0]}): "
                f"{install_command('lake')} installs the one that fits"
            ) from error


def _file(name: str) -> str:
    package = f"duckdb_extension_{name}"
    spec = find_spec(package)
    folder = spec.submodule_search_locations if spec is not None else None
    found = [
        file
        for each in folder or ()
        for file in Path(each).glob(f"extensions/v{duckdb.__version__}/{name}.duckdb_extension")
    ]
    if not found:
        problem = (
            "is not installed" if spec is None else f"does not fit DuckDB {duckdb.__version__}"
        )
        raise WarehouseError(
            f"the warehouse is a lake, and the package {package.replace('_', '-')!r} {problem}: "
            + ADVICE.get(name, install_command("lake"))
        )
    return str(found[0])
