"""`scoreline gate`: its messages, limits and errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from scipy import stats

from assets.gates.result import GateResult
from orchestration.cli.gate_output import describe_interval, has_decisive_interval
from orchestration.cli.program import program
from tests.orchestration.conftest import Ended
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

    from assets.gates.result import Verdict


def gate(folder: Path, *arguments: str) -> Ended:
    """Run the command on the benchmark of the starter project."""
    options = ["--benchmark", "harbour", "--config", str(folder / "scoreline.yaml")]
    result = CliRunner().invoke(program, ["gate", *arguments, *options], prog_name="scoreline")
    return Ended(result.exit_code, result.stdout, result.stderr)


def test_passing_gate(done_project: Path) -> None:
    ended = gate(done_project, "--system", "reader", "--baseline", "keyword")
    assert ended.code == 0
    assert ended.err.splitlines()[-1] == "'reader' passes: 3 not enough data"


def test_limits_check_all_systems(done_project: Path) -> None:
    ended = gate(done_project, "--min", "citation.f1=0.05", "--format", "json")
    assert ended.code == 0
    rows = json.loads(ended.out)
    assert [(row["system"], row["verdict"]) for row in rows] == [
        ("keyword", "met"),
        ("reader", "met"),
    ]
    assert {row["limit"] for row in rows} == {0.05}
    assert all(row["ci_low"] <= row["mean"] <= row["ci_high"] for row in rows)
    assert ended.err.splitlines()[-1] == "every system passes: 2 met"


def test_a_gate_without_anything_to_check_fails(
    done_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestration.published.load_systems", lambda *_: [])
    ended = gate(done_project, "--min", "citation.f1=0.05")
    assert ended.code == 1
    assert "'harbour' has nothing that the gate can check: no system or no metric" in ended.err


def test_missed_limit(done_project: Path) -> None:
    ended = gate(done_project, "--system", "keyword", "--min", "citation.f1=1")
    assert ended.code == 1
    assert (
        "'keyword' does not pass: citation.f1: missed\n  citation.f1 of keyword is 0." in ended.err
    )
    assert "on 6 questions, but at least 1 is required" in ended.err
    assert gate(done_project, "--system", "keyword", "--max", "citation.f1=0").code == 1


def test_confident_limit_is_for_the_exact_end_of_the_interval(done_project: Path) -> None:
    """Wilson's interval, which the row shows, is shorter than that of the exact test."""
    (row,) = json.loads(
        gate(done_project, "--system", "reader", "--min", "citation.f1=0", "--format", "json").out
    )
    assert (row["n_scored"], row["mean"]) == (6, pytest.approx(5 / 6))
    exact = {"--min": stats.beta.ppf(0.025, 5, 2), "--max": stats.beta.ppf(0.975, 6, 1)}
    for option, bound in (("--min", "ci_low"), ("--max", "ci_high")):
        limit = ["--system", "reader", option, f"citation.f1={row[bound]}"]
        assert gate(done_project, *limit).code == 0
        ended = gate(done_project, *limit, "--confident")
        assert ended.code == 1
        assert "end of the interval is required" in ended.err
        beyond = exact[option] + (-1e-6 if option == "--min" else 1e-6)
        reached = ["--system", "reader", option, f"citation.f1={beyond}", "--confident"]
        assert gate(done_project, *reached).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "expected --baseline, --min or --max"),
        (["--min", "citation.f1"], "expected METRIC=NUMBER such as citation.f1=0.6"),
        (["--min", "citation.f1=high"], "expected METRIC=NUMBER"),
        (["--min", "citation.f1=nan"], "expected METRIC=NUMBER"),
        (["--min", "citation.f1=0.1", "--min", "citation.f1=0.2"], "'citation.f1' is given twice"),
        (["--min", "citation.f=0.1"], "has no metric 'citation.f' (did you mean 'citation.f1'?)"),
        (["--min", "citation.f1=60"], "outside the bounds of citation.f1: expected 0 to 1"),
        (["--min", "citation.f1=0.9", "--max", "citation.f1=0.1"], "--min is more than --max"),
        (["--min", "citation.f1=0.1", "--system", "readr"], "(did you mean 'reader'?)"),
        (["--min", "citation.f1=0.1", "--tolerance", "0.1"], "need --baseline"),
        (["--baseline", "keyword"], "--baseline needs --system"),
        (
            ["--system", "reader", "--baseline", "keyword", "--min", "citation.f1=0.1"],
            "cannot be combined with --baseline",
        ),
    ],
)
def test_wrong_options(done_project: Path, arguments: list[str], words: str) -> None:
    ended = gate(done_project, *arguments)
    assert ended.code == 2
    assert words in ended.err


@pytest.mark.parametrize(
    ("low", "high", "verdict", "expected"),
    [
        (-0.387, -0.004, "unchanged", True),
        (0.004, 0.387, "unchanged", True),
        (-0.1, 0.1, "unchanged", False),
        (-0.5, -0.2, "regressed", False),
        (float("nan"), float("nan"), "unchanged", False),
    ],
)
def test_note_on_intervals_that_exclude_zero(
    low: float, high: float, verdict: Verdict, *, expected: bool
) -> None:
    found = GateResult(
        benchmark="support",
        system="new",
        baseline="old",
        evaluator="citation",
        metric="f1",
        kind="regression",
        value=(low + high) / 2,
        limit=0.0,
        low=low,
        high=high,
        verdict=verdict,
        n_pairs=24,
        p_value=0.19,
        detectable=0.2,
    )
    assert has_decisive_interval(found) is expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--system", "reader", "--baseline", "keyword", "--tolerance", "0.1"],
            (
                "ci_low, ci_high: one-sided 95 % bounds of the difference, to be compared with the "
                "tolerance of 0.1. p_value: adjusted for the number of metrics (Holm); the bounds "
                "are not."
            ),
        ),
        pytest.param(
            ["--system", "reader", "--baseline", "keyword"],
            (
                "ci_low to ci_high: 95 % interval of the difference. p_value: adjusted for the "
                "number of metrics (Holm); the interval is not."
            ),
            marks=takes_minutes,
        ),
        pytest.param(
            ["--min", "citation.f1=0"],
            "ci_low to ci_high: 95 % interval of the mean. The verdict follows from the mean.",
            marks=takes_minutes,
        ),
        (
            ["--min", "citation.f1=0", "--confident"],
            (
                "ci_low to ci_high: 95 % interval of the mean. The verdict follows from its end "
                "nearer to the limit."
            ),
        ),
    ],
)
def test_a_line_explains_the_interval(done_project: Path, arguments: list[str], said: str) -> None:
    assert gate(done_project, *arguments).out.endswith(f"\n{said}\n")
    assert gate(done_project, *arguments, "--format", "md").out.endswith(f"|\n\n{said}\n")
    assert json.loads(gate(done_project, *arguments, "--format", "json").out)


def test_bounds_of_sequential_gates_hold_at_all_looks() -> None:
    found = GateResult(
        benchmark="support",
        system="new",
        baseline="old",
        evaluator="citation",
        metric="f1",
        kind="regression",
        value=0.1,
        limit=0.05,
        low=0.0,
        high=0.2,
        verdict="unchanged",
        n_pairs=24,
        p_value=0.19,
        detectable=0.2,
        look=3,
    )
    assert describe_interval([found]) == (
        "ci_low, ci_high: one-sided 95 % bounds that hold at all looks. p_value: adjusted for the "
        "number of metrics (Holm)."
    )


def test_sequential_gates_need_a_look(own_project: Path) -> None:
    config = own_project / "scoreline.yaml"
    gates = "\ngates: [{benchmark: harbour, system: reader, baseline: keyword, sequential: true}]\n"
    config.write_text(config.read_text(encoding="utf-8") + gates, encoding="utf-8")
    ended = gate(own_project, "--system", "reader", "--baseline", "keyword")
    assert ended.code == 2
    assert "the sequential gate of 'reader' and 'keyword' has not looked at" in ended.err
    assert "`scoreline run` first" in ended.err


def test_junit_file_names_each_verdict(done_project: Path, tmp_path: Path) -> None:
    file = tmp_path / "reports" / "gate.xml"
    limits = ["--min", "citation.f1=0.5", "--max", "citation.f1=1"]
    ended = gate(done_project, *limits, "--junit", str(file))
    assert ended.code == 1
    suite = ET.parse(file).getroot()[0]  # noqa: S314 - a file of our own
    assert suite.attrib["tests"] == "4"
    verdicts = {
        (case.attrib["classname"], case.attrib["name"]): [outcome.tag for outcome in case]
        for case in suite
    }
    assert verdicts == {
        ("harbour.keyword", "citation.f1 min 0.5"): ["failure"],
        ("harbour.keyword", "citation.f1 max 1"): [],
        ("harbour.reader", "citation.f1 min 0.5"): [],
        ("harbour.reader", "citation.f1 max 1"): [],
    }
    (failure,) = suite.iter("failure")
    assert "at least 0.5 is required" in failure.attrib["message"]
    assert suite.attrib["failures"] == "1"


def test_what_cannot_be_decided_is_skipped_unless_it_fails(
    done_project: Path, tmp_path: Path
) -> None:
    file = tmp_path / "gate.xml"
    compared = ["--system", "reader", "--baseline", "keyword", "--junit", str(file)]
    for options, outcome in (([], "skipped"), (["--strict"], "failure")):
        gate(done_project, *compared, *options)
        suite = ET.parse(file).getroot()[0]  # noqa: S314
        assert [each.tag for case in suite for each in case] == [outcome] * 3


def test_junit_file_that_cannot_be_written(done_project: Path, tmp_path: Path) -> None:
    tmp_path.joinpath("file").touch()
    inside_a_file = str(tmp_path / "file" / "gate.xml")
    ended = gate(done_project, "--min", "citation.f1=0", "--junit", inside_a_file)
    assert ended.code == 2
    assert "gate.xml': " in ended.err


def test_step_summary_gets_the_verdicts(
    done_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("of another command\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    ended = gate(done_project, "--min", "citation.f1=0.5")
    assert ended.code == 1
    text = summary.read_text()
    assert text.startswith("of another command\n# Gate\n")
    assert "| keyword | citation.f1 | missed |" in text
    assert "| keyword" not in ended.out


def test_the_only_benchmark_need_not_be_named(done_project: Path) -> None:
    arguments = ["gate", "--min", "citation.f1=0", "--config", str(done_project / "scoreline.yaml")]
    result = CliRunner().invoke(program, arguments, prog_name="scoreline")
    assert result.exit_code == 0
