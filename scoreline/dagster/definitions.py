"""`build_defs`: the definitions of a project, for a team's own code location."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assets.project import Namespace
from orchestration.config.load import load_config
from orchestration.definitions import build_definitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import dagster as dg

_IDENTIFIER = re.compile(r"[A-Za-z0-9_]+")


def build_defs(
    config: str | Path,
    key_prefix: str | Sequence[str] | None = None,
    group_prefix: str | None = None,
) -> dg.Definitions:
    """Return the definitions of a project, to be merged into those of a code location.

        defs = dg.Definitions.merge(team_defs, build_defs("scoreline.yaml", key_prefix="quality"))

    They are the assets with their partitions and checks, a job, a schedule, sensors and resources.
    Runs need no environment variable, no working directory and no preparation of the instance.

    Args:
        config: The configuration file. A relative path starts at the folder of the calling file or,
            if there is no such file, at the current folder.
        key_prefix: The first part or parts of all asset keys, such as `quality` or `rag/quality`.
            The names of jobs, schedules, sensors, resources and steps begin with them, too, so
            that several projects and a team's own definitions fit into one code location.
        group_prefix: The beginning of the names of the asset groups.

    Raises:
        SettingsNotFound: There is no such file.
        SettingsError: The file has faults; the error lists all of them with their lines.
        ValueError: A prefix has characters that Dagster does not allow in names.
    """
    file = _locate(Path(config), Path(sys._getframe(1).f_code.co_filename))  # noqa: SLF001
    namespace = Namespace(
        key_prefix=_parts(key_prefix), group_prefix=_group(group_prefix), is_shared=True
    )
    return build_definitions(replace(load_config(file).project, namespace=namespace))


def _locate(config: Path, caller: Path) -> Path:
    config = config.expanduser()
    beside = caller.parent / config
    return beside if beside.is_file() else config


def _parts(key_prefix: str | Sequence[str] | None) -> tuple[str, ...]:
    given = key_prefix or ()
    parts = tuple(given.split("/") if isinstance(given, str) else given)
    for part in parts:
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", part):
            raise ValueError(
                f"key_prefix {key_prefix!r}: a part is {part!r}, expected letters, digits, `_`, "
                "`-` or `.`"
            )
    return parts


def _group(group_prefix: str | None) -> str | None:
    if group_prefix is not None and not _IDENTIFIER.fullmatch(group_prefix):
        raise ValueError(f"group_prefix {group_prefix!r}: expected letters, digits or `_`")
    return group_prefix
