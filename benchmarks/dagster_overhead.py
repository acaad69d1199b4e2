"""What Dagster's events and the checks cost, of all that a run takes, by executor.

`python -m benchmarks.dagster_overhead` writes 20 benchmarks of 30 systems, scores them with every
evaluator that asks nobody, and reads in the run's own events where its seconds went.
`--executor in_process multiprocess` measures both executors.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import resource
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from benchmarks.measure import cost_of, program, table

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = ("the", "harbour", "office", "opens", "at", "seven", "closes", "late", "boats", "tides")
PR_SET_CHILD_SUBREAPER = 36


def write_project(folder: Path, benchmarks: int, systems: int, questions: int) -> None:
    """Write questions with all that deterministic evaluators read, and answers to them."""
    from evaluators import catalog
    from evaluators.kinds.frame import FrameEvaluator
    from evaluators.kinds.row import RowEvaluator

    draw = random.Random(8)
    names = [
        name
        for name, cls in catalog.catalogue().items()
        if issubclass(cls, FrameEvaluator | RowEvaluator) and name != "classification"
    ]
    described = {}
    for number in range(benchmarks):
        place = folder / "data" / f"b{number:02d}"
        place.mkdir(parents=True)
        asked = [_question(each, draw) for each in range(questions)]
        _write(folder / "data" / f"{place.name}.jsonl", asked)
        for system in range(systems):
            rows = [_answer(question, draw) for question in asked]
            _write(place / f"system{system:02d}.jsonl", rows)
        described[place.name] = {
            "questions": f"data/{place.name}.jsonl",
            "predictions": f"data/{place.name}/{{system}}.jsonl",
            "evaluators": names,
        }
    text = yaml.safe_dump({"benchmarks": described}, sort_keys=False)
    (folder / "scoreline.yaml").write_text(text, encoding="utf-8")


def _question(number: int, draw: random.Random) -> dict[str, object]:
    return {
        "question_id": f"q{number:04d}",
        "question": f"When does office {number} open?",
        "expected_answer": " ".join(draw.choices(WORDS, k=12)),
        "gold_doc_ids": [f"d{draw.randrange(500)}"],
        "gold_sentence_ids": [f"S{draw.randrange(9)}"],
        "choices": ["one", "two", "three", "four"],
        "correct_choice": draw.randrange(4),
        "scenario": "noise_robustness",
        "noise_ratio": 0.4,
    }


def _answer(question: dict[str, object], draw: random.Random) -> dict[str, object]:
    documents = draw.sample(range(500), 5)
    return {
        "question_id": question["question_id"],
        "answer": " ".join(draw.choices(WORDS, k=25)),
        "retrieved": [
            {"doc_id": f"d{each}", "rank": rank, "text": " ".join(draw.choices(WORDS, k=20))}
            for rank, each in enumerate(documents, start=1)
        ],
        "cited_sentence_ids": [f"S{draw.randrange(9)}"],
        "choice_logprobs": [draw.uniform(-5, -0.1) for _ in range(4)],
    }


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Shares:
    """Where the seconds of a run went.

    Attributes:
        total: From the start of the run to its end.
        checks: In steps that check.
        events: In the other steps, writing events of assets.
        between: In no step: starting processes, handing out, and events of the run itself.
    """

    total: float
    checks: float
    events: float
    between: float

    @property
    def share(self) -> float:
        """The part of the run that is no work."""
        return (self.checks + self.events + self.between) / self.total


def shares(file: Path) -> Shares:
    """Where the seconds of the latest run of a project went, as its events tell."""
    import dagster as dg

    from orchestration import instance
    from orchestration.config import load

    with instance.open_instance(load.load_config(file).project) as opened:
        (run,) = opened.get_run_records(limit=1)
        if run.start_time is None or run.end_time is None:
            raise RuntimeError(f"the run of {file} has not ended")
        steps: dict[str, tuple[float, float]] = {}
        for stats in opened.get_run_step_stats(run.dagster_run.run_id):
            if stats.start_time is not None and stats.end_time is not None:
                steps[stats.step_key] = stats.start_time, stats.end_time
        made: dict[tuple[str, str], list[float]] = {}
        for event in opened.all_logs(
            run.dagster_run.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION
        ):
            found = event.get_dagster_event()
            place = str(found.step_key), str(found.asset_key)
            made.setdefault(place, []).append(event.timestamp)
    total = run.end_time - run.start_time
    lasting = {key: end - start for key, (start, end) in steps.items()}
    checks = sum(took for key, took in lasting.items() if _is_check(key))
    # One asset's events for all benchmarks follow each other at once, as fast as they are written.
    events = sum(
        (max(times) - min(times)) * len(times) / (len(times) - 1)
        for times in made.values()
        if len(times) > 1
    )
    return Shares(total, checks, events, total - _covered(list(steps.values())))


def _is_check(step: str) -> bool:
    return step.startswith("check_") or step.endswith(("_as_described", "gates"))


def _covered(spans: list[tuple[float, float]]) -> float:
    """The seconds in which some step went on."""
    covered, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


def measure(folder: Path, given: argparse.Namespace) -> Iterator[list[str]]:
    """A run by each executor that was asked for, on fresh copies of one project."""
    for how in given.executor:
        place = folder / how
        place.mkdir()
        write_project(place, given.benchmarks, given.systems, given.questions)
        file = place / "scoreline.yaml"
        with file.open("a", encoding="utf-8") as more:
            more.write(f"execution: {{executor: {how}}}\n")
        before_s = _ended_s()
        cost = cost_of([program("scoreline"), "run"], folder=place)
        cpu_s = _ended_s() - before_s
        found = shares(file)
        yield [
            how,
            f"{cost.wall_s:.1f}",
            f"{cpu_s:.1f}",
            f"{found.total:.1f}",
            f"{found.checks:.1f}",
            f"{found.events:.1f}",
            f"{found.between:.1f}",
            f"{found.share:.0%}",
        ]


def _adopt_orphans() -> None:
    """Have processes counted that outlive their parents, such as what steps are forked from."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _ended_s() -> float:
    """The processor seconds of all processes that were started here, once they have ended."""
    with suppress(ChildProcessError):
        while True:
            os.wait()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmarks", type=int, default=20)
    parser.add_argument("--systems", type=int, default=30)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--executor", nargs="+", default=["in_process"])
    given = parser.parse_args()
    _adopt_orphans()
    lines = []
    with tempfile.TemporaryDirectory(prefix="scoreline-bookkeeping-") as made:
        for line in measure(Path(made), given):
            print(" ".join(line), file=sys.stderr)
            lines.append(line)
    heads = ["executor", "s", "CPU s", "run s", "checks", "events", "between", "bookkeeping"]
    print(table(heads, lines))


if __name__ == "__main__":
    main()
