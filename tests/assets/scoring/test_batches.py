"""Batches give the same scores in threads and in processes, in folders with any name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from assets.scoring import batches
from assets.scoring.batches import score_batches, score_stream
from evaluators import catalog
from evaluators.errors import BadSamples, BrokenPromise
from evaluators.scoring import score
from tests.support.samples import samples
from tests.support.services import takes_minutes
from warehouse.storage.scratch import ScratchResult

if TYPE_CHECKING:
    from pathlib import Path

ANSWERS = ["the ferry leaves at noon", "at noon", "", "never", "the ferry leaves at noon", "noon"]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A folder whose name contains characters of glob patterns."""
    folder = tmp_path / "a [b] 'c' {d}"
    folder.mkdir()
    return folder


def on_disk(folder: Path, frame: pl.DataFrame) -> ScratchResult:
    """A frame as a query result on disk."""
    path = folder / "samples.parquet"
    frame.write_parquet(path)
    return ScratchResult(path, frame.height)


def text_samples() -> pl.DataFrame:
    """Answers with one reference."""
    rows = [{"answer": text, "expected_answers": ["the ferry leaves at noon"]} for text in ANSWERS]
    evaluator = catalog.build("rouge")
    return samples(rows, evaluator.columns)


@takes_minutes
@pytest.mark.parametrize("enough", [1, 1_000_000], ids=["processes", "threads"])
def test_batches_equal_one_call_for_all_samples(
    odd: Path, monkeypatch: pytest.MonkeyPatch, enough: int
) -> None:
    monkeypatch.setattr(batches, "WORTH_PROCESSES", enough)
    monkeypatch.setattr(batches, "TEXT_ROWS", 4)
    evaluator, frame = catalog.build("rouge"), text_samples()
    grades = odd / "grades"
    grades.mkdir()
    score_batches(evaluator, on_disk(odd, frame), grades)
    files = sorted(grades.iterdir())
    assert [file.name for file in files] == ["000000.parquet", "000001.parquet"]
    written = pl.concat(pl.read_parquet(file, glob=False) for file in files)
    whole = score(evaluator, frame).frame
    assert written.select(whole.columns).equals(whole)


def test_an_exception_of_an_evaluator_is_raised(odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = catalog.build("rouge")
    monkeypatch.setattr(type(evaluator), "grade", lambda *_: {"rouge_1": 2.0})
    with pytest.raises(BrokenPromise, match="rouge: declared"):
        score_batches(evaluator, on_disk(odd, text_samples()), odd)


def test_a_stream_is_scored_like_its_batches(odd: Path) -> None:
    evaluator = catalog.build("citation")
    cited = [["S1"], [], ["S2", "S1"], None, ["S1"]]
    rows = [{"gold_sentence_ids": ["S1"], "cited_sentence_ids": each} for each in cited]
    frame = samples(rows, evaluator.columns)
    parts = [frame[start : start + 1] for start in range(frame.height)] * 4
    assert score_stream(evaluator, iter(parts), odd) == 20
    written = [pl.read_parquet(file, glob=False) for file in sorted(odd.iterdir())]
    whole = score(evaluator, frame).frame
    assert pl.concat(written).select(whole.columns).equals(pl.concat([whole] * 4))


def test_an_exception_in_a_stream_is_raised(odd: Path) -> None:
    frame = samples([{"cited_sentence_ids": []}], frozenset({"cited_sentence_ids"}))
    with pytest.raises(BadSamples, match="lack the columns"):
        score_stream(catalog.build("citation"), iter([frame]), odd)
