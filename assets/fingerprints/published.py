"""Whether what is published has the fingerprints that it should have.

It needs neither Polars nor the configuration: a rerun with nothing changed loads no more than this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.fingerprints.digests import digest_of
from assets.fingerprints.report_files import is_report_complete

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from warehouse.publish.snapshot import OpenSnapshot, Snapshot


def is_published(
    copy: Snapshot, first_page: Path, expected: Mapping[str, Mapping[str, str]]
) -> bool:
    """Return whether the published copy has the expected fingerprints, and a report of it exists.

    Args:
        copy: The published copy.
        first_page: The first page of the report.
        expected: The fingerprints by benchmark, then by stage.

    Raises:
        OSError: The first page cannot be read.
        WarehouseError: The copy cannot be read.
    """
    if not is_report_complete(first_page.parent, first_page.name):
        return False
    with copy.open() as snapshot:
        published = read_fingerprints(snapshot)
        digest = publication_digest(snapshot)
    # A run that died after it had published the copy left the report of the one before.
    if f'content="{digest}"' not in first_page.read_text(encoding="utf-8"):
        return False
    return has_fingerprints(published, expected)


def has_fingerprints(
    found: Mapping[str, Mapping[str, str]], expected: Mapping[str, Mapping[str, str]]
) -> bool:
    """Return whether all expected fingerprints, by benchmark and stage, are among those found."""
    return all(of.items() <= found.get(name, {}).items() for name, of in expected.items())


def read_fingerprints(copy: OpenSnapshot) -> dict[str, dict[str, str]]:
    """Return the recorded fingerprints by benchmark, then by stage."""
    fingerprints: dict[str, dict[str, str]] = {}
    for row in copy.fetch_rows("SELECT benchmark, stage, digest FROM marks"):
        fingerprints.setdefault(row["benchmark"], {})[row["stage"]] = row["digest"]
    return fingerprints


def publication_digest(copy: OpenSnapshot) -> str:
    """Return the digest of what a published copy was made from, and of its last publication."""
    rows = copy.fetch_rows("SELECT benchmark, stage, digest FROM marks ORDER BY ALL")
    (last,) = copy.fetch_rows("SELECT max(published_at)::VARCHAR AS at FROM publications")
    return digest_of([list(row.values()) for row in rows], last["at"])
