"""Files that killed processes and earlier versions left in the folders of a project."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from assets.fingerprints.report_files import FOLDER
from warehouse.storage.file_system import cache_folder
from warehouse.storage.scratch import orphans, remove_orphans

if TYPE_CHECKING:
    from assets.project import Project


def temporary_places(project: Project) -> list[Path]:
    """Return the folders in which Scoreline creates temporary files for a project."""
    places = [project.warehouse.parent, project.publish, project.publish / FOLDER]
    with suppress(RuntimeError):  # the user has no home directory
        places.append(cache_folder())
    return [*places, Path(gettempdir())]


def find_leftovers(project: Project) -> list[Path]:
    """Return the temporary folders whose process is dead; change nothing."""
    return [each for place in temporary_places(project) for each in orphans(place)]


def remove_leftovers(project: Project) -> None:
    """Remove the temporary folders whose process is dead."""
    for place in temporary_places(project):
        remove_orphans(place)
    # Earlier versions wrote the answers of systems as files of predictions.
    answers = project.warehouse.parent / f"{project.warehouse.name}.answers"
    shutil.rmtree(answers, ignore_errors=True)
