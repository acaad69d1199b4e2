"""The messages of `scoreline gate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from assets.analysis.gates.result import GateResult
from orchestration.cli.commands.gate import has_decisive_interval
from orchestration.cli.program import program

if TYPE_CHECKING:
    from pathlib import Path

    from assets.analysis.gates.regression import Verdict


def test_passing_gate(done_project: Path) -> None:
    config = ["--config", str(done_project / "scoreline.yaml")]
    pair = ["--system", "reader", "--baseline", "keyword", "--benchmark", "harbour"]
    result = CliRunner().invoke(program, ["gate", *pair, *config])
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1] == "'reader' passes: 3 not enough data"


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
        address="citation.f1",
        n_pairs=24,
        difference=(low + high) / 2,
        low=low,
        high=high,
        p_value=0.19,
        detectable=0.2,
        verdict=verdict,
    )
    assert has_decisive_interval(found) is expected
