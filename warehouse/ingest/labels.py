"""People's labels: read from a file, held against what there is to label, and kept."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from warehouse.errors import InputError, Problem, suggest_name
from warehouse.formats.format import Reject
from warehouse.formats.readers.error_messages import RecordError
from warehouse.formats.readers.rows import rows
from warehouse.formats.readers.tabular import Shape
from warehouse.formats.records.label import Label
from warehouse.schema.tables import table_named

if TYPE_CHECKING:
    from warehouse.storage.transaction import Transaction


if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from warehouse.formats.readers.rows import Row
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

    Scales: TypeAlias = Mapping[str, Mapping[tuple[str, str], tuple[float, float]]]

SHAPE = Shape(numbers=frozenset({"value"}))

NAMED = 10
"""The unknown questions for which a near name is looked for."""


def import_labels(
    warehouse: Warehouse, path: Path, scales: Scales, *, judging: bool = False
) -> pl.DataFrame:
    """Keep the labels of a file; a label that the same person gave before is replaced.

    Args:
        warehouse: Where the samples are, and where the labels go.
        path: A JSON Lines, JSON, CSV or Parquet file.
        scales: By benchmark, the evaluator and metric that can be labelled, and their bounds.
        judging: Whether people are the judge, so that the samples are to be graded again.

    Returns:
        The labels that the file holds.

    Raises:
        InputError: A row cannot be read, is about something that is not there, or occurs twice;
            every such row is named, and nothing is kept.
    """
    problems: list[Problem] = []
    read: dict[tuple[str, ...], tuple[Label, int | None]] = {}
    for row in rows(path, key="question_id", shape=SHAPE):
        label, reason = _read(row)
        if label is not None:
            key = tuple(str(getattr(label, name)) for name in table_named("labels").key)
            reason = _fault(label, scales)
            if reason is None and key in read:
                reason = (
                    f"{label.annotator!r} labels this sample twice; first in line {read[key][1]}"
                )
            read.setdefault(key, (label, row.line))
        if reason is not None:
            problems.append(Problem(path, row.line, reason))
    known = [each for each in read.values() if each[0].benchmark in scales]
    problems += _unknown_samples(warehouse, path, known)
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0))
    if not read:
        raise InputError([Problem(path, None, "holds no labels")])
    labels = pl.DataFrame([label.model_dump() for label, _ in read.values()])
    _keep(warehouse, labels, judging=judging)
    return labels


def _read(row: Row | Reject) -> tuple[Label | None, str | None]:
    """A label, or what is wrong with it."""
    if isinstance(row, Reject):
        return None, row.reason
    try:
        return Label.read(row.fields), None
    except RecordError as error:
        return None, str(error)


def _fault(label: Label, scales: Scales) -> str | None:
    """What the label is about that does not exist, or how its number cannot be right."""
    if label.benchmark not in scales:
        return f"there is no benchmark {label.benchmark!r}{suggest_name(label.benchmark, scales)}"
    known = scales[label.benchmark]
    place = (label.evaluator, label.metric)
    if place not in known:
        addresses = [".".join(each) for each in known]
        address = ".".join(place)
        return f"{label.benchmark!r} has no metric {address!r}{suggest_name(address, addresses)}"
    low, high = known[place]
    if not low <= label.value <= high:
        return f"value: {label.value:g} lies outside the metric's bounds, {low:g} to {high:g}"
    return None


def _unknown_samples(
    warehouse: Warehouse, path: Path, read: Collection[tuple[Label, int | None]]
) -> Iterator[Problem]:
    """The labels of systems and questions that are not in the warehouse."""
    if not read:
        return
    given = sorted({label.benchmark for label, _ in read})
    answered = warehouse.fetch(
        "SELECT benchmark, system, question_id FROM predictions "
        "WHERE list_contains($benchmarks, benchmark)",
        {"benchmarks": given},
    )
    samples = set(answered.iter_rows())
    systems: dict[str, set[str]] = {}
    questions: dict[tuple[str, str], set[str]] = {}
    for benchmark, system, question in samples:
        systems.setdefault(benchmark, set()).add(system)
        questions.setdefault((benchmark, system), set()).add(question)
    told = 0
    for label, line in read:
        if (label.benchmark, label.system, label.question_id) in samples:
            continue
        here = systems.get(label.benchmark, set())
        if label.system not in here:
            hint = suggest_name(label.system, here) if here else "; it has not been run"
            reason = f"{label.benchmark!r} has no system {label.system!r}{hint}"
        else:
            reason = f"{label.benchmark!r} has no question {label.question_id!r}"
            # To look for a near name among thousands takes long: only the first few get one.
            if told < NAMED:
                options = sorted(questions[label.benchmark, label.system])
                close = difflib.get_close_matches(label.question_id, options, n=1)
                reason += f"; did you mean {close[0]!r}?" if close else ""
            told += 1
        yield Problem(path, line, reason)


def _keep(warehouse: Warehouse, labels: pl.DataFrame, *, judging: bool) -> None:
    def keep(transaction: Transaction) -> None:
        transaction.replace("labels", labels)
        if judging:
            require_rescoring(transaction, labels)

    warehouse.write(keep)


SAMPLE = ("benchmark", "system", "question_id", "evaluator")


def require_rescoring(transaction: Transaction, samples: pl.DataFrame) -> int:
    """Have the next run grade samples again, and all that is made from their grades.

    For labels that were imported where people are the judge: a grade knows the digest of what its
    evaluator read of question and answer, and labels are no part of that. Call it in the
    transaction that keeps the labels. Where a model judges, nothing need be called; it costs
    nothing there either, since the ledger has what the model said.

    Args:
        transaction: The transaction that keeps the labels.
        samples: benchmark, system, question_id and evaluator; further columns (those of `labels`)
            and repeated rows do no harm, nor do samples that were never graded.

    Returns:
        The number of grades that the next run makes again.
    """
    if samples.is_empty():
        return 0
    given = {"samples": samples.select(SAMPLE).unique().to_dicts()}
    labelled = "(SELECT unnest($samples, recursive := true)) AS s"
    # No inputs have this digest.
    graded = transaction.execute(
        f"UPDATE grades AS g SET input_digest = 0 FROM {labelled} "  # noqa: S608
        "WHERE g.benchmark = s.benchmark AND g.system = s.system "
        "AND g.question_id = s.question_id AND g.evaluator = s.evaluator",
        given,
    )
    # Also of what is folded and made of these grades: the digests of their stages stay the same.
    transaction.execute(
        f"DELETE FROM marks USING {labelled} WHERE marks.benchmark = s.benchmark "  # noqa: S608
        "AND marks.stage NOT IN ('questions', 'predictions')",
        given,
    )
    return graded
