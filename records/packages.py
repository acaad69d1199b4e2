"""Packages that only some features need: which extra installs them, and what to say without it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "charts": ("vl-convert-python",),
    "http": ("httpx", "python-jsonpath"),
    "judge": ("httpx", "litellm", "pyjson5"),
    "privacy": ("phonenumbers", "python-stdnum"),
    "text": ("nltk", "sacrebleu", "sentencex"),
    "zstd": ("zstandard",),
}
"""The distributions of each small extra, as in pyproject.toml."""


class MissingPackage(Exception):  # noqa: N818
    """A package is not installed; the message says what needs it and how to install it."""


def install_command(*names: str) -> str:
    """Return the command that installs extras of Scoreline, in backticks."""
    return f"`pip install 'scoreline[{','.join(names)}]'`"


def require_extra(extra: str, what: str) -> None:
    """Check that the packages of an extra are installed.

    Args:
        extra: A key of `EXTRAS`.
        what: What needs them, as the beginning of the message: `a judge`.

    Raises:
        MissingPackage: One is not.
    """
    require_packages({what: EXTRAS[extra]}, extra)


def require_packages(needs: Mapping[str, Iterable[str]], extra: str | None = None) -> None:
    """Check that distributions are installed.

    Args:
        needs: The distributions by what needs them.
        extra: The extra that installs them, where several do.

    Raises:
        MissingPackage: Some are not; the message has a line for everything that needs them.
    """
    lines = []
    for what, packages in needs.items():
        missing = [name for name in packages if not is_installed(name)]
        if missing:
            verb = "is" if len(missing) == 1 else "are"
            which = f"{' and '.join(missing)}, which {verb} not installed"
            lines.append(f"{what} needs {which}: {_command(missing, extra)}")
    if lines:
        raise MissingPackage("\n".join(lines))


def is_installed(name: str) -> bool:
    """Return whether a distribution is installed."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _command(missing: list[str], extra: str | None) -> str:
    extras = dict.fromkeys(missing, extra) if extra else {name: _extra_of(name) for name in missing}
    own = sorted({each for each in extras.values() if each is not None})
    others = [name for name, each in extras.items() if each is None]
    if others:  # of a plugin's evaluator
        return f"`pip install {' '.join(others)}`" + (
            f" and {install_command(*own)}" if own else ""
        )
    return install_command(*own)


def _extra_of(package: str) -> str | None:
    return next((extra for extra, names in EXTRAS.items() if package in names), None)
