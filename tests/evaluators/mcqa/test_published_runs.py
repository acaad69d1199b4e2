"""Option confidence on published runs of four models."""

from __future__ import annotations

import csv
import gzip
import json
import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from evaluators.library.mcqa.option_confidence import OptionConfidence
from tests.support.samples import rows_to_fold, samples

if TYPE_CHECKING:
    from pathlib import Path

CONFIDENCE = OptionConfidence()


def _figures(shared: Path, name: str) -> list[dict[str, str]]:
    with (shared / "data" / "mcqa" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _lines(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    return [json.loads(line) for line in text.splitlines()]


def _near(text: str) -> Any:
    """The number of a table, to the last place it is printed with."""
    digits, _, exponent = text.partition("e")
    places = len(digits.partition(".")[2]) - int(exponent or 0)
    return pytest.approx(float(text), abs=0.51 * 10.0**-places)


def test_figures_of_gpt_j(shared: Path) -> None:
    rows = _lines(shared / "data" / "mcqa" / "gptj_option_logprobs.jsonl.gz")
    lines = _figures(shared, "figures_gptj.csv")
    assert len(lines) == 6
    for line in lines:
        chosen = [
            row for row in rows if (row["model"], row["mode"]) == (line["model"], line["mode"])
        ]
        graded_rows = rows_to_fold(
            CONFIDENCE,
            samples(
                [
                    {"choice_logprobs": row["logprobs"], "correct_choice": row["answer_idx"]}
                    for row in chosen
                ],
                CONFIDENCE.columns,
            ),
        )
        preferred = [json.loads(detail)["chosen"] for detail in graded_rows["detail"]]
        mean = graded_rows.select(pl.col(pl.Float64).mean()).row(0, named=True)
        assert len(chosen) == int(line["n"])
        assert 100 * mean["accuracy_first_argmax"] == _near(line["accuracy_pct_published"])
        assert sum(
            mine != row["pred_idx"] for mine, row in zip(preferred, chosen, strict=True)
        ) == int(line["argmax_differs_from_logged_pred"])
        assert mean["phi"] == _near(line["mean_phi_raw"])
        assert mean["phi_normalized"] == _near(line["mean_phi_normalised"])
        assert mean["delta_normalized"] == _near(line["mean_delta_normalised"])
        assert mean["accuracy"] == _near(line["share_delta_gt_0"])
        assert (graded_rows["delta_normalized"] > 0).mean() == _near(line["share_delta_gt_0"])


def test_figures_of_llama(shared: Path) -> None:
    rows = _lines(shared / "data" / "mcqa" / "option_probs_mmlu_abstract_algebra.jsonl")
    lines = _figures(shared, "figures_option_probs_mmlu_abstract_algebra.csv")
    assert len(lines) == 2
    for line in lines:
        chosen = [row for row in rows if row["model"] == line["model"]]
        frame = samples(
            [
                {
                    "choice_logprobs": [math.log(p) for p in row["probs"]],
                    "correct_choice": "ABCD".index(row["answer"]),
                }
                for row in chosen
            ],
            CONFIDENCE.columns,
        )
        table = rows_to_fold(CONFIDENCE, frame)
        mean = table.select(pl.col(pl.Float64).mean()).row(0, named=True)
        assert len(chosen) == int(line["n"])
        assert mean["accuracy"] == _near(line["accuracy"])
        assert mean["phi"] == _near(line["mean_phi"])
        assert mean["delta"] == _near(line["mean_delta"])
        assert (table["delta"] > 0).mean() == _near(line["share_delta_gt_0"])
        assert mean["negative_log_likelihood"] == _near(line["mean_nll"])
        assert mean["brier"] == _near(line["brier_sum_over_options"])
        assert table["option_mass"].null_count() == 0
