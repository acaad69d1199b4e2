"""Options that several commands share, and the validation of the names they take."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from orchestration.cli.program import CONFIG, debug_option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assets.project import Project
    from orchestration.runs import RunOptions
    from warehouse.publish.snapshot import OpenSnapshot

Command = TypeVar("Command", bound="Callable[..., None]")

METRIC_NAMES = ("evaluator || '.' || metric", "metric", "evaluator")
"""The SQL of the names by which metrics can be given."""

MAX_NAMES = 12
"""How many names an error message lists when none is similar to the given one."""


def _share_config(context: click.Context, _: click.Parameter, config: Path) -> Path:
    """Note the configuration file, which annotations name."""
    context.meta[CONFIG] = config
    return config


config_option = click.option(
    "--config",
    "config",
    callback=_share_config,
    type=click.Path(path_type=Path),
    default=Path("scoreline.yaml"),
    show_default=True,
    metavar="FILE",
    help="The configuration file.",
)
format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "csv", "json", "md"]),
    default="table",
    show_default=True,
    help="The output format.",
)


def names_option(name: str, help_text: str) -> Callable[[Command], Command]:
    """Return an option that may be repeated; the command takes its names as a tuple."""
    return click.option(f"--{name}", f"{name}s", multiple=True, metavar="NAME", help=help_text)


benchmark_option = names_option("benchmark", "Only this benchmark; may be repeated.")
system_option = names_option("system", "Only this system; may be repeated.")
evaluator_option = names_option("evaluator", "Only this evaluator or family; may be repeated.")
no_judge_option = click.option(
    "--no-judge", is_flag=True, help="Call no judge model; use the stored replies."
)


one_benchmark_option = click.option(
    "--benchmark", metavar="NAME", help="The benchmark; may be left out where there is one."
)


def require_benchmark(project: Project, name: str | None) -> str:
    """Return the name of a benchmark that exists; without a name, that of the only one.

    Raises:
        UnknownName: There is no such benchmark.
        click.UsageError: No name is given, and there are several.
    """
    known = list(project.benchmarks)
    if name is not None:
        return require_known("benchmark", (name,), known)[0]
    known = list(project.default_benchmarks) or known
    if len(known) != 1:
        listed = ", ".join(known[:MAX_NAMES]) + (" and others" if len(known) > MAX_NAMES else "")
        raise click.UsageError(f"expected --benchmark, one of {listed}")
    return known[0]


def address_options(command: Command) -> Command:
    """Add `--host`, `--port` and `--allow-host`; the command takes the last as `names`."""
    host = click.option(
        "--host", default="127.0.0.1", show_default=True, help="The address to listen on."
    )
    port = click.option(
        "--port",
        type=click.IntRange(1, 65535),
        help="The port.  [default: 3000, or the next free one]",
    )
    allow_host = click.option(
        "--allow-host",
        "names",
        multiple=True,
        metavar="NAME",
        help="A further name under which browsers may open it; may be repeated.",
    )
    return host(port(allow_host(command)))


def settings_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--config` and `--debug` to a command, which then takes the `settings` of the file."""

    @config_option
    @debug_option
    @wraps(command)
    def with_settings(config: Path, **arguments: Any) -> None:
        from orchestration.config import load

        command(settings=load.load_config(config), **arguments)

    return with_settings


def copy_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--config` and `--debug` to a command, which then takes the published `copy`."""

    @config_option
    @debug_option
    @wraps(command)
    def with_copy(config: Path, **arguments: Any) -> None:
        from orchestration.config import published_copy

        command(copy=published_copy.find_copy(config), **arguments)

    return with_copy


def require_known(what: str, names: tuple[str, ...], known: list[str]) -> tuple[str, ...]:
    """Return `names` without repetitions.

    Args:
        what: The kind of thing that the names refer to, for the error message.
        names: The names that the user gave.
        known: The names that exist.

    Raises:
        UnknownName: One of them does not exist; the message suggests a similar name.
    """
    from orchestration.errors import UnknownName
    from records.similar_names import did_you_mean
    from warehouse.errors import suggest_twin

    for name in names:
        if name not in known:
            listed = ", ".join(repr(option) for option in known[:MAX_NAMES]) or "none"
            if len(known) > MAX_NAMES:
                listed += f" and {len(known) - MAX_NAMES} more"
            hint = suggest_twin(name, known) or did_you_mean(name, known)
            hint = hint or f"; known: {listed}"
            raise UnknownName(f"there is no {what} {name!r}{hint}")
    return tuple(dict.fromkeys(names))


def rows_named(
    copy: OpenSnapshot,
    table: str,
    what: str,
    names: tuple[str, ...],
    columns: Sequence[str] = (),
) -> str:
    """Return the SQL condition for the rows that the user named; all rows without names.

    Args:
        copy: The published copy.
        table: The table whose rows have names.
        what: The kind of thing that the names refer to, for the error message.
        names: The names that the user gave.
        columns: The SQL of the names of a row; by default the column `what`.

    Raises:
        UnknownName: A name is not in the table; the message suggests a similar one.
    """
    from orchestration.published import among

    if not names:
        return "true"
    columns = columns or (what,)
    known = copy.fetch_rows(
        f"SELECT DISTINCT unnest([{', '.join(columns)}]) AS name FROM {table} ORDER BY name"  # noqa: S608
    )
    wanted = require_known(what, names, [row["name"] for row in known])
    return f"({' OR '.join(among(column, wanted) for column in columns)})"


def run_options(
    project: Project,
    benchmarks: tuple[str, ...],
    systems: tuple[str, ...],
    evaluators: tuple[str, ...],
    *,
    no_judge: bool = False,
    force: bool = False,
    retry: bool = False,
) -> RunOptions:
    """Validate the names that limit a run.

    Raises:
        UnknownName: There is no such benchmark, system or evaluator in the project.
    """
    from assets.project import expand_systems
    from orchestration.runs import RunOptions

    benchmarks = benchmarks or project.default_benchmarks
    systems = expand_systems(systems, project.members, _asked(project, benchmarks))
    return RunOptions(
        benchmarks=require_known("benchmark", benchmarks, list(project.benchmarks)),
        systems=_require_systems(project, benchmarks, systems),
        evaluators=_resolve_evaluators(project, evaluators),
        judge=not no_judge,
        force=force,
        retry=retry,
    )


def _asked(project: Project, benchmarks: tuple[str, ...]) -> set[str]:
    """Return the systems that benchmarks ask; those of unknown ones are none."""
    names = [name for name in benchmarks or project.benchmarks if name in project.benchmarks]
    return {system for name in names for system in project.benchmarks[name].systems}


def _require_systems(
    project: Project, benchmarks: tuple[str, ...], names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the names of the systems without repetitions.

    Systems that are named inside files are unknown until the files are read; the run checks them
    then.

    Raises:
        UnknownName: All systems are named by file paths, and one of the names is not among them.
    """
    from assets.fingerprints.input_files import named_systems

    if not names:
        return ()
    known: set[str] = set()
    for benchmark in benchmarks or project.benchmarks:
        systems = named_systems(project.benchmarks[benchmark])
        if systems is None:
            return tuple(dict.fromkeys(names))
        known |= set(systems)
    return require_known("system", names, sorted(known))


def _resolve_evaluators(project: Project, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the evaluators of the project that the names of evaluators and families stand for."""
    from evaluators import catalog

    used = {e.name for benchmark in project.benchmarks.values() for e in benchmark.evaluators}
    resolved: dict[str, None] = {}
    for name in names:
        chosen = [evaluator for evaluator in catalog.select([name]) if evaluator in used]
        if not chosen:
            require_known("used evaluator", (name,), sorted(used))
        resolved.update(dict.fromkeys(chosen))
    return tuple(resolved)
