"""trec_eval's own test runs, from judgements and run to leaderboard, to the digits it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg
import pytest

from assets.keys import LEADERBOARD
from assets.project import Benchmark, Project
from evaluators import catalog
from tests.assets.conftest import materialise
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

DEPTHS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
NAMES = {
    **{f"P_{k}": f"precision_at_{k}" for k in DEPTHS},
    **{f"recall_{k}": f"recall_at_{k}" for k in DEPTHS},
    **{f"ndcg_cut_{k}": f"ndcg_at_{k}" for k in DEPTHS},
    **{f"success_{k}": f"hit_at_{k}" for k in (1, 5, 10)},
    # trec_eval's ndcg has no depth; no run here has more than 500 documents for a topic.
    "ndcg": "ndcg_at_1000",
    "map": "map",
    "recip_rank": "mrr",
    "Rprec": "r_precision",
}
"""Our names for trec_eval's measures.

The others have no counterpart here: map_cut_k, bpref, infAP, the interpolated and the relative
precisions, the set and the geometric measures. Nor has `-l2`, the least grade that is relevant
(out.test.aql). What newer versions of trec_eval print differently (some interpolated precisions,
num_rel with `-c`) is among these, so that every figure that is compared must be the very same.
"""


def printed(path: Path) -> dict[str, dict[str, str]]:
    """What trec_eval printed: by topic (or `all`) and measure, as far as we measure it."""
    found: dict[str, dict[str, str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        measure, topic, value = line.split()
        if measure in NAMES:
            found.setdefault(topic, {})[NAMES[measure]] = value
    return found


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    folder = shared / "data" / "trec"
    if not folder.is_dir():
        pytest.skip(f"the TREC files are missing: {folder}")
    return folder


@pytest.fixture(scope="module")
def warehouse(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """One run over both pairs of judgements and runs; the systems are `test`, `trunc`, `compat`."""
    home = tmp_path_factory.mktemp("trec")
    retrieval = catalog.build(
        "document_retrieval", {"cutoffs": [1, *DEPTHS], "ndcg_cutoffs": list(DEPTHS)}
    )
    files = {
        "test": ("qrels.test", "results.{system}.gz"),
        "commented": ("qrels.test.with-comments", "results.{system}.gz"),
        "compat": ("compat.qrels", "{system}.run"),
    }
    benchmarks = {
        name: Benchmark(
            name=name,
            format="trec",
            questions=folder / questions,
            predictions=folder / predictions,
            evaluators=(retrieval,),
        )
        for name, (questions, predictions) in files.items()
    }
    project = Project(
        home=home,
        warehouse=home / "warehouse.duckdb",
        publish=home / "published",
        benchmarks=benchmarks,
    )
    with dg.DagsterInstance.ephemeral() as instance:
        materialise(project, instance, LEADERBOARD)
    return Warehouse(project.warehouse)


def by_topic(warehouse: Warehouse, benchmark: str, system: str) -> dict[str, dict[str, str]]:
    """Every score as trec_eval would print it."""
    rows = warehouse.fetch(
        "SELECT question_id, metric, value FROM scores WHERE benchmark = $b AND system = $s",
        {"b": benchmark, "s": system},
    )
    found: dict[str, dict[str, str]] = {}
    for topic, metric, value in rows.iter_rows():
        found.setdefault(topic, {})[metric] = f"{value:.4f}"
    return found


def means(warehouse: Warehouse, benchmark: str, system: str) -> dict[str, str]:
    """The leaderboard's means as trec_eval would print them."""
    rows = warehouse.fetch(
        "SELECT metric, mean FROM leaderboard "
        "WHERE benchmark = $b AND system = $s AND slice = 'all'",
        {"b": benchmark, "s": system},
    )
    return {metric: f"{mean:.4f}" for metric, mean in rows.iter_rows()}


@pytest.mark.parametrize("benchmark", ["test", "commented"])
@pytest.mark.parametrize(
    ("system", "output", "topics"),
    [
        ("test", "out.test", 0),
        ("test", "out.test.a", 0),
        ("test", "out.test.aq", 3),
        ("trunc", "out.test.aqc", 3),
    ],
)
def test_equals_what_trec_eval_printed(
    warehouse: Warehouse, folder: Path, benchmark: str, system: str, output: str, topics: int
) -> None:
    expected = printed(folder / output)
    overall = expected.pop("all")
    mine = means(warehouse, benchmark, system)
    assert {name: mine[name] for name in overall} == overall
    given = by_topic(warehouse, benchmark, system)
    assert len(given) == 3
    assert len(expected) == topics
    for topic, values in expected.items():
        assert {name: given[topic][name] for name in values} == values, topic
        assert set(values) == set(NAMES.values())


def test_a_topic_that_the_run_leaves_out_retrieved_nothing(warehouse: Warehouse) -> None:
    left_out = warehouse.fetch(
        "SELECT question_id, status, reason, max(value) AS value FROM scores "
        "WHERE benchmark = 'test' AND system = 'trunc' AND question_id NOT IN "
        "(SELECT question_id FROM contexts WHERE benchmark = 'test' AND system = 'trunc') "
        "GROUP BY ALL"
    )
    assert left_out.rows() == [("302", "scored", None, 0.0)]


def test_another_pair_loads_whole(warehouse: Warehouse, folder: Path) -> None:
    judged = (folder / "compat.qrels").read_text(encoding="utf-8").split("\n")
    ranked = (folder / "compat.run").read_text(encoding="utf-8").split("\n")
    pairs = warehouse.fetch(
        "SELECT sum(len(gold_relevance)) FROM questions WHERE benchmark = 'compat'"
    )
    assert pairs.item() == sum(bool(line.strip()) for line in judged)
    topics = {line.split()[0] for line in judged if line.strip()}
    places = warehouse.fetch("SELECT count(*) FROM contexts WHERE benchmark = 'compat'").item()
    assert places == sum(line.split()[0] in topics for line in ranked if line.strip())
    assert set(by_topic(warehouse, "compat", "compat")) == topics
