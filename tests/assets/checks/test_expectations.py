"""Rows are validated before later stages use them, and only if something changed."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest

from assets import definitions
from assets.checks.data_docs import write_expectations_page
from assets.checks.expectations import build_batches, expectations_stage, validate_stages
from assets.fingerprints.up_to_date import is_current
from assets.keys import BENCHMARKS
from tests.assets.conftest import write
from tests.support.services import takes_minutes
from warehouse.store import Warehouse
from warehouse.validation.expectation import Expectation
from warehouse.validation.validator import VALIDATOR

if TYPE_CHECKING:
    from assets.project import Project
    from tests.assets.conftest import Workshop

STAGES = ("questions", "predictions", "scores/citation", "leaderboard")


def slow(limit: float, severity: Any = "error") -> Expectation:
    return Expectation(
        kind="expect_column_values_to_be_between",
        kwargs={"column": "latency_s", "max_value": limit},
        severity=severity,
        meaning="answers come in time",
    )


@pytest.fixture
def project(workshop: Workshop) -> Project:
    """One benchmark, one evaluator, and answers that take one to six seconds."""
    write(workshop.home / "questions.jsonl", workshop.questions)
    for system, rows in workshop.predictions.items():
        timed = [{**row, "latency_s": at + 1.0} for at, row in enumerate(rows)]
        write(workshop.home / f"{system}.predictions.jsonl", timed)
    workshop.evaluators = {"citation": {}}
    workshop.instance.add_dynamic_partitions(BENCHMARKS.name, ["trial"])
    return replace(workshop.project, validation="full")


def expecting(project: Project, table: str, *wanted: Expectation) -> Project:
    trial = replace(project.benchmarks["trial"], expectations={table: wanted})
    return replace(project, benchmarks={"trial": trial})


def run(project: Project, workshop: Workshop) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        [*definitions.build_assets(project), *definitions.build_checks(project)],
        instance=workshop.instance,
        resources={"warehouse": Warehouse(project.warehouse), "project": project},
        partition_key="trial",
        raise_on_error=False,
    )


def made(result: dg.ExecuteInProcessResult) -> set[str]:
    events = result.get_asset_materialization_events()
    return {event.asset_key.to_user_string() for event in events if event.asset_key}


def validated(result: dg.ExecuteInProcessResult) -> dict[str, int]:
    """Return the number of expectations that the checks of each asset validated, if any."""
    return {
        each.asset_key.to_user_string(): each.metadata["expectations"].value
        for each in result.get_asset_check_evaluations()
        if "expectations" in each.metadata
    }


def failures(result: dg.ExecuteInProcessResult) -> dict[str, tuple[str, str]]:
    return {
        each.asset_check_key.to_user_string(): (each.severity.name, each.description or "")
        for each in result.get_asset_check_evaluations()
        if not each.passed
    }


@takes_minutes
def test_a_valid_project_is_validated_once(project: Project, workshop: Workshop) -> None:
    first = run(project, workshop)
    assert first.success
    assert set(validated(first)) == set(STAGES)
    warehouse = Warehouse(project.warehouse)
    results = warehouse.fetch('SELECT "table", success FROM validations')
    assert results["success"].to_list() == [1] * sum(validated(first).values())
    assert {expectations_stage(stage) for stage in STAGES} <= set(warehouse.fingerprints("trial"))
    assert is_current(project, ["trial"])
    assert warehouse.fetch("SELECT count(*) FROM quarantine").item() == 0

    again = run(project, workshop)
    assert again.success
    # Only the publication is new, with which drift compares.
    assert set(validated(again)) == {"leaderboard"}
    assert {each.check_name for each in again.get_asset_check_evaluations()} >= {"drift"}


@takes_minutes
def test_a_failed_expectation_blocks_later_stages_until_it_holds(
    project: Project, workshop: Workshop
) -> None:
    strict = expecting(project, "predictions", slow(4))
    result = run(strict, workshop)
    assert not result.success
    assert made(result) == {"questions", "predictions"}
    assert failures(result) == {
        "predictions:as_described": (
            "ERROR",
            "predictions: expected: trial: answers come in time: 4 rows break it",
        )
    }
    warehouse = Warehouse(strict.warehouse)
    quarantined = warehouse.fetch(
        "SELECT benchmark, system, question_id, \"row\"->>'latency_s' AS latency, expectation "
        "FROM quarantine ORDER BY system, question_id"
    )
    assert quarantined.rows() == [
        ("trial", system, f"q{at}", f"{at + 1}.0", "trial: answers come in time")
        for system in ("good", "poor")
        for at in (4, 5)
    ]
    # A second run finds nothing new in the files, and is stopped all the same.
    assert made(run(strict, workshop)) == {"questions", "predictions"}
    assert not is_current(strict, ["trial"])
    assert run(expecting(project, "predictions", slow(6)), workshop).success


@takes_minutes
def test_a_broken_rule_that_sql_finds_is_explained_by_great_expectations(
    project: Project, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = []
    validate = VALIDATOR.validate
    monkeypatch.setattr(
        VALIDATOR,
        "validate",
        lambda warehouse, batches: used.extend(batches) or validate(warehouse, batches),
    )
    assert run(project, workshop).success
    assert used == []
    warehouse = Warehouse(project.warehouse)
    with warehouse.transaction() as transaction:
        transaction.execute("UPDATE predictions SET latency_s = -1 WHERE question_id = 'q0'")
        transaction.execute("DELETE FROM marks WHERE stage = 'expectations/predictions'")
    results = validate_stages(warehouse, project, ["predictions"], ["trial"], "run")
    (failed,) = results["predictions"].failed
    assert [batch.table for batch in used] == ["predictions"]
    assert str(failed) == "predictions: expected: latency_s is not below 0: 2 rows break it"
    assert {row["question_id"] for row in failed.rows} == {"q0"}
    used.clear()
    validate_stages(warehouse, project, ["questions"], ["trial"], "run", force=True)
    assert [batch.table for batch in used] == ["questions", "documents"]


@takes_minutes
def test_a_warning_blocks_nothing_and_is_reported_once(
    project: Project, workshop: Workshop
) -> None:
    lenient = expecting(project, "predictions", slow(4, "warn"))
    result = run(lenient, workshop)
    assert result.success
    assert failures(result)["predictions:as_described"][0] == "WARN"
    assert is_current(lenient, ["trial"])
    assert not is_current(expecting(project, "predictions", slow(3, "warn")), ["trial"])


@takes_minutes
def test_scores_and_leaderboards_are_validated_before_they_are_used(
    project: Project, workshop: Workshop
) -> None:
    mean = Expectation(
        kind="expect_column_mean_to_be_between", kwargs={"column": "f1", "min_value": 0.9}
    )
    result = run(expecting(project, "scores/citation", mean), workshop)
    assert made(result) == {"questions", "predictions", "scores/citation"}
    # One system cites all and only the evidence, the other none of it.
    assert failures(result)["scores/citation:complete_grid"][1].endswith("found 0.5")
    best = Expectation(
        kind="unexpected_rows_expectation",
        kwargs={"unexpected_rows_query": "SELECT * FROM {batch} WHERE mean < 0.5"},
    )
    result = run(expecting(project, "leaderboard", best), workshop)
    assert "published" not in made(result)
    assert set(failures(result)) == {"leaderboard:as_described"}


BROKEN = [
    ("questions", "UPDATE questions SET correct_choice = 2, choices = ['a', 'b']", "one of the op"),
    ("questions", "UPDATE questions SET noise_ratio = 1.5", "noise_ratio is not below 0 and not"),
    ("questions", "UPDATE questions SET scenario = 'noise'", "scenario is one of"),
    ("questions", "UPDATE questions SET perturbs = question_id", "no variant of itself"),
    ("predictions", "UPDATE predictions SET cost_usd = -1", "cost_usd is not below 0"),
    ("predictions", "UPDATE predictions SET choice_logprobs = [0.1]", "logarithm"),
    ("predictions", "UPDATE predictions SET question_id = 'q9'", "to a question of its benchmark"),
    ("scores/citation", 'UPDATE grades SET "values" = [1, 2, 1]', "recall is not below 0 and not"),
    ("scores/citation", 'UPDATE grades SET "values" = [1, NULL, 1]', "null exactly when"),
    (
        "scores/citation",
        "UPDATE grades SET statuses = ['scored', 'lost', 'scored']",
        "recall_status is one of",
    ),
    ("leaderboard", "UPDATE leaderboard SET coverage = 1.01", "coverage is not below"),
    ("leaderboard", "UPDATE leaderboard SET rank = 0", "rank is not below 1"),
    ("leaderboard", "UPDATE leaderboard SET n_scored = n + 1", "no more samples are scored"),
    ("leaderboard", "UPDATE leaderboard SET mean = bound_high + 0.1", "between its bounds"),
    (
        "leaderboard",
        "UPDATE leaderboard SET mean = -1, bound_low = -1, ci_low = -1",
        "within the bounds of its metric",
    ),
]


@takes_minutes
def test_rules_of_the_schema_are_validated(project: Project, workshop: Workshop) -> None:
    assert run(project, workshop).success
    warehouse = Warehouse(project.warehouse)
    for stage, statement, meaning in BROKEN:
        batches = list(build_batches(project, stage, ["trial"]))
        assert all(each.success for each in VALIDATOR.validate(warehouse, batches)), stage
        before = {
            table: warehouse.fetch(f"SELECT * FROM {table}")
            for table in ("questions", "predictions", "grades", "leaderboard")
        }
        with warehouse.transaction() as transaction:
            transaction.execute(statement)
        broken = [each for each in VALIDATOR.validate(warehouse, batches) if not each.success]
        assert any(meaning in each.expectation for each in broken), statement
        assert any(each.rows for each in broken)
        for table, rows in before.items():
            warehouse.replace(table, rows, where={})


@takes_minutes
def test_drift_since_the_last_publication_is_a_warning(
    project: Project, workshop: Workshop
) -> None:
    priced = workshop.predictions["good"]
    write(workshop.home / "good.predictions.jsonl", [{**row, "cost_usd": 0.01} for row in priced])
    assert run(project, workshop).success
    failed = [
        {"question_id": row["question_id"], "error": "no answer", "cost_usd": 0.02}
        if at == 0
        else {**row, "cost_usd": 0.02}
        for at, row in enumerate(priced)
    ]
    write(workshop.home / "good.predictions.jsonl", failed)
    result = run(project, workshop)
    assert result.success
    severity, description = failures(result)["leaderboard:drift"]
    assert severity == "WARN"
    # One of six answers failed, and the others cost twice as much.
    assert "trial, good, citation: 0 before, 0.1667 now" in description
    assert "trial, good, answers: 0.01 before, 0.02 now" in description
    assert "coverage" not in description
    unmoved = run(project, workshop)
    assert "leaderboard:drift" not in failures(unmoved)


class Plain(HTMLParser):
    """The text and the tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag; its only links are an empty icon and the one to the content of the page."""
        self.tags.append(tag)
        links = [(n, value) for n, value in attrs if n in ("src", "href", "onerror")]
        assert links in ([], [("href", "#main")], [("href", "data:,")])

    def handle_data(self, data: str) -> None:
        """Record text."""
        self.text += data


@takes_minutes
def test_the_page_shows_failing_rows_and_has_no_script(
    project: Project, workshop: Workshop
) -> None:
    nasty = "<script>alert(1)</script>"
    rows = workshop.predictions["poor"]
    late = [{**rows[0], "answer": nasty, "latency_s": 99}, *rows[1:]]
    write(workshop.home / "poor.predictions.jsonl", late)
    said = Expectation(
        kind="unexpected_rows_expectation",
        kwargs={
            "unexpected_rows_query": "SELECT system, question_id, answer FROM {batch} "
            "WHERE latency_s > 50"
        },
        meaning="answers come <soon>",
    )
    assert not run(expecting(project, "predictions", said), workshop).success
    page = project.publish / "expectations.html"
    shown = Plain()
    shown.feed(page.read_text(encoding="utf-8"))
    assert "script" not in shown.tags
    assert nasty in shown.text
    assert "answers come <soon>" in shown.text
    assert "cost_usd is not below 0" in shown.text
    assert write_expectations_page(Warehouse(project.warehouse), project.publish) == page


def test_without_great_expectations_the_checks_in_sql_remain(
    project: Project, workshop: Workshop
) -> None:
    quick = replace(expecting(project, "predictions", slow(4)), validation="sql")
    result = run(quick, workshop)
    assert result.success
    assert validated(result) == {}
    assert is_current(quick, ["trial"])
