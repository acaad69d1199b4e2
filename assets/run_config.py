"""The run configuration that the assets share."""

import dagster as dg


class RunChoices(dg.Config):
    """What a run is narrowed to.

    Attributes:
        systems: The systems; empty: all.
        look_in: The benchmarks in one of which each of the systems must occur; null: those of the
            run. The command gives all its benchmarks to the last of several runs.
        force: Whether to do again what is up to date.
    """

    systems: list[str] = []  # noqa: RUF012 - Dagster copies the default for each run
    look_in: list[str] | None = None
    force: bool = False
