"""The project that `scoreline init` writes; `files/` holds its files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from orchestration.errors import OrchestrationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orchestration.starter.tools import Starter

SOURCE = Path(__file__).with_name("files")

IGNORED: Final = SOURCE / "gitignore"
"""The `.gitignore`, by a name on which git does not act here."""

OWN: Final = "canonical"
"""The format of the starter project without `--format`."""

CONFIGURATION: Final = """\
# The configuration of the project. `scoreline doctor` checks it; unknown keys are errors.
# Paths are relative to this file. To use your own files, replace these, or change the paths.

benchmarks:
  harbour:
    format: {name}
"""


class FilesExist(OrchestrationError):  # noqa: N818
    """Files of the starter project already exist."""


def starters() -> Mapping[str, Callable[[], Starter]]:
    """Return what makes the starter of each format, but for that of Scoreline's own."""
    from orchestration.starter import sources, tools, traces

    return {
        "beir": sources.beir,
        "deepeval": tools.deepeval,
        "document-grounded-qa": sources.document_grounded_qa,
        "eval-studio": sources.eval_studio,
        "huggingface": sources.huggingface,
        "inspect": tools.inspect,
        "langfuse": traces.langfuse,
        "lm-eval": tools.lm_eval,
        "mlflow": traces.mlflow,
        "openinference": traces.openinference,
        "phoenix-experiment": traces.phoenix_experiment,
        "promptfoo": tools.promptfoo,
        "ragas": tools.ragas,
        "rgb": sources.rgb,
        "trace": sources.trace,
        "trec": sources.trec,
    }


def write_starter(folder: Path, input_format: str = OWN) -> list[Path]:
    """Write the starter project into a folder, which is created if necessary.

    Args:
        folder: The folder.
        input_format: The format of its files: `canonical`, or one of `starters`.

    Returns:
        The files that were written: a `.gitignore` only where there is none.

    Raises:
        UnknownFormat: There is no such format; the message suggests a similar name.
        FilesExist: Some of the other files exist; then none is written.
        OSError: The folder is not writable.
    """
    files = {folder / path: content for path, content in _contents(input_format).items()}
    ignoring = folder / ".gitignore"
    if not (ignoring.exists() or ignoring.is_symlink()):
        files[ignoring] = IGNORED.read_bytes()
    existing = [str(path) for path in files if path.exists()]
    if existing:
        raise FilesExist(
            f"{', '.join(existing)}: already exists and is not overwritten; choose another folder"
        )
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return list(files)


def ignore_note(folder: Path) -> str | None:
    """Return a note on what a `.gitignore` that existed leaves to git; null for nothing.

    Raises:
        OSError: The file is not readable.
    """
    file = folder / ".gitignore"
    lines = {each.strip().strip("/") for each in file.read_text("utf-8", "replace").splitlines()}
    wanted = [".scoreline/", "published/", ".env"]
    missing = [each for each in wanted if lines.isdisjoint(_forms(each.strip("/")))]
    if not missing:
        return None
    named = " and ".join(filter(None, [", ".join(missing[:-1]), missing[-1]]))
    is_one = len(missing) == 1
    return (
        f"{file} does not ignore {named}, so git may add keys, replies or results: add "
        f"{'this line' if is_one else 'these lines'} to it"
    )


def _forms(name: str) -> set[str]:
    """Return the patterns that ignore a file or folder, without slashes at their ends."""
    return {
        name,
        f"**/{name}",
        f"{name}/**",
        f"{name}/*",
        f"{name}*",
        ".*" if name[0] == "." else name,
    }


def _contents(input_format: str) -> dict[Path, bytes]:
    """Return the contents of the files by path."""
    if input_format == OWN:
        sources = [each for each in sorted(SOURCE.rglob("*")) if each.is_file()]
        return {each.relative_to(SOURCE): each.read_bytes() for each in sources if each != IGNORED}
    made = starters()
    if input_format not in made:
        from warehouse.errors import UnknownFormat
        from warehouse.formats.catalog import suggest_format

        hint = suggest_format(input_format, [OWN, *made])
        raise UnknownFormat(f"there is no starter for the format {input_format!r}{hint}")
    starter = made[input_format]()
    keys = "".join(f"    {line}\n" for line in starter.keys.splitlines())
    configuration = CONFIGURATION.format(name=input_format) + keys
    files = {**starter.files, "scoreline.yaml": configuration}
    return {
        Path(path): text.encode() if isinstance(text, str) else text for path, text in files.items()
    }
