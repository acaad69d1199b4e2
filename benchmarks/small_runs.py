"""What small runs and short commands cost, against R: the processor time of importing libraries.

R is `python -c "import dagster, duckdb, polars, pydantic"`. Each row is the least of several
measurements in a fresh copy of its project, taken in turns with as many of R: its ratio is that of
the least of both.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import cost_of, program, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.measure import Cost

IMPORTS = [sys.executable, "-c", "import dagster, duckdb, polars, pydantic"]
SCORELINE = program("scoreline")
QUERY = "SELECT system, mean FROM leaderboard WHERE is_primary"
DAGSTER = [sys.executable, str(Path(__file__).with_name("dagster_alone.py")), "instance"]
ROWS = 100
FAULTY_ROW = 57


@dataclass(frozen=True, slots=True)
class Work:
    """Something to measure.

    Attributes:
        name: What it is.
        project: The project that it starts from, by name.
        command: The command.
        goal: The most of R that it should take; 0 without a goal.
        prepare: Changes a copy of the project first.
    """

    name: str
    project: str
    command: Sequence[str]
    goal: float
    prepare: Callable[[Path], None] | None = None


@dataclass(slots=True)
class Least:
    """The least cost of several measurements."""

    cpu_s: list[float] = field(default_factory=list)
    wall_s: list[float] = field(default_factory=list)

    def add(self, cost: Cost) -> None:
        """Add a measurement."""
        self.cpu_s.append(cost.cpu_s)
        self.wall_s.append(cost.wall_s)


def run_dagster(folder: Path) -> None:
    """Run the steps that do nothing once."""
    cost_of(DAGSTER, folder=folder)


def change_answer(folder: Path) -> None:
    """Let the first answer of one system cite another sentence."""
    file = folder / "data" / "predictions_reader.jsonl"
    first, *others = file.read_text("utf-8").splitlines()
    row = json.loads(first)
    row["cited_sentence_ids"] = ["S1"]
    file.write_text("\n".join([json.dumps(row), *others]) + "\n", "utf-8")


def use_sql_checks(folder: Path) -> None:
    """Switch Great Expectations off."""
    file = folder / "scoreline.yaml"
    file.write_text("expectations: sql\n" + file.read_text("utf-8"), "utf-8")


def break_row(folder: Path) -> None:
    """Write a hundred questions with answers, one of them without the question's name."""
    questions = [{"question_id": f"q{n}", "question": f"Question {n}?"} for n in range(ROWS)]
    answers = [{"question_id": f"q{n}", "answer": "Yes."} for n in range(ROWS)]
    broken = [dict(row) for row in answers]
    del broken[FAULTY_ROW]["question_id"]
    files = {"questions": questions, "predictions_keyword": answers, "predictions_reader": broken}
    for name, rows in files.items():
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / "data" / f"{name}.jsonl").write_text(text, "utf-8")


def shell(command: str) -> list[str]:
    """Return the command that runs a line of the shell, in which `scoreline` is this one."""
    return ["/bin/sh", "-c", f'scoreline() {{ "{SCORELINE}" "$@"; }}; {command}']


FIRST = shell("scoreline init new && cd new && scoreline run")
FIRST_SQL = shell("scoreline init new && cd new && SCORELINE_EXPECTATIONS=sql scoreline run")
WORKS = [
    Work("init and first run, Great Expectations at work", "empty", FIRST, 5.5),
    Work("init and first run, expectations: sql", "empty", FIRST_SQL, 3),
    Work("Dagster alone, first run of steps that do nothing", "empty", DAGSTER, 0),
    Work("Dagster alone, their next run", "empty", DAGSTER, 0, run_dagster),
    Work("rerun, nothing changed", "done", [SCORELINE, "run"], 0.5),
    Work("rerun, one answer changed", "done", [SCORELINE, "run"], 2.5, change_answer),
    Work("the same, expectations: sql", "done sql", [SCORELINE, "run"], 0, change_answer),
    Work("leaderboard", "done", [SCORELINE, "leaderboard"], 0.3),
    Work("sql", "done", [SCORELINE, "sql", QUERY], 0.3),
    Work("evaluators", "empty", [SCORELINE, "evaluators"], 0.3),
    Work("--help", "empty", [SCORELINE, "--help"], 0.3),
    Work("run --help", "empty", [SCORELINE, "run", "--help"], 0),
    Work(
        f"input error in the middle of a file of {ROWS} rows",
        "new",
        shell("scoreline run; test $? = 2"),
        1,
        break_row,
    ),
]


def build_projects(folder: Path) -> None:
    """Make the projects that works start from: `empty`, `new`, `done` and `done sql`."""
    (folder / "empty").mkdir()
    for name in ("new", "done", "done sql"):
        cost_of([SCORELINE, "init", str(folder / name)], folder=folder)
    use_sql_checks(folder / "done sql")
    for name in ("done", "done sql"):
        cost_of([SCORELINE, "run"], folder=folder / name)


def measure(works: Sequence[Work], repeat: int) -> dict[str, tuple[Least, Least]]:
    """Return the costs of R and of the work, for each work by name."""
    costs = {work.name: (Least(), Least()) for work in works}
    with tempfile.TemporaryDirectory() as scratch:
        projects = Path(scratch) / "projects"
        projects.mkdir()
        build_projects(projects)
        for n in range(repeat):
            for work in works:
                # Projects contain absolute paths, so each is measured where it was made.
                place = projects / work.project
                kept = Path(scratch) / "kept"
                shutil.copytree(place, kept)
                if work.prepare is not None:
                    work.prepare(place)
                imports, own = costs[work.name]
                imports.add(cost_of(IMPORTS, folder=projects))
                own.add(cost_of(work.command, folder=place))
                shutil.rmtree(place)
                kept.rename(place)
            print(f"{n + 1} of {repeat}", file=sys.stderr)
    return costs


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5, help="measurements of each row")
    parser.add_argument("--only", default="", help="rows whose name contains this text")
    options = parser.parse_args()
    works = [work for work in WORKS if options.only in work.name]
    costs = measure(works, options.repeat)
    rows = []
    for work in works:
        imports, own = costs[work.name]
        unit, cpu_s, wall_s = min(imports.cpu_s), min(own.cpu_s), min(own.wall_s)
        goal = f"{work.goal:g}" if work.goal else ""
        seconds = [f"{each:.2f}" for each in (unit, cpu_s, wall_s)]
        rows.append([work.name, *seconds, f"{cpu_s / unit:.2f}", f"{wall_s / unit:.2f}", goal])
    print(table(["work", "R s", "CPU s", "wall s", "CPU / R", "wall / R", "goal"], rows))


if __name__ == "__main__":
    main()
