"""`scoreline.dagster`: projects in the code location of a team, which Dagster loads and runs."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest
import yaml

from orchestration.errors import SettingsNotFound
from scoreline.dagster import build_defs
from tests.scoreline.rows import ANSWERS, MEANS, QUESTIONS
from tests.support.services import takes_minutes
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

LOCATION = """
import dagster as dg
from scoreline.dagster import build_defs

# Names that a project without a prefix would take, too.
@dg.asset(required_resource_keys={"warehouse"})
def questions(context): ...

@dg.job(name="evaluate")
def evaluate(): ...

defs = dg.Definitions.merge(
    dg.Definitions(
        assets=[questions],
        jobs=[evaluate],
        resources={"warehouse": "the team's"},
        executor=dg.in_process_executor,
    ),
    build_defs("first/scoreline.yaml", key_prefix="quality", group_prefix="quality"),
    build_defs("second/scoreline.yaml", key_prefix="rag/quality", group_prefix="rag"),
)
"""


def write_project(folder: Path, **changes: Any) -> Path:
    """Write a project with the benchmarks `night` and `day`, whose means are those of `rows`."""
    folder.mkdir(parents=True)
    answers = {f"{system}.answers": rows for system, rows in ANSWERS.items()}
    for name, rows in {"questions": QUESTIONS, **answers}.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, "utf-8")
    benchmark = {
        "questions": "questions.jsonl",
        "predictions": "{system}.answers.jsonl",
        "evaluators": ["citation"],
    }
    benchmarks = {name: {**benchmark, **changes} for name in ("night", "day")}
    file = folder / "scoreline.yaml"
    document = {"expectations": "sql", "benchmarks": benchmarks}
    file.write_text(yaml.safe_dump(document, sort_keys=False), "utf-8")
    return file


def leaderboard(folder: Path) -> dict[tuple[str, str], float]:
    """The mean of citation.f1 by benchmark and system, in the warehouse of a project."""
    rows = Warehouse(folder / ".scoreline" / "warehouse.duckdb").fetch(
        "SELECT benchmark, system, mean FROM leaderboard WHERE metric = 'f1' AND slice = 'all'"
    )
    return {(benchmark, system): mean for benchmark, system, mean in rows.iter_rows()}


@pytest.fixture
def location(tmp_path: Path) -> Path:
    """The folder of a code location with two projects."""
    for name in ("first", "second"):
        write_project(tmp_path / name)
    (tmp_path / "definitions.py").write_text(LOCATION, "utf-8")
    return tmp_path


def load(location: Path) -> dg.Definitions:
    found: dg.Definitions = runpy.run_path(str(location / "definitions.py"))["defs"]
    return found


def test_several_projects_fit_into_one_location(location: Path) -> None:
    defs = load(location)
    dg.Definitions.validate_loadable(defs)
    specs = {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}
    stages = ["questions", "predictions", "scores/citation", "leaderboard", "calibration"]
    stages += ["problems", "insights", "published"]
    prefixes = ("quality", "rag/quality")
    expected = {f"{prefix}/{stage}" for prefix in prefixes for stage in stages}
    assert set(specs) == expected | {"questions"}
    assert {specs[f"{prefix}/questions"].group_name for prefix in prefixes} == {
        "quality_inputs",
        "rag_inputs",
    }
    scores = specs["rag/quality/scores/citation"]
    upstream = {dependency.asset_key.to_user_string() for dependency in scores.deps}
    assert upstream == {"rag/quality/questions", "rag/quality/predictions"}

    repository = defs.get_repository_def()
    names = ("quality", "rag_quality")
    jobs = {job.name for job in repository.get_all_jobs()} - {"__ASSET_JOB"}
    assert jobs == {"evaluate", *(f"{name}_evaluate" for name in names)}
    assert {each.name for each in repository.schedule_defs} == {f"{n}_nightly" for n in names}
    assert {each.name for each in repository.sensor_defs} == {
        f"{name}_{sensor}"
        for name in names
        for sensor in ("prediction_files", "declarative_automation")
    }
    checks = {key.to_user_string() for key in repository.asset_graph.asset_check_keys}
    assert {f"{prefix}/scores/citation:complete_grid" for prefix in prefixes} <= checks
    partitions = specs["quality/leaderboard"].partitions_def
    assert partitions is not None
    assert partitions.get_partition_keys() == ["night", "day"]


@takes_minutes
def test_a_schedule_evaluates_its_project_only(location: Path) -> None:
    repository = load(location).get_repository_def()
    with dg.instance_for_test() as instance:
        schedule = repository.get_schedule_def("rag_quality_nightly")
        context = dg.build_schedule_context(
            instance=instance,
            scheduled_execution_time=datetime(2026, 11, 20, 2, tzinfo=UTC),
            repository_def=repository,
        )
        (request,) = schedule.evaluate_tick(context).run_requests or ()
        job = repository.get_job("rag_quality_evaluate")
        done = job.execute_in_process(instance=instance, tags=dict(request.tags))
    assert done.success
    assert all(check.passed for check in done.get_asset_check_evaluations())
    materialised = {event.asset_key.path[0] for event in done.get_asset_materialization_events()}
    assert materialised == {"rag"}
    assert leaderboard(location / "second") == pytest.approx(
        {(name, system): mean for name in ("night", "day") for system, mean in MEANS.items()}
    )
    assert not (location / "first" / ".scoreline").exists()


def dagster(location: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Dagster on the location, from another folder and without our variable."""
    home = location / "home"
    home.mkdir(exist_ok=True)
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n", "utf-8")
    environment = {**os.environ, "DAGSTER_HOME": str(home)}
    environment.pop("SCORELINE_CONFIG", None)
    command = [sys.executable, "-m", "dagster", *arguments, "-f", str(location / "definitions.py")]
    return subprocess.run(
        command, env=environment, cwd=home, capture_output=True, text=True, check=False
    )


@takes_minutes
def test_the_commands_of_dagster_need_the_path_only(location: Path) -> None:
    done = dagster(location, "definitions", "validate")
    assert done.returncode == 0, done.stderr
    assert "All code locations passed validation" in done.stdout + done.stderr
    selection = 'key:"quality/questions"+ and not key:"quality/published"'
    done = dagster(location, "asset", "materialize", "--select", selection, "--partition", "day")
    assert done.returncode == 0, done.stderr
    expected = {("day", system): mean for system, mean in MEANS.items()}
    assert leaderboard(location / "first") == pytest.approx(expected)


def test_the_file_sensor_waits_for_runs_of_its_project_only(
    location: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from orchestration.automation import triggers

    repository = load(location).get_repository_def()
    sensor = repository.get_sensor_def("quality_prediction_files")
    with dg.instance_for_test() as instance:

        def tick(cursor: str | None) -> Any:
            context = dg.build_sensor_context(
                instance=instance, repository_def=repository, cursor=cursor
            )
            return sensor.evaluate_tick(context)

        def start(job: str) -> None:
            run = instance.create_run_for_job(repository.get_job(job))
            instance.report_run_canceling(run)

        monkeypatch.setattr(triggers, "time", type("Clock", (), {"time": lambda: 0.0}))
        first = tick(None)
        monkeypatch.setattr(triggers, "time", type("Clock", (), {"time": lambda: 60.0}))
        start("evaluate")
        start("rag_quality_evaluate")
        (request,) = tick(first.cursor).run_requests
        assert request.tags["dagster/asset_partition_range_end"] == "day"
        start("quality_evaluate")
        assert "waiting for 1 runs" in tick(first.cursor).skip_message


def test_a_relative_path_starts_at_the_calling_file(
    location: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert load(location).resolve_all_asset_keys()
    with pytest.raises(SettingsNotFound, match=r"'scoreline\.yaml' does not exist"):
        build_defs("scoreline.yaml")
    # A caller without a file beside it, such as a notebook, reads from the current folder.
    monkeypatch.chdir(location / "first")
    keys = {key.to_user_string() for key in build_defs("scoreline.yaml").resolve_all_asset_keys()}
    assert "scores/citation" in keys


def test_prefixes_are_checked(location: Path) -> None:
    file = location / "first" / "scoreline.yaml"
    with pytest.raises(ValueError, match="key_prefix 'a//b': a part is ''"):
        build_defs(file, key_prefix="a//b")
    with pytest.raises(ValueError, match="group_prefix 'a b': expected letters"):
        build_defs(file, group_prefix="a b")
