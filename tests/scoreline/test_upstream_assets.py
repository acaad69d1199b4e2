"""`deps`: projects whose files are written by assets of the team that they are merged with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest
import yaml

from assets.keys import PREDICTIONS, QUESTIONS
from orchestration.config.load import load_config
from orchestration.definitions import build_definitions
from orchestration.errors import SettingsError
from scoreline.dagster import build_defs
from tests.scoreline.rows import ANSWERS
from tests.scoreline.rows import QUESTIONS as ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANSWERS_KEY = dg.AssetKey(["team", "answers"])
LOGS_KEY = dg.AssetKey(["team", "logs"])
DAYS = dg.DailyPartitionsDefinition("2026-11-20")


@dg.asset(key=ANSWERS_KEY)
def answers() -> None:
    """Write the answers of the benchmarks `night` and `day`."""


@dg.asset(key=LOGS_KEY, partitions_def=DAYS)
def logs() -> None:
    """Write the answers of the benchmark `day`, day by day."""


TEAM = dg.Definitions(assets=[answers, logs])
DEPS = {"night": ["team/answers"], "day": ["team/answers", "team/logs"], "dusk": []}


def write_project(folder: Path, deps: dict[str, Any]) -> Path:
    rows = {"questions": ROWS, "good.answers": ANSWERS["good"]}
    for name, lines in rows.items():
        text = "".join(json.dumps(row) + "\n" for row in lines)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    benchmark = {
        "questions": "questions.jsonl",
        "predictions": "{system}.answers.jsonl",
        "evaluators": ["citation"],
    }
    benchmarks = {name: {**benchmark, "deps": keys} for name, keys in deps.items()}
    file = folder / "scoreline.yaml"
    document = {"expectations": "sql", "benchmarks": benchmarks}
    file.write_text(yaml.safe_dump(document, sort_keys=False), "utf-8")
    return file


@pytest.fixture
def defs(tmp_path: Path) -> dg.Definitions:
    """The location of a team with one project."""
    file = write_project(tmp_path, DEPS)
    return dg.Definitions.merge(TEAM, build_defs(file, key_prefix="quality"))


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test() as made:
        yield made


def test_the_inputs_are_downstream(defs: dg.Definitions) -> None:
    dg.Definitions.validate_loadable(defs)
    graph = defs.resolve_asset_graph()
    upstream = {key: graph.get(key.with_prefix("quality")).parent_keys for key in STAGES}
    assert upstream == {
        QUESTIONS: {ANSWERS_KEY, LOGS_KEY},
        PREDICTIONS: {ANSWERS_KEY, LOGS_KEY, QUESTIONS.with_prefix("quality")},
    }


STAGES = (QUESTIONS, PREDICTIONS)


class Sensor:
    """The sensor of upstream assets, tick after tick."""

    def __init__(self, defs: dg.Definitions, instance: dg.DagsterInstance) -> None:
        self.repository = defs.get_repository_def()
        self.instance = instance
        self.cursor: str | None = None

    def tick(self) -> list[tuple[str, str]]:
        """The first and the last benchmark of each requested run."""
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, repository_def=self.repository
        )
        sensor = self.repository.get_sensor_def("quality_upstream_assets")
        result = sensor.evaluate_tick(context)
        self.cursor = result.cursor or self.cursor
        kind = "dagster/asset_partition_range"
        requests = result.run_requests or ()
        return [(each.tags[f"{kind}_start"], each.tags[f"{kind}_end"]) for each in requests]


def test_the_sensor_runs_the_benchmarks_of_the_updated_assets(
    defs: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    sensor = Sensor(defs, instance)
    assert sensor.tick() == []
    dg.materialize([answers], instance=instance)
    assert sensor.tick() == [("night", "day")]
    assert sensor.tick() == []
    dg.materialize([logs], instance=instance, partition_key="2026-11-20")
    assert sensor.tick() == [("day", "day")]
    assert sensor.tick() == []


def test_the_sensor_waits_for_the_previous_evaluation(
    defs: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    sensor = Sensor(defs, instance)
    dg.materialize([answers], instance=instance)
    run = instance.create_run_for_job(sensor.repository.get_job("quality_evaluate"))
    instance.report_run_canceling(run)
    assert sensor.tick() == []
    instance.report_run_canceled(run)
    assert sensor.tick() == [("night", "day")]


@pytest.mark.filterwarnings("ignore:Parameter .include_sources.")
@pytest.mark.parametrize("updated", [answers, logs])
def test_the_automation_condition_holds_when_an_upstream_asset_was_updated(
    defs: dg.Definitions, instance: dg.DagsterInstance, updated: dg.AssetsDefinition
) -> None:
    before = dg.evaluate_automation_conditions(defs, instance)
    inputs = [key.with_prefix("quality") for key in STAGES]
    assert not any(before.get_requested_partitions(key) for key in inputs)
    partition = {"partition_key": "2026-11-20"} if updated is logs else {}
    dg.materialize([updated], instance=instance, **partition)
    after = dg.evaluate_automation_conditions(defs, instance, cursor=before.cursor)
    assert all(after.get_requested_partitions(key) == set(DEPS) for key in inputs)
    again = dg.evaluate_automation_conditions(defs, instance, cursor=after.cursor)
    assert not any(again.get_requested_partitions(key) for key in inputs)


def test_without_the_assets_the_project_still_runs(tmp_path: Path) -> None:
    """In `scoreline run` and `dev` the assets of the team are names without a definition."""
    own = build_definitions(load_config(write_project(tmp_path, DEPS)).project)
    dg.Definitions.validate_loadable(own)
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions("benchmarks", list(DEPS))
        job = own.resolve_job_def("evaluate")
        assert ANSWERS_KEY not in job.asset_layer.executable_asset_keys


@pytest.mark.parametrize("key", ["", "/", "team//answers", "team/ "])
def test_a_key_has_no_empty_parts(tmp_path: Path, key: str) -> None:
    file = write_project(tmp_path, {"night": [key]})
    with pytest.raises(SettingsError, match=r":9: benchmarks\.night\.deps"):
        load_config(file)
