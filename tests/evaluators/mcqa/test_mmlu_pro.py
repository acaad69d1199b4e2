"""Published letters of 18 models on MMLU-Pro: multiple choice without probabilities."""

from __future__ import annotations

import csv
import gzip
from typing import TYPE_CHECKING

import polars as pl
import pytest

from evaluators.library.classification.classification import Classification
from evaluators.sample import SAMPLE_COLUMNS
from evaluators.scoring import score

if TYPE_CHECKING:
    from pathlib import Path


def test_figures(shared: Path) -> None:
    folder = shared / "data" / "mcqa"
    wide = pl.read_csv(
        gzip.decompress((folder / "mmlu_pro_predictions.csv.gz").read_bytes()), infer_schema=False
    )
    with (folder / "figures_mmlu_pro.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 18
    # A cell is a letter, nothing (none could be found in the reply), `MISSING` (not asked), or
    # `letter/key` where the question's key was another one in that model's release.
    cell = pl.col("cell").fill_null("")
    rekeyed = cell.str.contains("/", literal=True)
    long = (
        wide.unpivot(
            [line["model"] for line in lines],
            index=["question_id", "answer", "n_options"],
            variable_name="system",
            value_name="cell",
        )
        .filter(cell != "MISSING")
        .select(
            "question_id",
            "system",
            "n_options",
            benchmark=pl.lit("mmlu_pro"),
            expected_label=pl.when(rekeyed)
            .then(cell.str.split("/").list.last())
            .otherwise("answer"),
            label=cell.str.split("/").list.first(),
            answer=pl.lit(None, SAMPLE_COLUMNS["answer"]),
            error=pl.lit(None, SAMPLE_COLUMNS["error"]),
        )
    )
    right = score(Classification(), long.drop("n_options")).frame["values"].list.get(0)
    table = (
        long.with_columns(right=right)
        .group_by("system")
        .agg(
            pl.len().alias("n"), pl.col("right").sum(), (pl.col("label") == "").sum().alias("none")
        )
        .rows_by_key("system", named=True, unique=True)
    )
    for line in lines:
        found = table[line["model"]]
        assert (found["n"], found["right"], found["none"]) == (
            int(line["n"]),
            int(line["correct"]),
            int(line["unparsed"]),
        )
        assert found["right"] / found["n"] == pytest.approx(
            float(line["accuracy_unparsed_wrong"]), abs=5e-7
        )
        guessed = (found["right"] + found["none"] / 10) / found["n"]
        assert guessed == pytest.approx(float(line["accuracy_expected_random_1_in_10"]), abs=5.1e-7)
