"""`run` and `open`: results of a project, and of a published copy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from orchestration.config.load import load_config
from scoreline.errors import converted_errors
from scoreline.results import Results
from warehouse.publish.snapshot import FILE_NAME, Snapshot

if TYPE_CHECKING:
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator


def run(
    config: str | Path = "scoreline.yaml", *, judge: bool = True, force: bool = False
) -> Results:
    """Run a project like the command `run`, and return what it published.

    Args:
        config: The configuration file.
        judge: Whether the judge may be called.
        force: Whether to compute all scores again.

    Returns:
        The results of all benchmarks of the project.

    Raises:
        ScorelineError: The configuration or an input is not valid, or a check failed. A failed gate
            is none: it is in the results.
    """
    from orchestration.doctor.config_lint import lint_config
    from orchestration.runs import RunOptions
    from orchestration.runs.start import run_project

    with converted_errors():
        settings = load_config(Path(config))
        default = settings.project.default_benchmarks
        run_project(settings, RunOptions(benchmarks=default, judge=judge, force=force))
        project = settings.project
        notes = lint_config(project, project.benchmarks)
        return Results(project.open_copy(), project.benchmarks, notes)


def open(path: str | Path) -> Results:  # noqa: A001 - `scoreline.open`
    """Open what a run has published.

    Args:
        path: The folder of the published copy, or the copy itself.

    Raises:
        ScorelineError: There is no published copy.
    """
    place = Path(path)
    copy = Snapshot(place / FILE_NAME if place.is_dir() else place)
    with converted_errors():
        return Results(copy, _benchmarks(copy))


def _benchmarks(copy: Snapshot) -> dict[str, Benchmark]:
    """Return the benchmarks of a copy, with the evaluators that scored them."""
    from assets.project import CLUSTERS, Benchmark

    rows = copy.fetch(
        "SELECT benchmark, evaluator, signature, parameters::VARCHAR AS parameters, "
        "min(position) AS position, max(n_statements) AS n_statements "
        "FROM leaderboard JOIN signatures USING (evaluator, signature) "
        "GROUP BY ALL ORDER BY benchmark, position"
    )
    fields = dict(
        copy.fetch(
            "SELECT replace(name, $prefix, '') AS benchmark, value FROM meta "
            "WHERE starts_with(name, $prefix)",
            {"prefix": CLUSTERS},
        ).iter_rows()
    )
    found: dict[str, Benchmark] = {}
    for (name,), group in rows.partition_by("benchmark", as_dict=True, maintain_order=True).items():
        evaluators = (
            _evaluator(row["evaluator"], row["signature"], json.loads(row["parameters"]))
            for row in group.iter_rows(named=True)
        )
        found[str(name)] = Benchmark(
            name=str(name),
            questions=None,
            predictions=Path(),
            evaluators=tuple(each for each in evaluators if each is not None),
            cluster=fields.get(str(name)),
            statements=group["n_statements"][0] or 1,
        )
    return found


def _evaluator(name: str, signature: str, parameters: dict[str, object]) -> Evaluator | None:
    """Return the evaluator that has scored with a signature; null for one from elsewhere."""
    from evaluators import catalog

    if name not in catalog.catalogue():
        return None
    evaluator = catalog.build(name, parameters)
    # Engines and parts are not known here; the signature that they gave is.
    evaluator.__dict__["signature"] = signature
    return evaluator
