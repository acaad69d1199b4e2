"""The longer queries, one statement a file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from warehouse.errors import WarehouseError, suggest_name


@cache
def sql(name: str) -> str:
    """The text of the statement `<name>.sql` in this folder.

    Raises:
        WarehouseError: There is no such statement.
    """
    folder = files(__name__)
    known = {each.name.removesuffix(".sql") for each in folder.iterdir() if ".sql" in each.name}
    if name not in known:
        raise WarehouseError(f"there is no statement {name!r}{suggest_name(name, known)}")
    return (folder / f"{name}.sql").read_text(encoding="utf-8")
