"""`scoreline tag`: name the last publication."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestration.cli.options import settings_option
from orchestration.cli.output import echo

if TYPE_CHECKING:
    from orchestration.config.load import Settings

MAX_CHARACTERS = 100


@click.command(
    "tag",
    epilog="""\b
Examples:
  scoreline tag v1.2
  scoreline compare --before v1.2
  scoreline tag v1.2 --force""",
)
@click.argument("name")
@click.option(
    "--force", is_flag=True, help="Move the tag from another publication, or replace another tag."
)
@settings_option
def command(name: str, force: bool, settings: Settings) -> None:  # noqa: FBT001
    """Name the last publication.

    A publication with a tag keeps its scores and answers, whatever `history` says in the
    configuration. `scoreline history` and the report show publications with their tags.
    """
    from assets.analysis.publications import list_publications
    from assets.publishing.report.write import write_report
    from orchestration import published
    from orchestration.errors import OrchestrationError
    from warehouse.publish.publications import tag_publication

    is_short = 0 < len(name) <= MAX_CHARACTERS
    if not is_short or not name.isprintable() or any(map(str.isspace, name)):
        raise click.UsageError(
            f"expected a tag of 1 to {MAX_CHARACTERS} characters without spaces, found {name!r}"
        )
    project = settings.project
    known = list_publications(published.open_copy(project))
    if not known:
        raise OrchestrationError(
            "no publication is recorded yet: `scoreline run` records them from now on"
        )
    last = known[0]
    other = next((each for each in known if each.tag == name), None)
    if other == last:
        echo(f"{name} is the tag of the last publication already")
        return
    if not force and other is not None:
        at = f"{other.published_at:%Y-%m-%d %H:%M:%S}"
        raise OrchestrationError(
            f"{name!r} is the tag of the publication of {at} UTC: --force moves it"
        )
    if not force and last.tag is not None:
        raise OrchestrationError(
            f"the last publication has the tag {last.tag!r}: --force replaces it"
        )
    tag_publication(project.open_warehouse(), project.publish, last.published_at, name)
    echo(f"tagged the publication of {last.published_at:%Y-%m-%d %H:%M:%S} UTC: {name}")
    # The pages of benchmarks show the tags of publications.
    write_report(project.open_copy(), project.publish)
