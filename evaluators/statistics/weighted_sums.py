"""Weighted sums of exponential numbers: the probability that they are at most 0.

The inverse Laplace transform is integrated along a hyperbola, close to the path of steepest descent
through the saddle point. The integrand has no singularity near it and does not oscillate, so the
trapezoidal rule is exact to rounding, small probabilities included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evaluators.statistics.arrays import Booleans, Floats

    Complex = NDArray[np.complex128]

_STEP = 0.16
_FINE = 8
"""A vertical path takes so many times more points."""

_POINTS = 8
"""The points of the integral that are computed at once."""

_MOST_POINTS = 2_000

_NEGLIGIBLE = 1e-12
_TAIL = 1e-10
_LEAST_DISTANCE = 0.5
"""The least distance of the path of integration from the pole at 0, in scales."""

_PRECISION = 2.0**30
"""Probabilities are given to nine digits."""

_SEARCH = 60
_CLOSE = 0.1
"""The saddle point needs no more precision than this, in scales."""

_LEAST_SUMS = 32
_BLOCK = 2**18
"""So many complex numbers are computed at once: they stay in the cache."""

_FACTORS = 32
"""So many factors are multiplied before a logarithm: their product does not overflow."""


def below_zero_p(coefficients: Floats, repeats: Floats | None = None) -> Floats:
    """Return the probability that weighted sums of exponential numbers are at most 0.

    Args:
        coefficients: Shape (values, sums).
        repeats: The same shape: how many exponential numbers have the coefficient; None: one.

    Returns:
        Shape (sums,).
    """
    largest = np.abs(coefficients).max(axis=0, initial=0.0)
    a = coefficients / np.where(largest > 0, largest, 1.0)
    a[np.abs(a) <= _NEGLIGIBLE] = 0.0
    if repeats is not None:
        a[repeats == 0] = 0.0
    low, high = a.min(axis=0, initial=0.0), a.max(axis=0, initial=0.0)
    p = np.where(high <= 0, 1.0, 0.0)
    mixed = np.flatnonzero((low < 0) & (high > 0))
    step = max(_LEAST_SUMS, _BLOCK // (max(1, len(a)) * _POINTS))
    for start in range(0, len(mixed), step):
        which = mixed[start : start + step]
        p[which] = _integrate(a[:, which], None if repeats is None else repeats[:, which])
    # The last digits depend on what else is computed at once.
    digits, exponents = np.frexp(p)
    return np.ldexp(np.round(digits * _PRECISION) / _PRECISION, exponents)


def _integrate(a: Floats, repeats: Floats | None) -> Floats:
    """Return the probabilities for coefficients of both signs, the largest being 1 or -1."""
    path = _path(a, repeats)
    p, is_sound = _follow(path, a, repeats)
    which = np.flatnonzero(~is_sound)
    if len(which):
        # Many small coefficients of one sign bend the path to where the integrand grows. On a
        # vertical path it never does.
        straight = _Path(*(each[which] for each in path))
        straight = straight._replace(
            bend=np.zeros(len(which)), step=np.full(len(which), _STEP / _FINE)
        )
        own = None if repeats is None else repeats[:, which]
        p[which] = _follow(straight, a[:, which], own)[0]
    return p


def _follow(path: _Path, a: Floats, repeats: Floats | None) -> tuple[Floats, Booleans]:
    """Return the integrals along paths, and whether the integrand is largest where they begin."""
    ratios = a / (1 - a * path.at)
    total, peak = np.zeros((2, a.shape[1]))
    is_sound = np.ones(a.shape[1], dtype=np.bool_)
    open_ = np.arange(a.shape[1])
    for start in range(0, _MOST_POINTS, _POINTS):
        at, scale, bend, offset, step = (each[open_] for each in path)
        s = step * np.arange(start, start + _POINTS)[:, None]
        ahead = (bend * (np.cosh(s) - 1) + 1j * np.sinh(s)) / scale
        slope = (bend * np.sinh(s) + 1j * np.cosh(s)) / scale
        powers = _log_products(
            ratios[:, open_], None if repeats is None else repeats[:, open_], ahead
        )
        values = np.exp(offset - powers) / (at + ahead) * slope
        if start == 0:
            values[0] /= 2
        total[open_] += values.imag.sum(axis=0)
        largest = np.abs(values).max(axis=0)
        if start > 0:
            is_sound[open_] &= largest <= peak[open_]
        peak[open_] = np.maximum(peak[open_], largest)
        is_done = np.abs(values[-1]) <= _TAIL * peak[open_]
        open_ = open_[~is_done & (is_sound[open_] | (bend == 0))]
        if not len(open_):
            break
    part = total * path.step / np.pi
    # Left of the pole at 0 the integral is minus the probability, right of it that of the opposite.
    return np.clip(np.where(path.at < 0, -part, 1.0 - part), 0.0, 1.0), is_sound


def _log_products(ratios: Floats, repeats: Floats | None, ahead: Complex) -> Complex:
    """Return the logarithms of the products of 1 - ratio * ahead: shape (points, sums)."""
    values, sums = ratios.shape
    if repeats is not None:
        logs = np.log1p(-ratios[:, None] * ahead)
        weighted: Complex = (logs * repeats[:, None]).sum(axis=0)
        return weighted
    groups = -(-values // _FACTORS)
    padded = np.zeros((_FACTORS * groups, sums))
    np.negative(ratios, out=padded[:values])
    factors = padded.reshape(_FACTORS, groups, 1, sums)
    product = factors[0] * ahead
    product += 1
    factor = np.empty_like(product)
    for each in factors[1:]:
        np.multiply(each, ahead, out=factor)
        factor += 1
        product *= factor
    powers: Complex = np.log(product).sum(axis=0)
    return powers


class _Path(NamedTuple):
    """Where each path crosses the real axis, its scale and bend, and the step along it.

    The offset is the logarithm of the transform at the crossing.
    """

    at: Floats
    scale: Floats
    bend: Floats
    offset: Floats
    step: Floats


def _path(a: Floats, repeats: Floats | None) -> _Path:
    """Return the paths of integration."""
    weights = 1.0 if repeats is None else repeats
    inside = 1 - 1e-9
    low, high = inside / a.min(axis=0), inside / a.max(axis=0)
    first, second = (weights * a).sum(axis=0), (weights * a**2).sum(axis=0)
    at = np.clip(-first / second, low / 2, high / 2)
    for _ in range(_SEARCH):
        ratios = a / (1 - a * at)
        weighted = ratios if repeats is None else weights * ratios
        slope, curve = weighted.sum(axis=0), np.einsum("ij,ij->j", weighted, ratios)
        # The slope is infinite at both ends, with opposite signs, and increases.
        low, high = np.where(slope < 0, at, low), np.where(slope > 0, at, high)
        change = -slope / curve
        # Each path ends its own search, so that it does not depend on the others.
        is_close = np.abs(change) * np.sqrt(curve) <= _CLOSE
        if is_close.all():
            break
        moved = at + change
        halved = np.where((moved > low) & (moved < high), moved, (low + high) / 2)
        at = np.where(is_close, at, halved)
    scale = np.sqrt((weights * (a / (1 - a * at)) ** 2).sum(axis=0))
    is_near = np.abs(at) * scale < _LEAST_DISTANCE
    # The path passes the pole at 0 on the side where the next one is further away: that one is at
    # least one scale from the saddle point.
    side = np.where(a.min(axis=0) + a.max(axis=0) < 0, 1.0, -1.0)
    at = np.where(is_near, side * _LEAST_DISTANCE / scale, at)
    ratios = a / (1 - a * at)
    squares = weights * ratios**2
    scale = np.sqrt(squares.sum(axis=0))
    bend = 2 / 3 * np.einsum("ij,ij->j", squares, ratios) / scale**3
    bend[is_near] = 0.0
    # Beside the saddle point, the integrand oscillates a little.
    step = np.where(is_near, _STEP / 4, _STEP)
    offset = -(weights * np.log1p(-a * at)).sum(axis=0)
    return _Path(at, scale, bend, offset, step)
