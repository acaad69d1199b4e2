"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestration.cli.program import debug_option

if TYPE_CHECKING:
    from orchestration.config.load import Settings

__all__ = ["benchmark_option", "config_option", "debug_option", "format_option", "known", "load"]

MOST_NAMED = 12
"""The names that a message lists when none is near the one that was given."""

config_option = click.option(
    "--config",
    "config",
    type=click.Path(path_type=Path),
    default=Path("scoreline.yaml"),
    show_default=True,
    metavar="FILE",
    help="The configuration file.",
)
format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "md"]),
    default="table",
    show_default=True,
    help="The form of the output.",
)
benchmark_option = click.option(
    "--benchmark", "benchmarks", multiple=True, metavar="NAME", help="Only this; may be repeated."
)


def load(config: Path) -> Settings:
    """Reads the configuration; pydantic and the catalogue are imported only now."""
    from orchestration.config import load

    return load.read(config)


def debugging() -> bool:
    """Whether `--debug` was given to this command or to the program."""
    return bool(click.get_current_context().meta.get("scoreline.debug"))


def known(what: str, wanted: tuple[str, ...], options: list[str]) -> tuple[str, ...]:
    """Returns `wanted` without repetitions.

    Args:
        what: What the names name, for the message.
        wanted: The names that the user gave.
        options: The names that exist.

    Raises:
        UnknownName: One of them does not exist; a near name is suggested.
    """
    from evaluators.errors import nearest
    from orchestration.errors import UnknownName

    for name in wanted:
        if name not in options:
            names = ", ".join(repr(option) for option in options[:MOST_NAMED]) or "none"
            if len(options) > MOST_NAMED:
                names += f" and {len(options) - MOST_NAMED} more"
            hint = nearest(name, options) or f"; known: {names}"
            raise UnknownName(f"there is no {what} {name!r}{hint}")
    return tuple(dict.fromkeys(wanted))
