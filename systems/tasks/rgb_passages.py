"""The passages in a prompt of RGB: relevant, irrelevant and false ones, mixed by a seed."""

from __future__ import annotations

import math
import random
from itertools import islice, zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def mix(
    positive: Sequence[str], negative: Sequence[str], ratio: float, count: int, seed: int
) -> list[str]:
    """Return passages for noise robustness, and with the ratio 1 for negative rejection.

    Where there are too few irrelevant passages, relevant ones take their places, and where there
    are too few relevant ones, irrelevant ones do. As in the source, only one of the two is looked
    at: there may be fewer passages than `count`.

    Args:
        positive: The passages with the answer, the best first.
        negative: The passages without it, the best first.
        ratio: The share of irrelevant passages, from 0 to 1; their number is rounded up.
        count: The number of passages.
        seed: The seed of their order.
    """
    wrong = math.ceil(count * ratio)
    if ratio < 1:
        if wrong > len(negative):
            wrong = len(negative)
        elif count - wrong > len(positive):
            wrong = count - len(positive)
    return _shuffled([*positive[: count - wrong], *negative[:wrong]], random.Random(seed))  # noqa: S311


def integrate(
    groups: Sequence[Sequence[str]], negative: Sequence[str], ratio: float, count: int, seed: int
) -> list[str]:
    """Return passages for information integration: at least one of each part of the answer.

    Relevant passages are taken from each group in turn, up to the number that the ratio leaves. If
    there are more groups than that, each still has one; irrelevant passages fill up the rest.

    Args:
        groups: The passages with each part of the answer; none is empty.
        negative: The passages without a part, the best first.
        ratio: The share of irrelevant passages, from 0 to 1; their number is rounded up.
        count: The number of passages; there are more if there are more groups.
        seed: The seed of the choice from each group, and of the order.
    """
    generator = random.Random(seed)  # noqa: S311
    shuffled = [_shuffled(group, generator) for group in groups]
    in_turn = (
        passage for turn in zip_longest(*shuffled) for passage in turn if passage is not None
    )
    wanted = max(len(groups), count - math.ceil(count * ratio))
    chosen = list(islice(in_turn, wanted))
    chosen += negative[: max(0, count - len(chosen))]
    return _shuffled(chosen, generator)


def falsify(false: Sequence[str], count: int, seed: int) -> list[str]:
    """Return passages for counterfactual robustness: false ones only.

    Args:
        false: The passages with a wrong answer.
        count: The most passages.
        seed: The seed of the choice and of the order.
    """
    generator = random.Random(seed)  # noqa: S311
    chosen = generator.sample(range(len(false)), min(len(false), count))
    return _shuffled([false[at] for at in chosen], generator)


def _shuffled(passages: Sequence[str], generator: random.Random) -> list[str]:
    listed = list(passages)
    generator.shuffle(listed)
    return listed
