"""What `dg scaffold defs scoreline.dagster.ScorelineProject` writes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster.components.component_scaffolding import scaffold_component
from pydantic import BaseModel, Field

from orchestration.starter import write_starter

if TYPE_CHECKING:
    from dagster.components.scaffold.scaffold import ScaffoldRequest

FILE = "scoreline.yaml"

_PYTHON = """\
import dagster as dg
from scoreline.dagster import ScorelineProject


@dg.component_instance
def load(context: dg.ComponentLoadContext) -> ScorelineProject:
    return ScorelineProject({arguments})
"""


class ProjectParams(BaseModel):
    """The options of the command."""

    config: str | None = Field(
        default=None,
        description="The configuration file, from the root of the project. Unless given, that in "
        "the root, or else a new one with a small example.",
    )
    key_prefix: str | None = Field(
        default=None, description="The beginning of all asset keys and of the names of jobs."
    )
    group_prefix: str | None = Field(default=None, description="The beginning of all asset groups.")


class ProjectScaffolder(dg.Scaffolder[ProjectParams]):
    """Writes the component of a project, and a project where there is none."""

    @classmethod
    def get_scaffold_params(cls) -> type[ProjectParams]:
        """Return the options of the command."""
        return ProjectParams

    def scaffold(self, request: ScaffoldRequest[ProjectParams]) -> None:
        """Write the component.

        Raises:
            ValueError: The configuration file that the command names does not exist.
        """
        given = {
            "config": _config(request),
            "key_prefix": request.params.key_prefix,
            "group_prefix": request.params.group_prefix,
        }
        attributes = {name: value for name, value in given.items() if value is not None}
        if request.scaffold_format == "python":
            _write_python(request, attributes)
        else:
            scaffold_component(request, attributes)


def _config(request: ScaffoldRequest[ProjectParams]) -> str:
    """Return the attribute that names the configuration file, which is written if need be."""
    root = (request.project_root or Path.cwd()).absolute()
    if request.params.config is not None:
        file = root / Path(request.params.config).expanduser()
        if not file.is_file():
            raise ValueError(f"the configuration file {str(file)!r} does not exist")
    elif (_folder(request) / FILE).is_file():
        return FILE
    elif (root / FILE).is_file():
        file = root / FILE
    else:
        write_starter(_folder(request))
        return FILE
    if request.scaffold_format == "yaml" and file.is_relative_to(root):
        return f"{{{{ project_root }}}}/{file.relative_to(root).as_posix()}"
    return os.path.relpath(file, _folder(request)) if file.is_relative_to(root) else str(file)


def _folder(request: ScaffoldRequest[ProjectParams]) -> Path:
    """Return the folder of the component; with `append`, the target is its file."""
    return request.target_path.parent if request.append else request.target_path


def _write_python(request: ScaffoldRequest[ProjectParams], attributes: dict[str, Any]) -> None:
    arguments = ", ".join(f"{name}={value!r}" for name, value in attributes.items())
    file = request.target_path / "component.py"
    file.write_text(_PYTHON.format(arguments=arguments), encoding="utf-8")
