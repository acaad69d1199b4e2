"""Hooks of MkDocs: pages from outside `docs/`, notebooks with their outputs, and their links.

`mkdocs.yml` names this file. Links in the repository are relative paths, so that they work on
GitHub, too. In the site, a link to a file with a page goes to the page, others to the repository.
"""

from __future__ import annotations

import os.path
import shutil
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

from hatch_build import RELATIVE_LINK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

PLACED = {
    "README.md": "index.md",
    "docs/README.md": "pages.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "examples/handbook/README.md": "examples/handbook.md",
    "examples/live-rag/README.md": "examples/live-rag.md",
    "examples/team-dagster/README.md": "examples/team-dagster.md",
    "examples/compare-rag/compare_rag.ipynb": "examples/compare-rag.md",
}
"""Where files stand in the site that are outside `docs/`, or under another name there."""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages from outside `docs/`."""
    contents = files.get_file_from_path("README.md")
    if contents is not None:
        files.remove(contents)
    for path, place in PLACED.items():
        source = ROOT / path
        if source.suffix == ".ipynb":
            for name, content in convert_notebook(source, place):
                files.append(File.generated(config, name, content=content))
        else:
            files.append(File.generated(config, place, content=source.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Return a page with its links changed to those of the site."""
    return with_site_links(markdown, page.file.src_uri)


def on_post_page(output: str, **_: Any) -> str:
    """Return a page whose search dialog has a name for screen readers, which the theme omits."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)


def with_site_links(markdown: str, place: str) -> str:
    """Return the Markdown of a page with links that work in the site.

    Args:
        markdown: The page as it stands in the repository.
        place: Its place in the site, such as `examples/handbook.md`.
    """
    sources = {placed: path for path, placed in PLACED.items()}
    folder = Path(sources.get(place, f"docs/{place}")).parent

    def changed(link: Any) -> str:
        image, label, target = link.groups()
        path, hash_sign, heading = target.partition("#")
        source = os.path.normpath(folder / path)
        if not (ROOT / source).exists():  # left to the check of MkDocs
            return str(link.group())
        within = PLACED.get(source)
        if within is None and source.startswith("docs/") and source.endswith((".md", ".png")):
            within = source.removeprefix("docs/")
        if within is None:
            view = "blob" if (ROOT / source).is_file() else "tree"
            return f"{image}{label}({PROJECT['urls']['Repository']}/{view}/main/{source})"
        relative = os.path.relpath(within, Path(place).parent)
        return f"{image}{label}({relative}{hash_sign}{heading})"

    return RELATIVE_LINK.sub(changed, markdown)


def convert_notebook(notebook: Path, place: str) -> Iterator[tuple[str, str | bytes]]:
    """Run a notebook in a copy of its folder, and yield its page and pictures.

    Yields:
        The place in the site, and the content.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell fails.
    """
    import nbformat
    from nbconvert import MarkdownExporter
    from nbconvert.preprocessors import ExecutePreprocessor

    with TemporaryDirectory() as scratch:
        folder = shutil.copytree(notebook.parent, Path(scratch) / "notebook")
        cells = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
        running: Any = ExecutePreprocessor(timeout=300)
        cells, _ = running.preprocess(cells, {"metadata": {"path": str(folder)}})
    exporting: Any = MarkdownExporter()
    names = {"output_files_dir": Path(place).stem}
    text, resources = exporting.from_notebook_node(cells, resources=names)
    yield place, text
    for name, content in resources["outputs"].items():
        yield (Path(place).parent / name).as_posix(), content
