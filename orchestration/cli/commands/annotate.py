"""`scoreline annotate`: label answers in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from orchestration.cli.options import address_options, require_known, settings_option

if TYPE_CHECKING:
    from orchestration.config.load import Settings
    from orchestration.webserver.annotate.app import Annotation
    from orchestration.webserver.annotate.publisher import Publisher


@click.command(
    "annotate",
    epilog="""\b
Examples:
  scoreline annotate
  scoreline annotate --benchmark support --metric faithfulness
  scoreline annotate --order random --port 3001""",
)
@click.option("--benchmark", metavar="NAME", help="Only this benchmark.")
@click.option("--metric", metavar="NAME", help="Only this metric, such as `faithfulness`.")
@click.option(
    "--order",
    type=click.Choice(["mixed", "random"]),
    default="mixed",
    show_default=True,
    help="Random samples and uncertain verdicts in turn, or random samples only.",
)
@click.option("--show-verdicts", is_flag=True, help="Show system, verdict and evidence.")
@address_options
@settings_option
def command(
    benchmark: str | None,
    metric: str | None,
    order: Literal["mixed", "random"],
    host: str,
    port: int | None,
    names: tuple[str, ...],
    settings: Settings,
    *,
    show_verdicts: bool,
) -> None:
    """Label published answers in a browser, to calibrate evaluators.

    The first line is the address, with a secret that browsers need. Each label is saved at once
    and published within seconds. Several people may label at the same time. System and verdict are
    hidden. Stop it with Ctrl-C.
    """
    import secrets

    from orchestration.published import open_copy
    from orchestration.webserver.address import choose_address
    from orchestration.webserver.annotate.app import Annotation
    from orchestration.webserver.annotate.serve import find_metrics, serve

    project = settings.project
    benchmarks = list(project.benchmarks)
    if benchmark is not None:
        benchmarks = list(require_known("benchmark", (benchmark,), benchmarks))
    copy = open_copy(project)
    metrics = find_metrics(project, benchmarks, metric, order)
    address = choose_address(host, port)

    def annotation_of(publisher: Publisher) -> Annotation:
        return Annotation(
            metrics=metrics,
            copy=copy,
            publisher=publisher,
            is_blind=not show_verdicts,
            token=secrets.token_urlsafe(24),
            cookie=f"scoreline-annotate-{address.port}",
            csrf=secrets.token_urlsafe(24),
        )

    serve(annotation_of, project, address, address.allowed_hosts(names))
