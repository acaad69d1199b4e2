"""The passages of RGB: the source's own construction on its data, and worked cases."""

from __future__ import annotations

import gzip
import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from systems.tasks.rgb_passages import falsify, integrate, mix

if TYPE_CHECKING:
    from pathlib import Path

POSITIVE, NEGATIVE = [f"p{at}" for at in range(4)], [f"n{at}" for at in range(9)]


def construct(kind: str, row: dict[str, Any], ratio: float, count: int, seed: int) -> list[str]:
    if kind == "zh_int":
        return integrate(row["positive"], row["negative"], ratio, count, seed)
    if kind == "en_fact":
        return falsify(row["positive_wrong"], count, seed)
    return mix(row["positive"], row["negative"], ratio, count, seed)


@pytest.mark.parametrize(
    ("kind", "ratio", "count", "seed", "digest"),
    [
        ("en", 0, 5, 2333, "4f014708873580ad"),
        ("en", 0, 8, 1, "e4d9edde6e6973cc"),
        ("en", 0.2, 5, 2333, "bfcda1ef1ee57f06"),
        ("en", 0.2, 8, 1, "ef0e2d113a9dfe20"),
        ("en", 0.4, 5, 2333, "d08cfe08edcba6bc"),
        ("en", 0.4, 8, 1, "301cba60207a24e4"),
        ("en", 0.6, 5, 2333, "7a060aacd8f03f6e"),
        ("en", 0.6, 8, 1, "d408100d8ac6f8e7"),
        ("en", 0.8, 5, 2333, "383dc580c012c7e4"),
        ("en", 0.8, 8, 1, "d33f97d20d03a826"),
        ("en", 1, 5, 2333, "489972a114b25597"),
        ("en", 1, 8, 1, "75c5f927019531b3"),
        ("en_fact", 0, 5, 2333, "37b44a8b62774a7e"),
        ("en_fact", 0, 8, 1, "3dbbb77f5350a577"),
        ("zh_int", 0, 5, 2333, "3be4bcf1cda4cd84"),
        ("zh_int", 0, 8, 1, "481a0ac87d3dc4f2"),
        ("zh_int", 0.2, 5, 2333, "344e597a4a9d609d"),
        ("zh_int", 0.2, 8, 1, "0d5237b70f1b728c"),
        ("zh_int", 0.4, 5, 2333, "1599077b14f47885"),
        ("zh_int", 0.4, 8, 1, "fe77dde2355b4bdf"),
        ("zh_int", 0.6, 5, 2333, "3a0b5c63b6310aa9"),
        ("zh_int", 0.6, 8, 1, "f52a10c24523f764"),
        ("zh_int", 0.8, 5, 2333, "3a0b5c63b6310aa9"),
        ("zh_int", 0.8, 8, 1, "714fad25dd10753e"),
        ("zh_int", 1, 5, 2333, "3a0b5c63b6310aa9"),
        ("zh_int", 1, 8, 1, "714fad25dd10753e"),
    ],
)
def test_the_source_makes_the_same_lists(
    kind: str, ratio: float, count: int, seed: int, digest: str, shared: Path
) -> None:
    """The digests are of the lists that the source's script makes of its own data files.

    `en` makes plain questions of the passages in `en_fact`.
    """
    raw = gzip.decompress((shared / "data" / "rgb" / "zh_int.jsonl.gz").read_bytes())
    if kind != "zh_int":
        raw = (shared / "data" / "rgb" / "en_fact.jsonl").read_bytes()
    found = hashlib.sha256()
    for line in raw.splitlines():
        passages = construct(kind, json.loads(line), ratio, count, seed)
        found.update(json.dumps(passages, ensure_ascii=False).encode())
    assert found.hexdigest()[:16] == digest


def test_published_prompts_have_the_passages_of_their_ratio(shared: Path) -> None:
    """Their order has another seed, so the sets are compared."""
    raw = (shared / "data" / "rgb" / "outputs50_with_docs.jsonl.gz").read_bytes()
    asked: dict[int, dict[float, set[str]]] = {}
    for row in map(json.loads, gzip.decompress(raw).splitlines()):
        asked.setdefault(row["id"], {})[row["noise_rate"]] = set(row["docs"])
    # In three of the 50, a passage occurs twice.
    distinct = [each for each in asked.values() if all(len(docs) == 5 for docs in each.values())]
    assert len(distinct) == 47
    for low, high, only in ((each[0.2], each[0.6], each[1.0]) for each in distinct):
        # The order of each kind, as far as the three prompts show it.
        positive = [*(high - only), *(low - high - only)]
        negative = [*(low & only), *((high & only) - low), *(only - high - low)]
        for ratio, docs in ((0.2, low), (0.6, high), (1.0, only)):
            assert set(mix(positive, negative, ratio, 5, 1)) == docs


@pytest.mark.parametrize(
    ("ratio", "count", "expected"),
    [
        (0.0, 4, POSITIVE),
        (0.5, 4, [*POSITIVE[:2], *NEGATIVE[:2]]),
        (0.3, 4, [*POSITIVE[:2], *NEGATIVE[:2]]),  # 1.2 irrelevant passages are 2
        (1.0, 4, NEGATIVE[:4]),
        (0.0, 6, [*POSITIVE, *NEGATIVE[:2]]),  # too few relevant ones
        (0.8, 12, [*POSITIVE[:3], *NEGATIVE]),  # too few irrelevant ones
    ],
)
def test_shares(ratio: float, count: int, expected: list[str]) -> None:
    assert sorted(mix(POSITIVE, NEGATIVE, ratio, count, 1)) == sorted(expected)


def test_the_seed_sets_the_order() -> None:
    orders = {tuple(mix(POSITIVE, NEGATIVE, 0.5, 8, seed)) for seed in range(20)}
    assert len(orders) > 10
    assert len({frozenset(order) for order in orders}) == 1


def test_each_part_has_a_passage() -> None:
    groups = [["a1", "a2", "a3"], ["b1"], ["c1", "c2"]]
    for ratio, count, of_parts in ((0.0, 5, 5), (0.4, 5, 3), (1.0, 5, 3), (0.0, 2, 3), (0.0, 9, 6)):
        found = integrate(groups, NEGATIVE, ratio, count, 3)
        relevant = [passage for passage in found if not passage.startswith("n")]
        assert len(relevant) == of_parts
        assert {passage[0] for passage in relevant} == {"a", "b", "c"}
        assert len(found) == max(count, of_parts)


def test_false_passages_only() -> None:
    assert sorted(falsify(["f1", "f2"], 5, 1)) == ["f1", "f2"]
    assert len(falsify([f"f{at}" for at in range(9)], 5, 1)) == 5
