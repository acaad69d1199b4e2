"""RGB from question and output files to the figures that were published of them."""

from __future__ import annotations

import csv
import gzip
import json
from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest

from assets.keys import LEADERBOARD
from assets.project import Benchmark, Project
from evaluators import catalog
from tests.assets.conftest import materialise, write
from tests.support.services import takes_minutes
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Row = dict[str, Any]
EVALUATORS = ("noise_robustness", "negative_rejection", "counterfactual_robustness")


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    folder = shared / "data" / "rgb"
    if not folder.is_dir():
        pytest.skip(f"the RGB files are missing: {folder}")
    return folder


def lines(path: Path) -> Iterator[Row]:
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    yield from map(json.loads, text.splitlines())


def figures(path: Path) -> list[Row]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def output(row: Row, rate: float) -> Row:
    """An output as the benchmark's script writes it."""
    kept: Row = {
        name: row[name] for name in ("id", "query", "docs", "label", "factlabel") if name in row
    }
    return {**kept, "ans": row.get("answers"), "noise_rate": rate, "prediction": row["response"]}


def questions_of_50(folder: Path, path: Path) -> None:
    asked = lines(folder / "answers_en50.jsonl")
    write(path, ({"id": r["id"], "query": r["query"], "answer": r["answers"]} for r in asked))


def fifty(folder: Path, home: Path) -> None:
    """Fifty questions at three noise rates, one file of outputs for each rate.

    `accuracy.json` names the scenario, so that accuracy is also published where no passage holds
    the answer.
    """
    questions_of_50(folder, home / "fifty.json")
    asked = lines(home / "fifty.json")
    write(home / "accuracy.json", ({**row, "scenario": "noise_robustness"} for row in asked))
    outputs: dict[tuple[str, float], list[Row]] = {}
    for row in lines(folder / "outputs50_with_docs.jsonl.gz"):
        outputs.setdefault((row["model"], row["noise_rate"]), []).append(row)
    for (model, rate), rows in outputs.items():
        path = home / f"fifty_{model}_noise{rate}.json"
        write(path, (output(row, rate) for row in rows))


def larger(folder: Path, home: Path) -> None:
    """The noisy and the counterfactual outputs of three models, as far as answers are known."""
    questions_of_50(folder, home / "noise.json")
    (home / "en_fact.json").write_bytes((folder / "en_fact.jsonl").read_bytes())
    found: dict[tuple[str, str], list[Row]] = {}
    for row in lines(folder / "outputs_v2.jsonl.gz"):
        if row["ability"] == "noise_robustness" and row["id"] < 50:
            found.setdefault(("noise", row["model"]), []).append(output(row, row["noise_ratio"]))
        elif row["ability"] == "counterfactual_robustness":
            found.setdefault(("fact", row["model"]), []).append(output(row, 0.0))
    for (kind, model), rows in found.items():
        write(home / f"{kind}_{model}_all.json", rows)


@pytest.fixture(scope="module")
def warehouse(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    home = tmp_path_factory.mktemp("rgb")
    fifty(folder, home)
    larger(folder, home)
    files = {
        "fifty": ("fifty.json", "fifty_{system}_noise*.json"),
        "accuracy": ("accuracy.json", "fifty_{system}_noise*.json"),
        "noise": ("noise.json", "noise_{system}_all.json"),
        "fact": ("en_fact.json", "fact_{system}_all.json"),
    }
    project = Project(
        home=home,
        warehouse=home / "warehouse.duckdb",
        publish=home / "published",
        benchmarks={
            name: Benchmark(
                name=name,
                format="rgb",
                questions=home / questions,
                predictions=home / predictions,
                evaluators=tuple(catalog.build(each, {}) for each in EVALUATORS),
                slices=("noise_ratio",),
            )
            for name, (questions, predictions) in files.items()
        },
    )
    with dg.DagsterInstance.ephemeral() as instance:
        materialise(project, instance, LEADERBOARD)
    return Warehouse(project.warehouse)


def mean(warehouse: Warehouse, benchmark: str, system: str, slice_: str, name: str) -> float:
    """One figure of the leaderboard."""
    evaluator, _, metric = name.partition(".")
    found = warehouse.fetch(
        "SELECT mean FROM leaderboard WHERE benchmark = $benchmark AND system = $system "
        "AND slice = $slice AND evaluator = $evaluator AND metric = $metric",
        {
            "benchmark": benchmark,
            "system": system,
            "slice": slice_,
            "evaluator": evaluator,
            "metric": metric,
        },
    )
    return float(found.item())


@takes_minutes
def test_every_published_line_of_the_fifty_questions(folder: Path, warehouse: Warehouse) -> None:
    published = figures(folder / "figures_50.csv")
    assert len(published) == 3
    for row in published:
        where = "accuracy", row["model"], f"noise_ratio={row['noise_rate']}"
        accuracy = mean(warehouse, *where, "noise_robustness.accuracy_exact")
        assert accuracy == pytest.approx(float(row["accuracy"]), abs=1e-12)
        assert round(accuracy * int(row["n"])) == int(row["tt"])
        # What the judge said was recorded outside of the benchmark's files.
        said = [
            each["judge_answer"]
            for each in lines(folder / "outputs50_with_docs.jsonl.gz")
            if each["noise_rate"] == float(row["noise_rate"])
        ]
        assert sum("not addressed" in text for text in said) == int(row["judge_not_addressed"])
    where = "fifty", published[-1]["model"], "noise_ratio=1.0"
    refused = mean(warehouse, *where, "negative_rejection.rejection_rate_exact")
    assert round(refused * 50) == int(published[-1]["label_minus1"]) == 27


def test_refusals_are_asked_for_where_nothing_holds_the_answer(warehouse: Warehouse) -> None:
    found = warehouse.fetch(
        "SELECT q.noise_ratio, s.evaluator, count(*) FROM scores AS s "
        "INNER JOIN questions AS q USING (benchmark, question_id) "
        "WHERE benchmark = 'fifty' AND s.status = 'scored' "
        "AND s.metric IN ('accuracy_exact', 'rejection_rate_exact') "
        "AND s.evaluator <> 'counterfactual_robustness' GROUP BY ALL ORDER BY ALL"
    ).rows()
    assert found == [
        (0.2, "noise_robustness", 50),
        (0.6, "noise_robustness", 50),
        (1.0, "negative_rejection", 50),
    ]


def test_overall_noise_robustness_leaves_out_what_has_no_answer(
    folder: Path, warehouse: Warehouse
) -> None:
    published = [row for row in figures(folder / "figures_50.csv") if row["noise_rate"] != "1.0"]
    assert len(published) == 2
    expected = sum(float(row["accuracy"]) for row in published) / 2
    where = "fifty", published[0]["model"], "all"
    overall = mean(warehouse, *where, "noise_robustness.accuracy_exact")
    assert overall == pytest.approx(expected, abs=1e-12)


def test_the_marks_of_the_authors_at_five_noise_rates(folder: Path, warehouse: Warehouse) -> None:
    marks: dict[tuple[str, float], list[int]] = {}
    for row in lines(folder / "outputs_v2.jsonl.gz"):
        if row["ability"] == "noise_robustness" and row["id"] < 50:
            marks.setdefault((row["model"], row["noise_ratio"]), []).append(row["accuracy"])
    assert len(marks) == 15
    for (model, rate), given in marks.items():
        where = "noise", model, f"noise_ratio={rate}"
        accuracy = mean(warehouse, *where, "noise_robustness.accuracy_normalized")
        assert accuracy == pytest.approx(sum(given) / 50, abs=1e-12)


COUNTERFACTUAL = {
    "acc_doc_%": "accuracy_normalized",
    "error_detection_%": "error_detection_rate_sentence",
    "error_correction_among_detected_%": "error_correction_rate_sentence",
    "error_correction_overall_%": "error_correction_overall_sentence",
}


def test_every_published_counterfactual_line(folder: Path, warehouse: Warehouse) -> None:
    published = [
        row
        for row in figures(folder / "figures_v2.csv")
        if row["ability"] == "counterfactual_robustness"
    ]
    assert len(published) == 12
    for row in published:
        name = f"counterfactual_robustness.{COUNTERFACTUAL[row['metric']]}"
        found = mean(warehouse, "fact", row["model"], "all", name)
        assert 100 * found == pytest.approx(float(row["value"]), abs=5.1e-5)
