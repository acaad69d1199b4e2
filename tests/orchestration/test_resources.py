"""The resources `warehouse` and `judge`: what the interface shows, and what a run uses."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest

from orchestration.config.judge.factory import LlmJudgeFactory
from orchestration.config.resources import JudgeResource, WarehouseResource, build_resources
from orchestration.definitions import build_definitions
from scoreline.dagster import build_defs
from tests.orchestration.judged_project import JudgedProject
from tests.support.judge_server import JudgeServer
from tests.support.services import takes_minutes
from warehouse.storage.location import Lake
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from tests.support.judge_server import JudgeServer

KEY = "sk-a-key-that-no-file-contains"
VARIABLE = "HELP_DESK_JUDGE_KEY"
PASSWORD = "a-password-that-nobody-sees"  # noqa: S105


@pytest.fixture
def judged(tmp_path: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> JudgedProject:
    """A project with a judge on loopback, whose key is in the environment."""
    monkeypatch.setenv(VARIABLE, KEY)
    judge = {
        "model": "openai/a-judge",
        "api_base": f"http://127.0.0.1:{server.port}/v1",
        "api_key_env": VARIABLE,
        "usd_per_million_in": 1,
        "usd_per_million_out": 1,
        "timeout_s": 20,
    }
    more = {"memory_limit": "1GB", "expectations": "sql"}
    return JudgedProject(tmp_path / "home", judge, evaluators=["context_relevancy"], more=more)


def created(resource: Any) -> Any:
    """What a step gets from a resource."""
    return resource.create_resource(dg.build_init_resource_context())


def test_they_equal_the_configuration(judged: JudgedProject) -> None:
    project = judged.project()
    resources = build_resources(project)
    assert resources.keys() == {"warehouse", "judge"}
    warehouse, judge = resources["warehouse"], resources["judge"]
    assert isinstance(warehouse, WarehouseResource)
    assert isinstance(judge, JudgeResource)
    assert created(warehouse) == Warehouse(project.warehouse, math.inf, "1GB")
    factory = project.engines.judge_factory
    assert isinstance(factory, LlmJudgeFactory)
    given = created(judge).settings
    assert given == factory.settings.model_copy(update={"api_key": given.api_key})
    assert KEY not in repr(created(JudgeResource(**{**vars(judge), "api_key": KEY})).settings)


def test_a_lake_is_described_without_its_password(
    judged: JudgedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE_PASSWORD", PASSWORD)
    folder = judged.home / ".scoreline"
    lake = Lake("dbname=results", "s3://bucket/lake", folder, "team", "LAKE_PASSWORD")
    project = replace(judged.project(), warehouse=lake)
    resource = build_resources(project)["warehouse"]
    assert isinstance(resource, WarehouseResource)
    assert PASSWORD not in repr(resource)
    # Dagster reads the variable at the start of a step.
    resolved = resource.process_config_and_initialize()
    assert resolved.path == lake
    monkeypatch.delenv("LAKE_PASSWORD")
    assert resolved.path.password == PASSWORD
    assert PASSWORD not in repr(resolved)


def test_the_interface_shows_the_variable_of_the_key(judged: JudgedProject) -> None:
    judged.write()
    repository = build_defs(judged.config, key_prefix="desk").get_repository_def()
    shown = repository.get_top_level_resources()
    assert {"desk_warehouse", "desk_judge"} <= shown.keys()
    config: Any = shown["desk_judge"].config_schema.default_value
    assert config["api_key"] == {"env": VARIABLE}
    assert config["model"] == "openai/a-judge"
    assert KEY not in str(config)


def test_without_the_variable_the_location_loads(
    judged: JudgedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that finds all replies in the ledger needs no key; the judge misses it otherwise."""
    monkeypatch.delenv(VARIABLE)
    judge = build_resources(judged.project())["judge"]
    assert isinstance(judge, JudgeResource)
    settings = created(judge).settings
    assert (settings.api_key, settings.api_key_env) == (None, VARIABLE)


def judge_config(defs: dg.Definitions, name: str, **changes: Any) -> dict[str, Any]:
    """The run config, as the launchpad fills it in, with some other values."""
    shown: Any = defs.get_repository_def().get_top_level_resources()[name]
    config = {**shown.config_schema.default_value, **changes}
    return {"resources": {name: {"config": config}}}


@takes_minutes
def test_a_run_uses_the_judge_and_the_key_of_its_resource(
    judged: JudgedProject, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged.write()
    defs = build_defs(judged.config, key_prefix="desk")
    job = defs.resolve_job_def("desk_evaluate")
    # The run may be in a place where the key is in another variable.
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("OTHER_KEY", KEY)
    config = judge_config(defs, "desk_judge", api_key={"env": "OTHER_KEY"})
    with dg.instance_for_test() as instance:
        done = job.execute_in_process(instance=instance, partition_key="rooms", run_config=config)
        home = Path(instance.root_directory)
        assert all(KEY.encode() not in path.read_bytes() for path in home.rglob("*.db*"))
    assert done.success
    assert server.headers["authorization"].removeprefix("Bearer ") == KEY
    assert judged.statuses() == {"scored": 8}


@takes_minutes
def test_another_model_is_refused(judged: JudgedProject, server: JudgeServer) -> None:
    """Scores are signed with the configured judge and would not find the replies of another."""
    defs = build_definitions(judged.project())
    job = defs.resolve_job_def("evaluate")
    config = judge_config(defs, "judge", model="openai/another")
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions("benchmarks", ["rooms"])
        with pytest.raises(ValueError, match=r"`judge` has another model"):
            job.execute_in_process(instance=instance, partition_key="rooms", run_config=config)
    assert server.count == 0
