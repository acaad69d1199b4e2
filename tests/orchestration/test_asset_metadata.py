"""The static metadata of assets: where their columns come from, and which file computes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest
import yaml

from assets.definitions import build_assets
from orchestration import starter
from orchestration.config import load
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from dagster import AssetSpec

METRICS = '''"""Metrics of the project."""

import scoreline


@scoreline.metric
def short(answer: str) -> bool:
    """The answer has at most ten words."""
    return len(answer.split()) <= 10
'''
LINEAGE = "dagster/column_lineage"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The starter project with an own metric, a judged evaluator and a composite."""
    starter.write_starter(tmp_path)
    (tmp_path / "metrics.py").write_text(METRICS, "utf-8")
    file = tmp_path / "scoreline.yaml"
    document = yaml.safe_load(file.read_text("utf-8"))
    document["plugins"] = ["metrics.py"]
    (benchmark,) = document["benchmarks"].values()
    benchmark["evaluators"] = ["citation", "short", "rubric_judge", "rubric_combined"]
    benchmark["evaluators"] += ["document_retrieval"]
    file.write_text(yaml.safe_dump(document), "utf-8")
    return file


def specs(config: Path) -> dict[str, AssetSpec]:
    project = load.load_config(config).project
    built = [spec for asset in build_assets(project) for spec in asset.specs]
    return {spec.key.to_user_string(): spec for spec in built}


def sources(spec: AssetSpec, column: str) -> set[str]:
    """The columns from which one column is computed, as `asset.column`."""
    lineage: Any = spec.metadata[LINEAGE]
    return {
        f"{dependency.asset_key.to_user_string()}.{dependency.column_name}"
        for dependency in lineage.deps_by_column[column]
    }


def test_columns_are_traced_from_inputs_to_the_leaderboard(config: Path) -> None:
    found = specs(config)
    citation = found["scores/citation"]
    cited = {"questions.gold_sentence_ids", "predictions.cited_sentence_ids"}
    assert sources(citation, "value") == sources(citation, "status") == cited
    assert sources(citation, "system") == {"predictions.system"}
    assert sources(found["scores/short"], "value") == {"predictions.answer"}

    calls = found["judgments/rubric_judge"]
    asked = sources(calls, "digest")
    assert {"questions.question", "predictions.answer"} <= asked
    judged = sources(found["scores/rubric_judge"], "value")
    assert judged == asked | {"judgments/rubric_judge.digest"}
    parts = {dep.asset_key.to_user_string() for dep in found["scores/rubric_combined"].deps}
    combined = sources(found["scores/rubric_combined"], "value")
    assert combined == {f"{part}.value" for part in parts}
    assert "scores/rubric_judge.value" in combined

    scores = {key for key in found if key.startswith("scores/")}
    assert sources(found["leaderboard"], "mean") == {f"{key}.value" for key in scores}
    assert sources(found["leaderboard"], "n_scored") == {f"{key}.status" for key in scores}


def test_every_column_of_the_lineage_exists(config: Path) -> None:
    found = specs(config)
    columns = {
        key: {column.name for column in spec.metadata["dagster/column_schema"].columns}
        for key, spec in found.items()
        if "dagster/column_schema" in spec.metadata
    }
    traced = {
        key: spec.metadata[LINEAGE] for key, spec in found.items() if LINEAGE in spec.metadata
    }
    assert traced.keys() == {key for key in found if "/" in key} | {"leaderboard"}
    for key, lineage in traced.items():
        assert lineage.deps_by_column.keys() <= columns[key]
        for dependencies in lineage.deps_by_column.values():
            assert dependencies
            upstream = {
                (each.asset_key.to_user_string(), each.column_name) for each in dependencies
            }
            assert all(name in columns[asset] for asset, name in upstream)


def test_scores_refer_to_the_file_of_their_evaluator(config: Path) -> None:
    found = specs(config)

    def reference(name: str) -> Any:
        (only,) = found[f"scores/{name}"].metadata["dagster/code_references"].code_references
        return only

    own = reference("short")
    assert (Path(own.file_path), own.label) == (config.parent / "metrics.py", "short")
    assert METRICS.splitlines()[own.line_number - 1 :][:2] == [
        "@scoreline.metric",
        "def short(answer: str) -> bool:",
    ]
    library = Path(reference("citation").file_path)
    assert library.parts[-3:] == ("library", "citations", "citation.py")
    assert "class Citation" in library.read_text("utf-8")


@takes_minutes
def test_one_partition_of_a_run_has_the_lineage(tmp_path: Path) -> None:
    """The interface reads the lineage from the latest materialisation."""
    starter.write_starter(tmp_path)
    file = tmp_path / "scoreline.yaml"
    document = yaml.safe_load(file.read_text("utf-8"))
    (benchmark,) = document["benchmarks"].values()
    document["benchmarks"] = {"first": benchmark, "second": benchmark}
    file.write_text(yaml.safe_dump(document, sort_keys=False), "utf-8")
    from orchestration.definitions import build_definitions
    from orchestration.jobs import EVALUATE, range_tags

    job = build_definitions(load.load_config(file).project).resolve_job_def(EVALUATE)
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions("benchmarks", ["first", "second"])
        done = job.execute_in_process(instance=instance, tags=range_tags("first", "second"))
    events = [event.step_materialization_data for event in done.get_asset_materialization_events()]
    with_lineage = {
        (event.materialization.asset_key.to_user_string(), event.materialization.partition)
        for event in events
        if LINEAGE in event.materialization.metadata
    }
    names = ["scores/citation", "scores/evidence_overlap", "scores/document_retrieval"]
    assert with_lineage == {(name, "second") for name in [*names, "leaderboard"]}
