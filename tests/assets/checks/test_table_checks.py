"""A defect in a table blocks later stages of its benchmark, and of no other."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import dagster as dg
import duckdb
import pytest

from assets import definitions as pipeline
from assets.keys import BENCHMARKS
from tests.assets.conftest import materialise, six, write
from tests.support.services import takes_minutes
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from assets.project import Project
    from tests.assets.conftest import Workshop

CHECKS = {
    "questions:as_described",
    "predictions:as_described",
    "scores/document_retrieval:complete_grid",
    "scores/citation:complete_grid",
    "leaderboard:as_described",
    "leaderboard:counts_add_up",
    "leaderboard:drift",
}
WARNING = "leaderboard:drift"
STAGES = [
    *("questions", "predictions", "scores", "leaderboard"),
    *("calibration", "problems", "insights", "published"),
]
SOUTH = "WHERE benchmark = 'south'"
GRADE = f"{SOUTH} AND system = 'poor' AND question_id = 'q1' AND evaluator = 'citation'"
STANDING = f"{SOUTH} AND slice = 'all' AND system = 'poor' AND metric = 'f1'"


def two(workshop: Workshop) -> Project:
    """Two benchmarks with the same files."""
    write(workshop.home / "questions.jsonl", workshop.questions)
    for system, rows in workshop.predictions.items():
        write(workshop.home / f"{system}.predictions.jsonl", rows)
    del workshop.evaluators["classification"]
    one = workshop.project
    benchmarks = {name: replace(one.benchmarks["trial"], name=name) for name in ("north", "south")}
    workshop.instance.add_dynamic_partitions(BENCHMARKS.name, list(benchmarks))
    return replace(one, benchmarks=benchmarks)


@pytest.fixture
def project(workshop: Workshop) -> Project:
    """The two benchmarks, before their first run."""
    return two(workshop)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the same after a run of both, to be copied."""
    home = tmp_path_factory.mktemp("both")
    with six(home) as workshop:
        assert materialise(two(workshop), workshop.instance).success
    return home


@pytest.fixture
def done(project: Project, workshop: Workshop, once: Path) -> Project:
    """The same, after a run of both."""
    shutil.copytree(once, workshop.home, dirs_exist_ok=True)
    return project


def run(
    project: Project, workshop: Workshop, benchmark: str, *systems: str
) -> dg.ExecuteInProcessResult:
    """Materialises everything for one benchmark."""
    config = {"config": {"systems": list(systems)}}
    return dg.materialize(
        [*pipeline.build_assets(project), *pipeline.build_checks(project)],
        instance=workshop.instance,
        resources={"warehouse": Warehouse(project.warehouse), "project": project},
        partition_key=benchmark,
        run_config={"ops": {"score": config, "check_scores": config, "check_leaderboard": config}},
        raise_on_error=False,
    )


def spoil(project: Project, statement: str) -> None:
    with duckdb.connect(str(project.warehouse)) as connection:
        connection.execute(statement)


def failed(result: dg.ExecuteInProcessResult) -> dict[str, str]:
    return {
        found.asset_check_key.to_user_string(): found.description or ""
        for found in result.get_asset_check_evaluations()
        if not found.passed
    }


def made(result: dg.ExecuteInProcessResult) -> set[str]:
    events = result.get_asset_materialization_events()
    return {event.asset_key.path[0] for event in events if event.asset_key}


DEFECTS = [
    (
        "questions:as_described",
        "INSERT INTO questions BY NAME SELECT 'south' AS benchmark, 'q1' AS question_id",
        "2 rows of 'questions' have the key benchmark='south', question_id='q1', expected one",
    ),
    (
        "predictions:as_described",
        (
            f"INSERT INTO predictions SELECT * FROM predictions {SOUTH} AND question_id = 'q1' "
            "AND system = 'poor'"
        ),
        (
            "2 rows of 'predictions' have the key benchmark='south', system='poor', "
            "question_id='q1', repeat=0, expected one"
        ),
    ),
    (
        "scores/citation:complete_grid",
        f"DELETE FROM grades {GRADE}",
        "south: system 'poor' has 5 grades for 6 samples",
    ),
    (
        "leaderboard:counts_add_up",
        f"UPDATE leaderboard SET n = 5, n_scored = 5 {STANDING}",
        "citation.f1 of 'poor' on 'all' of 'south' counts 5 samples, expected 6",
    ),
]


def test_a_defect_blocks_its_benchmark(done: Project, workshop: Workshop) -> None:
    sound = done.warehouse.with_name("sound.duckdb")
    shutil.copyfile(done.warehouse, sound)
    for check, statement, message in DEFECTS:
        shutil.copyfile(sound, done.warehouse)
        spoil(done, statement)
        result = run(done, workshop, "south")
        assert not result.success
        assert failed(result) == {check: message}
        stage = check.partition("/")[0].partition(":")[0]
        # Questions and predictions come in together, before either is checked.
        last = max(STAGES.index(stage), STAGES.index("predictions"))
        assert made(result) == set(STAGES[: last + 1])
        if stage in ("questions", "leaderboard"):
            # The first and the last: what lies between them asks in the same way.
            untouched = run(done, workshop, "north")
            assert untouched.success
            assert made(untouched) == set(STAGES)


def test_every_check_blocks_and_names_its_benchmarks(done: Project, workshop: Workshop) -> None:
    found = run(done, workshop, "north").get_asset_check_evaluations()
    assert {each.asset_check_key.to_user_string() for each in found} == CHECKS
    assert all(each.passed for each in found)
    blocking = {each.asset_check_key.to_user_string(): each.blocking for each in found}
    assert blocking == {name: name != WARNING for name in CHECKS}
    assert {each.severity for each in found} == {dg.AssetCheckSeverity.ERROR}
    assert {each.metadata["benchmarks"].value for each in found} == {"north"}


@takes_minutes
def test_a_run_of_selected_systems_checks_only_them(done: Project, workshop: Workshop) -> None:
    spoil(done, f"DELETE FROM grades {GRADE}")
    assert run(done, workshop, "south", "good").success
    assert set(failed(run(done, workshop, "south", "poor"))) == {"scores/citation:complete_grid"}


def test_checks_that_run_alone_check_every_benchmark(done: Project, workshop: Workshop) -> None:
    definitions = dg.Definitions(
        assets=pipeline.build_assets(done),
        asset_checks=pipeline.build_checks(done),
        resources={"warehouse": Warehouse(done.warehouse), "project": done},
        jobs=[dg.define_asset_job("look", selection=dg.AssetSelection.all_asset_checks())],
    )
    job = definitions.resolve_job_def("look")
    found = job.execute_in_process(instance=workshop.instance).get_asset_check_evaluations()
    assert {each.metadata["benchmarks"].value for each in found} == {"north, south"}
    spoil(done, f"DELETE FROM grades {GRADE}")
    result = job.execute_in_process(instance=workshop.instance, raise_on_error=False)
    # The leaderboard still counts the score that is gone.
    faults = {"scores/citation:complete_grid", "leaderboard:counts_add_up"}
    assert set(failed(result)) == faults


@takes_minutes
def test_a_benchmark_that_does_not_use_an_evaluator_completes(
    project: Project, workshop: Workshop
) -> None:
    south = project.benchmarks["south"]
    only = next(each for each in south.evaluators if each.name == "citation")
    fewer = {**project.benchmarks, "south": replace(south, evaluators=(only,))}
    result = run(replace(project, benchmarks=fewer), workshop, "south")
    assert result.success
    assert made(result) == set(STAGES)
    ranked = Warehouse(project.warehouse).fetch("SELECT DISTINCT evaluator FROM leaderboard")
    assert ranked["evaluator"].to_list() == ["citation"]


@takes_minutes
def test_each_benchmark_reports_its_own_rows(project: Project, workshop: Workshop) -> None:
    write(workshop.home / "less.jsonl", workshop.questions[:2])
    workshop.predictions["good"] = workshop.predictions["good"][:2]
    (workshop.home / "less").mkdir()
    write(workshop.home / "less" / "good.jsonl", workshop.predictions["good"])
    south = replace(
        project.benchmarks["south"],
        questions=workshop.home / "less.jsonl",
        predictions=workshop.home / "less" / "{system}.jsonl",
    )
    both = replace(project, benchmarks={**project.benchmarks, "south": south})
    result = materialise(both, workshop.instance)
    rows = {
        (event.asset_key.to_user_string(), event.partition): materialization.metadata[
            "dagster/partition_row_count"
        ].value
        for event in result.get_asset_materialization_events()
        if event.asset_key and event.partition
        for materialization in [event.step_materialization_data.materialization]
    }
    assert rows["questions", "north"] == 6
    assert rows["questions", "south"] == 2
    assert rows["predictions", "north"] == 12
    assert rows["predictions", "south"] == 2
    # Three metrics of every sample.
    assert rows["scores/citation", "north"] == 36
    assert rows["scores/citation", "south"] == 6
    leaderboard = Warehouse(project.warehouse).fetch(
        "SELECT benchmark, count(*) FROM leaderboard GROUP BY ALL ORDER BY ALL"
    )
    assert leaderboard.rows() == [(name, rows["leaderboard", name]) for name in both.benchmarks]
