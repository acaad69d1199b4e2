"""Coverage: how much of the ground that a source covers its summary covers too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluators.outcome import Undefined

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

_DIMENSIONS = 5


def completeness(
    source: Sequence[np.ndarray[Any, Any]], summary: Sequence[np.ndarray[Any, Any]]
) -> float:
    """How far the summary's sentences reach in the space of the source's.

    The source's vectors are turned into its own directions of largest variance, at most five; the
    summary's with them.

    Raises:
        Undefined: A side has fewer than two sentences, or all of the source's mean the same.
    """
    import numpy as np

    if min(len(source), len(summary)) < 2:  # noqa: PLR2004 - one point reaches nowhere
        raise Undefined("source and summary need two sentences each")
    points = np.asarray(source, dtype=np.float64)
    others = np.asarray(summary, dtype=np.float64)
    centre = points.mean(axis=0)
    _, _, directions = np.linalg.svd(points - centre, full_matrices=False)
    chosen = directions[:_DIMENSIONS].T
    return reach_ratio((points - centre) @ chosen, (others - centre) @ chosen)


def reach_ratio(source: np.ndarray[Any, Any], summary: np.ndarray[Any, Any]) -> float:
    """The reach of the summary's points, moved to the nearest of the source, over the source's.

    Raises:
        Undefined: All points of the source are the same.
    """
    import numpy as np

    whole = reach(source)
    if whole == 0:
        raise Undefined("all sentences of the source mean the same")
    distances = np.linalg.norm(summary[:, None, :] - source[None, :, :], axis=2)
    return min(1.0, reach(source[distances.argmin(axis=1)]) / whole)


def reach(points: np.ndarray[Any, Any]) -> float:
    """The length of three segments: the longest distance, and the next longest from both its ends.

    A single point reaches nowhere.
    """
    import numpy as np

    distances = np.linalg.norm(points[:, None, :] - points[None, :, :], axis=2)
    if len(points) == 1:
        return 0.0
    one, other = np.unravel_index(distances.argmax(), distances.shape)
    ends = (np.sort(distances[end])[-2] for end in (one, other))
    return float(distances[one, other] + sum(ends))
