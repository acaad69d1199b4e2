"""What `scoreline run --summary` prints: results in the layout of document-grounded evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from assets.project import Benchmark, Project


def write_evaluations(project: Project, benchmarks: tuple[str, ...]) -> tuple[str, ...]:
    """Print the summary of each benchmark, and write its results beside the published copy.

    Args:
        project: The project.
        benchmarks: The benchmarks to tell about.

    Returns:
        Those that have no retrieval, citation or rubric results, for which nothing was printed.
    """
    from assets.publishing.exports.document_qa import evaluate
    from assets.publishing.exports.document_qa_summary import summary
    from orchestration import published

    others = []
    with published.copy(project).held() as copy:
        for name in benchmarks:
            benchmark = project.benchmarks[name]
            evaluation = evaluate(copy, benchmark)
            if not any(evaluation.results.values()):
                others.append(name)
                continue
            evaluation.write(project.publish)
            files = {system: _file_of(benchmark, system) for system in evaluation.results}
            click.echo(summary(evaluation, _questions_file(project, benchmark), files))
    return tuple(others)


def _file_of(benchmark: Benchmark, system: str) -> str:
    pattern = benchmark.predictions.name
    return pattern.replace("{system}", system) if "{system}" in pattern else system


def _questions_file(project: Project, benchmark: Benchmark) -> str:
    path = benchmark.questions
    if path is None:
        return "none"
    inside = path.is_relative_to(project.home)
    return (path.relative_to(project.home) if inside else path).as_posix()
