"""The longer queries, one statement in each file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from warehouse.errors import WarehouseError, suggest_name


@cache
def sql(name: str) -> str:
    """Return the statement `<name>.sql` of this folder.

    Raises:
        WarehouseError: The statement does not exist.
    """
    folder = files(__name__)
    known = {each.name.removesuffix(".sql") for each in folder.iterdir() if ".sql" in each.name}
    if name not in known:
        raise WarehouseError(f"there is no statement {name!r}{suggest_name(name, known)}")
    return (folder / f"{name}.sql").read_text(encoding="utf-8")
