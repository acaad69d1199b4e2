"""The `scoreline` program: finds its commands, and turns errors into messages and exit codes."""

from __future__ import annotations

import errno
import importlib
import os
import pkgutil
import sys
import traceback
from importlib.metadata import version
from typing import Any

import click

from orchestration.cli import commands
from orchestration.errors import ChecksFailed, OrchestrationError

# The order of a project's life; commands that are not named here follow in alphabetical order.
ORDER = ("init", "run", "plan", "leaderboard", "compare", "gate", "sql", "evaluators")
FAILED_CHECK, BAD_INPUT, INTERRUPTED = 1, 2, 130


class Program(click.Group):
    """A group whose commands are the modules of `orchestration.cli.commands`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names of all commands in the order in which help shows them."""
        found = sorted(module.name for module in pkgutil.iter_modules(commands.__path__))
        return [name for name in ORDER if name in found] + [n for n in found if n not in ORDER]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; its module is imported only now."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{commands.__name__}.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command; an unknown one is answered with a near name."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            import difflib

            close = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            ctx.fail(f"there is no command {name!r}{hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; whatever it raises ends as a message and an exit code."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except (click.ClickException, click.exceptions.Exit):
            raise
        except (KeyboardInterrupt, click.Abort):
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            # The reader has seen enough. What is still buffered must not raise again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except Exception as error:  # noqa: BLE001 - the outermost frame: here the program ends
            if ctx.meta.get("scoreline.debug"):
                traceback.print_exception(error)
            else:
                click.echo(f"error: {describe(error)}", err=True)
            ctx.exit(FAILED_CHECK if isinstance(error, ChecksFailed) else BAD_INPUT)
        return result


def describe(error: Exception) -> str:
    """What the user is told about an error that ended a command."""
    from evaluators.errors import EvaluatorError
    from warehouse.errors import WarehouseError

    if isinstance(error, OrchestrationError | EvaluatorError | WarehouseError):
        return str(error)
    if _is_full_disk(error):
        return (
            "the disk is full or fails: what was done until now is kept; make room and run again "
            f"({str(error).splitlines()[0]})"
        )
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.strerror}: {error.filename!r}"
    return (
        f"{type(error).__name__}: {error}\n"
        "This should not happen. With --debug the whole traceback is shown."
    )


def _is_full_disk(error: Exception) -> bool:
    """Whether there was no room left, as Python, Polars or SQLite (which Dagster uses) say it."""
    said = (os.strerror(errno.ENOSPC), "database or disk is full", "disk I/O error")
    return any(each in str(error) for each in said)


def show_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001
    """Remembers that tracebacks and logs are wanted, wherever `--debug` stood."""
    if value:
        ctx.meta["scoreline.debug"] = True


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=show_debug,
    help="Show tracebacks and logs.",
)


@click.group(
    cls=Program,
    epilog="Begin with `scoreline init demo`, then `cd demo` and `scoreline run`.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(version("scoreline"), prog_name="scoreline")
@debug_option
def program() -> None:
    """Turn the answers of RAG and LLM systems into leaderboards that can be trusted.

    A project is a folder with a scoreline.yaml. `run` reads questions and predictions, scores
    them metric by metric, and publishes leaderboards; the other commands look at what came of it.
    """
