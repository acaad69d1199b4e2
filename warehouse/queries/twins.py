"""Twins: names of a benchmark that look alike, though they are different."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warehouse.foreign_text import appearance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warehouse.store import Warehouse

_NAMES = {
    "systems": "SELECT DISTINCT benchmark, system FROM predictions",
    "questions": "SELECT benchmark, question_id FROM questions",
    "documents": "SELECT DISTINCT benchmark, doc_id FROM documents",
    "slices": "SELECT DISTINCT benchmark, slice FROM leaderboard",
}
"""The queries of names by what is named."""

# Equal at least where `appearance` is: a first selection, because DuckDB compares millions of names
# in the time in which Python compares thousands.
_ROUGHLY = r"""lower(regexp_replace(
    strip_accents(nfc_normalize(name)),
    '[^\pL\pN\pP\pS]|[\x{{115f}}\x{{1160}}\x{{2800}}\x{{3164}}\x{{ffa0}}]', '', 'g'
))"""
_CANDIDATES = f"""
    SELECT benchmark, list_sort(list(DISTINCT name)) AS names
    FROM ({{names}}) AS given(benchmark, name)
    WHERE list_contains($benchmarks, benchmark)
    GROUP BY benchmark, {_ROUGHLY}
    HAVING count(DISTINCT name) > 1
    ORDER BY ALL
"""  # noqa: S608 - nothing of the user's


@dataclass(frozen=True, slots=True)
class Twins:
    """Names that look alike.

    Attributes:
        benchmark: The benchmark.
        what: What is named, such as `systems`.
        names: The first two such names.
        count: The number of groups of such names.
    """

    benchmark: str
    what: str
    names: tuple[str, str]
    count: int


def fetch_twins(warehouse: Warehouse, benchmarks: Sequence[str]) -> list[Twins]:
    """Return what looks alike among the names of each benchmark, and among all benchmarks."""
    found = []
    for what, names in _NAMES.items():
        query = _CANDIDATES.format(names=names)
        groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
        rows = warehouse.fetch(query, {"benchmarks": list(benchmarks)})
        for benchmark, candidates in rows.iter_rows():
            groups[benchmark] += _pairs(candidates)
        found += [
            Twins(benchmark, what, pairs[0], len(pairs))
            for benchmark, pairs in groups.items()
            if pairs
        ]
    known = warehouse.fetch("SELECT DISTINCT benchmark FROM questions ORDER BY benchmark")
    alike = _pairs(known["benchmark"].to_list())
    for name in benchmarks:
        own = [pair for pair in alike if name in pair]
        found += [Twins(name, "benchmarks", own[0], len(own))] if own else []
    return found


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the first two names of each group that looks alike."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in names:
        alike[appearance(name)].append(name)
    return [(same[0], same[1]) for same in alike.values() if len(same) > 1]
