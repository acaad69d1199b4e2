"""The longer queries, one statement in each file."""

from functools import cache
from importlib.resources import files


@cache
def sql(name: str) -> str:
    """Return the statement `<name>.sql` of this folder."""
    return (files(__name__) / f"{name}.sql").read_text(encoding="utf-8")
