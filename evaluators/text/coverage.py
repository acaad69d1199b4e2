"""Coverage: how much of its source a summary covers, in the embedding space."""

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
    """Return the reach of the summary's sentences relative to the source's.

    Both are projected on the principal components of the source's vectors, at most five.

    Raises:
        Undefined: The source or the summary has fewer than two sentences, or the source's sentences
            are equal.
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
    """Move the summary's points to the nearest of the source; return the ratio of the reaches.

    Raises:
        Undefined: All points of the source are equal.
    """
    import numpy as np

    whole = reach(source)
    if whole == 0:
        raise Undefined("all sentences of the source mean the same")
    distances = np.linalg.norm(summary[:, None, :] - source[None, :, :], axis=2)
    return min(1.0, reach(source[distances.argmin(axis=1)]) / whole)


def reach(points: np.ndarray[Any, Any]) -> float:
    """Return the length of the longest distance plus the next longest from each end.

    The reach of a single point is 0.
    """
    import numpy as np

    distances = np.linalg.norm(points[:, None, :] - points[None, :, :], axis=2)
    if len(points) == 1:
        return 0.0
    one, other = np.unravel_index(distances.argmax(), distances.shape)
    ends = (np.sort(distances[end])[-2] for end in (one, other))
    return float(distances[one, other] + sum(ends))
