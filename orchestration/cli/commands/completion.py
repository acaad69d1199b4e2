"""`scoreline completion`: the script that completes commands and options in a shell."""

from __future__ import annotations

import click


@click.command(
    "completion",
    epilog="""\b
Examples:
  eval "$(scoreline completion bash)"       # in ~/.bashrc
  eval "$(scoreline completion zsh)"        # in ~/.zshrc
  scoreline completion fish > ~/.config/fish/completions/scoreline.fish""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the script that completes commands and options in a shell."""
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    complete = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    program = context.find_root().command
    click.echo(complete(program, {}, "scoreline", "_SCORELINE_COMPLETE").source())
