"""Expands path patterns and extracts the systems named by the paths."""

from __future__ import annotations

import glob
import os
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from calls.file_system import special_file
from warehouse.errors import InputError, Problem, suggest_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONGEST_NAME: Final = 200
_SYSTEM: Final = "{system}"
_ALTERNATIVES: Final = r"\{[^{}/]*,[^{}/]*\}"
_REFUSED: Final = {"Cc": "a control character", "Zl": "a line break", "Zp": "a line break"}


def expand(pattern: str | Path, *, folders: bool = False) -> list[tuple[Path, str | None]]:
    """Return the files that match a pattern.

    Args:
        pattern: A path in which `*` matches anything but a slash, `**` any folders, and `{system}`
            the name of a system (anything but a slash; the same name at each occurrence). Of
            alternatives such as `{en,en_int}`, the longest that matches counts. The folders at its
            beginning that exist are meant as they are, whatever their names.
        folders: Whether to return folders instead of files.

    Returns:
        The files with the systems named by their paths (null without `{system}`), sorted.

    Raises:
        InputError: No file matches (suggests similar names), a FIFO, socket or device does, the
            name of a file is not UTF-8, or the name of a system is not valid.
    """
    text = str(pattern)
    is_wanted = Path.is_dir if folders else Path.is_file
    if _SYSTEM not in text and is_wanted(Path(text)):
        require_utf8([Path(text)])
        return [(Path(text), None)]
    root = next((each for each in Path(text).parents if each.is_dir()), Path())
    rest = str(Path(text).relative_to(root))
    names = re.compile(_expression(rest))
    parts = re.sub(_ALTERNATIVES, _SYSTEM, rest).split(_SYSTEM)
    wanted = "*".join(glob.escape(part) for part in parts)
    wanted = re.sub(r"\[([*?])\]", r"\1", wanted)
    matches = []
    for each in sorted(
        glob.glob(wanted, root_dir=root, recursive=True, include_hidden=True)  # noqa: PTH207
    ):
        match = names.fullmatch(each)
        if match is None:
            continue
        kind = special_file(root / each)
        # A pattern may match folders that are not meant, but no program leaves a FIFO by chance.
        if (
            kind is not None
            and not folders
            and (kind != "a folder" or each == rest or _SYSTEM in rest)
        ):
            raise InputError([Problem(root / each, None, f"this is {kind}, expected a file")])
        if is_wanted(root / each):
            matches.append((root / each, match.groupdict().get("system")))
    if not matches:
        what = "folder" if folders else "file"
        suggestion = _suggest_names(Path(text), root, folders=folders)
        is_pattern = any(mark in rest for mark in "*?{")
        reason = f"no {what} matches" if is_pattern else f"no such {what}"
        raise InputError([Problem(text, None, reason + suggestion)])
    require_utf8([path for path, _ in matches])
    require_valid_systems(matches)
    return matches


def require_utf8(files: Iterable[Path]) -> None:
    """Check that the names of files and of their folders are UTF-8, as tables and reports need.

    Raises:
        InputError: A name is not.
    """
    problems = []
    for path in files:
        try:
            str(path).encode()
        except UnicodeEncodeError:
            shown = os.fsencode(path).decode(errors="backslashreplace")
            message = "the name of the file or of a folder is not UTF-8: rename it"
            problems.append(Problem(shown, None, message))
    if problems:
        raise InputError(problems)


def require_valid_systems(files: Sequence[tuple[Path, str | None]]) -> None:
    """Check the systems named by paths.

    Raises:
        InputError: A name is not valid.
    """
    problems = [
        Problem(path, None, reason)
        for path, system in files
        if system is not None and (reason := invalid_name_reason(system)) is not None
    ]
    if problems:
        raise InputError(problems)


def invalid_name_reason(system: str) -> str | None:
    """Return the reason why a name is not valid for a system; null if it is."""
    if not system.strip():
        return f"expected the name of a system, found {system!r}"
    if len(system) > LONGEST_NAME:
        return f"the system's name has {len(system)} characters, at most {LONGEST_NAME} are allowed"
    for character in system:
        reason = _REFUSED.get(unicodedata.category(character))
        if reason is not None:
            return f"the system's name {system!r} contains {reason}"
    return None


def system_conflict(row: str | None, path: str | None) -> str | None:
    """Return the conflict between the systems of a row and of its file's path; null if none."""
    if row is None:
        if path is None:
            return "system: missing; expected in the row, or as {system} in the path"
        return None
    if path is not None and row != path:
        return f"system: the row says {row!r}, its file's path {path!r}"
    return invalid_name_reason(row)


def _expression(pattern: str) -> str:
    expression = ""
    named = False
    for part in re.split(rf"(\{{system\}}|{_ALTERNATIVES}|\*\*/|\*\*|\*|\?)", pattern):
        match part:
            case "{system}":
                expression += "(?P=system)" if named else "(?P<system>[^/]+)"
                named = True
            case "**/":
                expression += "(?:.*/)?"
            case "**":
                expression += ".*"
            case "*":
                expression += "[^/]*"
            case "?":
                expression += "[^/]"
            case _ if re.fullmatch(_ALTERNATIVES, part):
                names = sorted(part[1:-1].split(","), key=len, reverse=True)
                expression += f"(?:{'|'.join(map(re.escape, names))})"
            case _:
                expression += re.escape(part)
    return f"(?s:{expression})"


def _suggest_names(pattern: Path, root: Path, *, folders: bool) -> str:
    if folders and pattern.is_file():
        return ": this is a file, and the format reads folders"
    folder = pattern.parent
    if any(mark in str(folder.relative_to(root)) for mark in "*?{"):
        return ""
    if not folder.is_dir():
        missing = [folder, *folder.parents]
        first = next(each for each in reversed(missing) if not each.is_dir())
        return f": there is no folder {first.name!r}"
    names = [each.name for each in folder.iterdir() if each.is_dir() == folders]
    if not names:
        return f": the folder {folder.name!r} " + ("has no folders" if folders else "is empty")
    return suggest_name(pattern.name, sorted(names)[:1000] if len(names) > 1000 else names)  # noqa: PLR2004
