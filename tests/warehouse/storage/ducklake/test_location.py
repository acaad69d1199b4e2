"""Where a lake is: a password is refused in every form, and what is added changes nothing else."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from warehouse.errors import WarehouseError
from warehouse.storage.location import POSTGRES, Lake, parse_catalog


@pytest.mark.parametrize(
    "catalog",
    [
        "dbname=d password=hidden",
        "dbname=d PassWord = hidden",
        "dbname=d sslpassword=hidden",
        "postgresql://u:hidden@db/d",
        "postgresql://u@db/d?password=hidden",
        "postgresql://u@db/d?sslmode=require&sslpassword=hidden",
        "postgresql://u@db/d?Password=hidden",
        "postgresql://u@db/d?password=",
    ],
)
def test_a_password_is_refused_and_not_repeated(catalog: str) -> None:
    with pytest.raises(WarehouseError, match="this file must not hold a password") as refused:
        parse_catalog(POSTGRES + catalog)
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    "catalog",
    ["dbname=d user=password", "postgresql://password@db/password?sslmode=require"],
)
def test_the_word_may_stand_elsewhere(catalog: str) -> None:
    assert parse_catalog(POSTGRES + catalog) == catalog


def test_the_name_of_the_process_is_not_taken_for_a_user() -> None:
    """The first @ of an address without a folder would end the user, so it is written otherwise."""
    said = Lake("postgresql://db.example.org?dbname=d&connect_timeout=3", "data", Path()).connection
    assert "@" not in said
    given = parse_qs(urlsplit(said).query)
    assert (given["dbname"], given["connect_timeout"]) == (["d"], ["3"])
    assert given["application_name"][0].startswith("scoreline-")


@pytest.mark.parametrize(
    "catalog", ["dbname=d keepalives_idle=60", "postgresql://u@db/d?keepalives_idle=60"]
)
def test_timeouts_are_added_where_none_are_given(catalog: str) -> None:
    said = Lake(catalog, "data", Path()).connection
    assert said.count("keepalives_idle=") == 1
    for each in ("keepalives_idle=60", "connect_timeout=10", "tcp_user_timeout=10000"):
        assert each in said
