"""The `scoreline` program: loads commands, and turns errors into messages and exit codes."""

from __future__ import annotations

import importlib
import math
import os
import pkgutil
import signal
import sys
import traceback
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NoReturn

import click

from orchestration import interrupts
from orchestration.cli import commands
from orchestration.cli.closed_pipes import ReaderGone
from orchestration.cli.output import echo
from orchestration.errors import Cancelled, ChecksFailed, OrchestrationError, describe_resource
from orchestration.runs.log_lines import escape_log_lines
from warehouse.foreign_text import show_hidden

if TYPE_CHECKING:
    from types import ModuleType

FAILED_CHECK, BAD_INPUT = 1, 2

CONFIG = "scoreline.config"
"""The key of the configuration file among what commands of one call share."""


class Program(click.Group):
    """A group whose commands are the modules of `orchestration.cli.commands`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all commands in the order of `--help`.

        A command module may set `HELP_ORDER`; the others follow in alphabetical order.
        """
        names = [module.name for module in pkgutil.iter_modules(commands.__path__)]
        order = {name: getattr(_import_command(name), "HELP_ORDER", math.inf) for name in names}
        return sorted(names, key=lambda name: (order[name], name))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the module of a command and return the command."""
        if cmd_name not in {module.name for module in pkgutil.iter_modules(commands.__path__)}:
            return None
        command: click.Command = _import_command(cmd_name).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; suggest a similar name for an unknown one."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from records.similar_names import did_you_mean

            hint = did_you_mean(name, self.list_commands(ctx))
            ctx.fail(f"there is no command {name!r}{hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn any exception into a message and an exit code."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except click.ClickException as error:
            vars(error)["message"] = show_hidden(error.message)
            raise
        except click.exceptions.Exit:
            raise
        except (KeyboardInterrupt, click.Abort) as error:
            self._end_cancelled(ctx, error)
        except ReaderGone:
            ctx.exit(0)
        except Exception as error:  # noqa: BLE001 - the outermost frame
            if ctx.meta.get("scoreline.debug"):
                echo("".join(traceback.format_exception(error)).rstrip("\n"), err=True)
            if interrupts.received_signal() is not None:
                # Libraries turn the interruption into errors of their own.
                self._end_cancelled(ctx, error)
            if not ctx.meta.get("scoreline.debug"):
                echo(f"error: {describe_error(error)}", err=True)
            if os.environ.get("GITHUB_ACTIONS"):
                from orchestration.cli.continuous_integration import annotate, places_of

                found = places_of(error, describe_error(error), ctx.meta.get(CONFIG))
                annotate("error", found)
            ctx.exit(FAILED_CHECK if isinstance(error, ChecksFailed) else BAD_INPUT)
        return result

    def _end_cancelled(self, ctx: click.Context, error: BaseException) -> NoReturn:
        """Say what was cancelled, and exit with the code of the signal."""
        number = interrupts.received_signal() or signal.SIGINT
        cause = "Ctrl-C" if number == signal.SIGINT else number.name
        detail = f": {error}" if isinstance(error, Cancelled) else ""
        echo(f"cancelled by {cause}{detail}", err=True)
        if interrupts.received_signal() is not None:
            interrupts.kill_workers()
        ctx.exit(interrupts.exit_code(number))


def describe_error(error: Exception) -> str:
    """Return the message for an exception that ended a command."""
    from calls.errors import CallsError
    from evaluators.errors import EvaluatorError
    from records.packages import MissingPackage
    from warehouse.errors import WarehouseError

    known = CallsError | OrchestrationError | EvaluatorError | MissingPackage | WarehouseError
    if isinstance(error, known):
        return str(error)
    lacking = describe_resource(error)
    if lacking is not None:
        return lacking
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.strerror}: {error.filename!r}"
    return (
        f"{type(error).__name__}: {error}\n"
        "This is a bug. Run the command with --debug to see the traceback."
    )


def _import_command(name: str) -> ModuleType:
    return importlib.import_module(f"{commands.__name__}.{name}")


def enable_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001
    """Enable tracebacks and logs; `--debug` may come before or after the command."""
    if value:
        ctx.meta["scoreline.debug"] = True


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    callback=enable_debug,
    help="Show tracebacks and logs.",
)


@click.group(
    cls=Program,
    epilog="Start with `scoreline init demo`, then `cd demo` and `scoreline run`.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(version("scoreline"), prog_name="scoreline")
@debug_option
def program() -> None:
    """Evaluate RAG systems and LLMs, and publish leaderboards you can trust.

    A project is a folder with a scoreline.yaml. `run` reads questions and predictions, scores
    them metric by metric, and publishes leaderboards; the other commands show and export them.
    """
    escape_log_lines()
