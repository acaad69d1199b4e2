"""The input files of a benchmark, as they are now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.fingerprints.digests import matching_files
from warehouse.formats.paths import expand
from warehouse.ingest.plan import BenchmarkFiles

if TYPE_CHECKING:
    from assets.project import Benchmark


def benchmark_files(benchmark: Benchmark) -> BenchmarkFiles:
    """Return the current input files of a benchmark.

    Raises:
        InputError: A pattern matches no file.
    """
    return BenchmarkFiles(
        benchmark=benchmark.name,
        format=benchmark.format,
        questions=matching_files(benchmark.questions),
        documents=matching_files(benchmark.documents),
        predictions=expand(benchmark.predictions),
        max_reject_ratio=benchmark.max_reject_ratio,
    )
