"""Probabilities a little above 1 are rounding, in every file type and format."""

from __future__ import annotations

import csv
import gzip
import json
import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from evaluators import catalog
from evaluators.scoring import score
from tests.support.samples import samples
from tests.support.scripted_judge import values
from tests.warehouse.formats.test_lm_eval import LOG, row
from tests.warehouse.ingest.test_fast_path import read_in
from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ABOVE_0 = {"choice_logprobs": [1e-07, -5.0, -6.0, -7.0]}
ABOVE_1 = {"choice_probs": [1.0000001, 0.0]}


def _jsonl(path: Path, given: dict[str, Any]) -> None:
    path.write_text(json.dumps(given) + "\n")


def _json(path: Path, given: dict[str, Any]) -> None:
    path.write_text(json.dumps([given]))


def _gz(path: Path, given: dict[str, Any]) -> None:
    path.write_bytes(gzip.compress(json.dumps(given).encode()))


def _csv(path: Path, given: dict[str, Any]) -> None:
    cells = {name: v if isinstance(v, str) else json.dumps(v) for name, v in given.items()}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(cells))
        writer.writeheader()
        writer.writerow(cells)


def _parquet(path: Path, given: dict[str, Any]) -> None:
    pl.DataFrame([given]).write_parquet(path)


WRITERS: dict[str, Callable[[Path, dict[str, Any]], None]] = {
    "p.jsonl": _jsonl,
    "p.json": _json,
    "p.jsonl.gz": _gz,
    "p.csv": _csv,
    "p.parquet": _parquet,
}


def stored(folder: Path, name: str, given: dict[str, Any]) -> list[float | None]:
    """Return the log-probabilities that a file of one prediction becomes."""
    questions, file = folder / "q.jsonl", folder / name
    questions.write_text('{"question_id": "q"}\n')
    WRITERS[name](file, {"question_id": "q", **given})
    warehouse = Warehouse(folder / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="canonical", questions=[questions])
    ingest_predictions(warehouse, benchmark="b", format="canonical", files=[(file, "s")])
    found: list[float | None] = warehouse.fetch("SELECT choice_logprobs FROM predictions").item()
    return list(found)


def scored(logprobs: list[float | None]) -> dict[str, float | None]:
    evaluator = catalog.build("option_confidence", {})
    grid = score(evaluator, samples([{"choice_logprobs": logprobs, "correct_choice": 0}]))
    return values(grid.long().rows(named=True))


@pytest.mark.parametrize("name", WRITERS)
def test_a_log_probability_a_little_above_0_counts_as_0(tmp_path: Path, name: str) -> None:
    found = scored(stored(tmp_path, name, ABOVE_0))
    assert found["phi"] == 1.0
    assert found["delta"] == pytest.approx(1 - math.exp(-5), abs=1e-12)


@pytest.mark.parametrize("name", WRITERS)
def test_a_probability_a_little_above_1_counts_as_1(tmp_path: Path, name: str) -> None:
    found = scored(stored(tmp_path, name, ABOVE_1))
    assert (found["phi"], found["delta"], found["option_mass"]) == (1.0, 1.0, 1.0)


def test_lm_eval_reads_the_same(tmp_path: Path) -> None:
    log = tmp_path / LOG
    log.write_text(json.dumps(row(ABOVE_0["choice_logprobs"], 0)) + "\n")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="lm-eval", predictions=[(log, "s")])
    ingest_predictions(warehouse, benchmark="b", format="lm-eval", files=[(log, "s")])
    found = scored(list(warehouse.fetch("SELECT choice_logprobs FROM predictions").item()))
    assert found["phi"] == 1.0
    assert found["delta"] == pytest.approx(1 - math.exp(-5), abs=1e-12)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"choice_logprobs": [0.00101, -1.0]}, r"choice_logprobs\[0\]: .* at most 0.001"),
        ({"choice_probs": [1.00101, 0.0]}, r"choice_probs\[0\]: .* at most 1.001"),
        ({"choice_probs": [-0.1, 0.5]}, r"choice_probs\[0\]: .* at least 0"),
    ],
)
def test_more_than_rounding_is_refused(
    tmp_path: Path, name: str, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        stored(tmp_path, name, given)


@pytest.mark.parametrize("given", [ABOVE_0, ABOVE_1])
def test_the_fast_path_reads_them_itself(tmp_path: Path, given: dict[str, Any]) -> None:
    stored(tmp_path, "p.jsonl", {"choice_logprobs": [0.0]})
    file = tmp_path / "other.jsonl"
    _jsonl(file, {"question_id": "q", **given})
    rows = read_in(
        "fast",
        tmp_path / "w.duckdb",
        lambda w: ingest_predictions(w, benchmark="b", format="canonical", files=[(file, "s")]),
        "predictions",
    )
    assert rows != "not fast path"
