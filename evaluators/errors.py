"""What can go wrong in this room, as one tree.

EvaluatorError
├── UnknownEvaluator   a name that is no evaluator and no family
├── BadParameters      parameters that an evaluator does not take
├── BadConstraints     constraints of a question that cannot be read
├── BadSamples         a frame of samples that lacks a column
├── Unavailable        an engine that cannot be had, with what to install or to configure
└── BrokenPromise      an evaluator that did not return what it declares (a defect, not a result)

Why a single sample has no number is not an error of this kind: see `outcome.Unscored`.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class EvaluatorError(Exception):
    """Anything that this room refuses to do."""


class UnknownEvaluator(EvaluatorError):  # noqa: N818 - the name says what it is
    """A name that is neither an evaluator nor a family."""


class BadParameters(EvaluatorError):  # noqa: N818
    """Parameters that an evaluator does not take, or values it refuses."""


class BadConstraints(EvaluatorError):  # noqa: N818
    """What a text must contain is written in a way that cannot be read."""


class BadSamples(EvaluatorError):  # noqa: N818
    """A frame of samples without a column that the evaluator reads."""


class Unavailable(EvaluatorError):  # noqa: N818
    """An engine cannot be had; the message says what to install or to configure."""


class BrokenPromise(EvaluatorError):  # noqa: N818
    """An evaluator returned other metrics than it declares, or a value out of bounds."""


def nearest(name: str, options: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for the option most like `name`, or an empty text."""
    found = difflib.get_close_matches(name, list(options), n=1, cutoff=0.6)
    return f" (did you mean {found[0]!r}?)" if found else ""
