"""The first stage: files become questions and predictions in the warehouse."""

from collections.abc import Iterator

import dagster as dg
from dagster._core.definitions.metadata import RawMetadataValue

from assets import metadata
from assets.checks import expectations
from assets.fingerprints.digests import files
from assets.keys import BACKFILL, BENCHMARKS, INPUTS, OWNERS, PREDICTIONS, QUESTIONS
from assets.metadata import tell_dagster
from assets.project import Benchmark, Project
from assets.run_config import RunChoices
from evaluators.errors import BadConstraints
from evaluators.text.constraints import read_constraints
from warehouse.errors import InputError, Problem
from warehouse.formats.paths import expand
from warehouse.ingest.ingest import ingest
from warehouse.ingest.plan import Files
from warehouse.ingest.result import Ingested
from warehouse.queries.samples import require_systems
from warehouse.storage.transaction import Transaction
from warehouse.store import Warehouse

STEP = "ingest"


@dg.multi_asset(
    name=STEP,
    specs=[
        dg.AssetSpec(
            QUESTIONS,
            group_name=INPUTS,
            kinds={"duckdb"},
            owners=OWNERS,
            code_version="1",
            description="Questions with all that is known to be right about them, and the "
            "documents that they are about. One row is one question of one benchmark.",
        ),
        dg.AssetSpec(
            PREDICTIONS,
            deps=[QUESTIONS],
            group_name=INPUTS,
            kinds={"duckdb"},
            owners=OWNERS,
            code_version="1",
            description="What each system answered, retrieved and cited, question by question. One "
            "row is one system's answer to one question, or the failure to give one.",
        ),
    ],
    can_subset=True,
    partitions_def=BENCHMARKS,
    backfill_policy=BACKFILL,
)
def inputs(
    context: dg.AssetExecutionContext,
    config: RunChoices,
    warehouse: dg.ResourceParam[Warehouse],
    project: dg.ResourceParam[Project],
) -> Iterator[dg.MaterializeResult[None]]:
    """Ingest the files of all benchmarks of the run, or none when something is wrong with one."""
    expectations.begin(project)
    selected = [key for key in (QUESTIONS, PREDICTIONS) if key in context.selected_asset_keys]
    results = ingest(
        warehouse,
        [files_of(project.benchmarks[name]) for name in context.partition_keys],
        kinds=[key.path[-1] for key in selected],
        inspect=inspect,
        force=config.force,
    )
    look_in = context.partition_keys if config.look_in is None else config.look_in
    if config.systems and look_in:
        require_systems(warehouse, config.systems, look_in)
    names = context.partition_keys
    places = [(key, name) for key in selected for name in names]
    tell_dagster(
        context, {(key, name): _report(name, results[name, key.path[-1]]) for key, name in places}
    )
    for key in selected:
        yield dg.MaterializeResult[None](asset_key=key)


def files_of(benchmark: Benchmark) -> Files:
    """The files of a benchmark as they are now.

    Raises:
        InputError: A pattern that no file matches.
    """
    return Files(
        benchmark=benchmark.name,
        format=benchmark.format,
        questions=files(benchmark.questions),
        documents=files(benchmark.documents),
        predictions=expand(benchmark.predictions),
        max_reject_ratio=benchmark.max_reject_ratio,
    )


def _report(benchmark: str, result: Ingested) -> dict[str, RawMetadataValue]:
    told = [f"{benchmark}: {note}" for note in result.notes]
    return {
        "dagster/partition_row_count": result.rows,
        **metadata.counts({"rejected": result.rejected, "unchanged": int(result.unchanged)}),
        **metadata.notes(told),
    }


def inspect(transaction: Transaction, benchmark: str) -> None:
    """Read the constraints of a benchmark's questions.

    Raises:
        InputError: Some cannot be read; names each with its question, and with its file and line
            where these are known.
    """
    written = transaction.fetch(
        "SELECT question_id, constraints::VARCHAR AS text, file, line FROM questions "
        "WHERE benchmark = $benchmark AND constraints IS NOT NULL ORDER BY line, question_id",
        {"benchmark": benchmark},
    )
    problems = []
    for question, text, file, line in written.iter_rows():
        try:
            read_constraints(text)
        except BadConstraints as error:
            problems.append(Problem(file or benchmark, line, f"question {question!r}: {error}"))
    if problems:
        raise InputError(problems)
