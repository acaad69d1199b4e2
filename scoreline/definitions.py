"""The Dagster definitions, for everything that loads a code location by its module name."""

from orchestration.definitions import defs

__all__ = ["defs"]
