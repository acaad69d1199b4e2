"""Libraries: releases that may change the numbers are part of a signature."""

from __future__ import annotations

from importlib.metadata import version

from evaluators.catalog import build, catalogue


def test_the_installed_release_is_in_the_signature() -> None:
    assert f"|nltk=={version('nltk')}|" in build("rouge").signature


def test_every_library_is_installed_with_the_distribution() -> None:
    for cls in catalogue().values():
        assert all(version(name) for name in cls.libraries), cls.name
