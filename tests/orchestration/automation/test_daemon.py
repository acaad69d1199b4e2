"""Backfills and sensors with a running daemon."""

from __future__ import annotations

from pathlib import Path

from orchestration.automation.triggers import PREDICTION_FILES
from orchestration.config import load
from tests.orchestration.daemon import (
    REPOSITORY,
    START_SENSOR,
    TICKS,
    interface,
    three_benchmarks,
    until,
)
from tests.support.services import takes_longest

pytestmark = takes_longest
EVERYTHING = [
    *(["questions"], ["predictions"], ["leaderboard"]),
    *(["scores", name] for name in ("citation", "document_retrieval", "evidence_overlap")),
]


def test_backfills_and_files(tmp_path: Path) -> None:
    three_benchmarks(tmp_path, automation={"settle_s": 2, "interval_s": 2})
    with interface(tmp_path) as dev:
        # Two of three benchmarks with a gap between them, in as few runs as can be.
        dev.backfill(EVERYTHING, ["north", "south"])
        until("the backfill", lambda: [r["status"] for r in dev.runs()].count("SUCCESS") == 2)
        assert sorted(dev.rows("SELECT DISTINCT benchmark FROM leaderboard")) == [
            ("north",),
            ("south",),
        ]
        # All of them are one run.
        dev.backfill(EVERYTHING, ["north", "middle", "south"])
        until("all three", lambda: [r["status"] for r in dev.runs()].count("SUCCESS") == 3)
        assert len(dev.rows("SELECT DISTINCT benchmark FROM leaderboard")) == 3

        # A sensor that is switched on finds everything new once, and then what changes.
        sensor = {**REPOSITORY, "sensorName": PREDICTION_FILES}
        assert dev.query(START_SENSOR, sensor=sensor)["startSensor"]["__typename"] == "Sensor"
        until("the first look", lambda: [r["status"] for r in dev.runs()].count("SUCCESS") == 4)
        benchmark = load.load_config(tmp_path / "scoreline.yaml").project.benchmarks["middle"]
        pattern = str(benchmark.predictions)
        answers = Path(pattern.replace("{system}", "keyword")).read_text(encoding="utf-8")
        Path(pattern.replace("{system}", "fresh")).write_text(answers, encoding="utf-8")
        until("the new system", lambda: [r["status"] for r in dev.runs()].count("SUCCESS") == 5)
        assert dev.runs()[0]["tags"]["dagster/asset_partition_range_start"] == "middle"
        fetched = "SELECT DISTINCT benchmark FROM leaderboard WHERE system = 'fresh'"
        assert dev.rows(fetched) == [("middle",)]
        ticks = dev.query(TICKS, sensor=sensor)["sensorOrError"]["sensorState"]["ticks"]
        assert not [tick for tick in ticks if tick["error"]]
