"""Annotations of GitHub Actions: what fails, beside the file and line that it is about."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestration.cli.continuous_integration import Place, annotate, places_of
from orchestration.cli.program import program
from warehouse.errors import InputError, Problem, WarehouseError


@pytest.fixture
def in_actions(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return monkeypatch


def invoke(*arguments: str) -> tuple[int, str, list[str]]:
    result = CliRunner().invoke(program, arguments, prog_name="scoreline")
    commands = [line for line in result.stderr.splitlines() if line.startswith("::")]
    return result.exit_code, result.stdout, commands


def test_failed_gates_are_errors_of_the_configuration(
    done_project: Path, in_actions: pytest.MonkeyPatch
) -> None:
    in_actions.setenv("GITHUB_WORKSPACE", str(done_project.parent))
    config = done_project / "scoreline.yaml"
    limits = ["--min", "citation.f1=0.9", "--format", "json"]
    code, out, commands = invoke("gate", *limits, "--config", str(config))
    assert code == 1
    assert out.startswith("[")
    assert len(commands) == 2
    start = f"::error file={done_project.name}/scoreline.yaml,title=scoreline::"
    for command, system in zip(commands, ("keyword", "reader"), strict=True):
        assert command.startswith(start)
        assert system in command
        # `95 %` is escaped.
        assert "at least 0.9 is required" in command
        assert "%" not in command.replace("%25", "")


def test_undecided_gates_are_warnings_unless_they_fail(
    done_project: Path, in_actions: pytest.MonkeyPatch
) -> None:
    in_actions.chdir(done_project)
    compared = ["gate", "--system", "reader", "--baseline", "keyword"]
    code, _, commands = invoke(*compared)
    assert code == 0
    assert len(commands) == 3
    assert all(each.startswith("::warning file=scoreline.yaml,title=") for each in commands)
    code, _, commands = invoke(*compared, "--strict")
    assert code == 1
    assert [each.split()[0] for each in commands] == ["::error"] * 3


def test_errors_of_the_configuration_have_lines(
    tmp_path: Path, in_actions: pytest.MonkeyPatch
) -> None:
    in_actions.chdir(tmp_path)
    (tmp_path / "scoreline.yaml").write_text(
        "publsh: x\nbenchmarks:\n  one: {predictions: p.csv, questions: q.csv, evaluators: [a]}\n"
    )
    code, _, commands = invoke("leaderboard")
    assert code == 2
    assert commands[0].startswith("::error file=scoreline.yaml,line=1,title=scoreline::unknown key")
    in_actions.setenv("GITHUB_ACTIONS", "")
    assert invoke("leaderboard")[2] == []


def test_input_errors_have_files_and_lines(
    tmp_path: Path, in_actions: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    in_actions.chdir(tmp_path)
    for name in ("a,b:c.csv", "q.csv"):
        (tmp_path / name).touch()
    problems = [Problem(tmp_path / "a,b:c.csv", 7, "50 % of\r\nit"), Problem("q.csv", None, "x")]
    problems += [Problem("predictions of 'x'", 3, "y"), Problem("a\0b", None, "z")]
    annotate("error", places_of(InputError(problems), "", None))
    assert capfd.readouterr().err.splitlines() == [
        "::error file=a%2Cb%3Ac.csv,line=7,title=scoreline::50 %25 of%0D%0Ait",
        "::error file=q.csv,title=scoreline::x",
        "::error title=scoreline::predictions of 'x': y",
        "::error title=scoreline::a\\x00b: z",
    ]


def test_a_run_annotates_bad_rows(tmp_path: Path, in_actions: pytest.MonkeyPatch) -> None:
    assert invoke("init", str(tmp_path))[0] == 0
    in_actions.setenv("GITHUB_WORKSPACE", str(tmp_path))
    with (tmp_path / "data" / "questions.jsonl").open("a") as file:
        file.write('{"question": 3}\n')
    code, _, commands = invoke("run", "--config", str(tmp_path / "scoreline.yaml"))
    assert code == 2
    assert [each.partition("::")[2].partition("::")[0] for each in commands] == [
        "error file=data/questions.jsonl,line=7,title=scoreline"
    ]


def test_other_errors_name_the_configuration() -> None:
    config = Path("scoreline.yaml")
    found = places_of(WarehouseError("locked"), "locked", config)
    assert found == [Place("locked", config, None)]
