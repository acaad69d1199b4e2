"""Imports human labels from a file, or saves them one by one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import polars as pl

from records.error_messages import RecordError
from records.label import Label
from warehouse.errors import (
    InputError,
    Problem,
    WarehouseError,
    closest_match,
    suggest_name,
)
from warehouse.formats.format import Reject
from warehouse.formats.paths import require_utf8
from warehouse.formats.readers.field_names import FieldNames
from warehouse.formats.readers.limits import MAX_REPORTED, reading_ends
from warehouse.formats.readers.rows import rows
from warehouse.formats.readers.tabular import Shape
from warehouse.queries.human_labels import labels_of_metric
from warehouse.schema.tables import table_named

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from warehouse.formats.readers.rows import Row
    from warehouse.queries.samples import Query
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

    Scales: TypeAlias = Mapping[str, Mapping[tuple[str, str], tuple[float, float]]]

MAX_SUGGESTIONS = 10
"""The number of unknown questions for which the message suggests a similar name."""


def import_labels(
    warehouse: Warehouse, path: Path, scales: Scales, *, judging: bool = False
) -> pl.DataFrame:
    """Import the labels of a file and return them; they replace those of the same annotators.

    The file is JSON Lines, JSON, CSV or Parquet. `scales` has, by benchmark, the evaluators and
    metrics that can be labelled, with their bounds. `judging` says whether humans are the judge, so
    that the samples must be scored again.

    Raises:
        InputError: Rows are not valid, refer to unknown samples or occur twice; lists all of them.
            Nothing is imported.
    """
    require_utf8([path])
    problems: list[Problem] = []
    read: dict[tuple[str, ...], tuple[Label, int | None]] = {}
    names = FieldNames(path, Label.model_fields)
    for row in rows(path, key="question_id", shape=Shape.of(Label), names=names):
        label, reason = _read(row)
        if label is not None:
            key = tuple(str(getattr(label, name)) for name in table_named("labels").key)
            reason = find_fault(label, scales)
            if reason is None and key in read:
                reason = (
                    f"{label.annotator!r} labels this sample twice; first in line {read[key][1]}"
                )
            read.setdefault(key, (label, row.line))
        if reason is not None:
            problems.append(Problem(path, row.line, reason))
        if len(problems) == MAX_REPORTED:
            problems.append(Problem(path, None, reading_ends(len(problems))))
            break
    known = [each for each in read.values() if each[0].benchmark in scales]
    problems += _unknown_samples(warehouse, path, known)
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.line or 0))
    if not read:
        raise InputError([Problem(path, None, "holds no labels")])
    rows_read = [label.model_dump() for label, _ in read.values()]
    labels = pl.DataFrame(rows_read, schema_overrides=_TYPES)
    _store(warehouse, labels, judging=judging)
    return labels


def _read(row: Row | Reject) -> tuple[Label | None, str | None]:
    """Return a label, or the reason why the row is not valid."""
    if isinstance(row, Reject):
        return None, row.reason
    missing = Label.model_fields.keys() - row.fields.keys()
    for name in row.fields.keys() - Label.model_fields.keys():
        meant = closest_match(name, missing)
        if meant is not None:
            return None, f"unknown field {name!r}; did you mean {meant!r}?"
    try:
        return Label.read(row.fields), None
    except RecordError as error:
        return None, str(error)


def find_fault(label: Label, scales: Scales) -> str | None:
    """Return the reason why a label cannot refer to a score; null if it can."""
    if label.benchmark not in scales:
        return f"there is no benchmark {label.benchmark!r}{suggest_name(label.benchmark, scales)}"
    known = scales[label.benchmark]
    metric = (label.evaluator, label.metric)
    if metric not in known:
        names = [".".join(each) for each in known]
        name = ".".join(metric)
        return f"{label.benchmark!r} has no metric {name!r}{suggest_name(name, names)}"
    low, high = known[metric]
    if not low <= label.value <= high:
        return f"value: {label.value:g} is outside the metric's bounds, {low:g} to {high:g}"
    return None


def _unknown_samples(
    warehouse: Warehouse, path: Path, read: Collection[tuple[Label, int | None]]
) -> Iterator[Problem]:
    """Yield the problems of labels for unknown systems and questions."""
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
    unknown = 0
    for label, line in read:
        if (label.benchmark, label.system, label.question_id) in samples:
            continue
        here = systems.get(label.benchmark, set())
        if label.system not in here:
            hint = suggest_name(label.system, here) if here else "; it has not been run"
            reason = f"{label.benchmark!r} has no system {label.system!r}{hint}"
        else:
            reason = f"{label.benchmark!r} has no question {label.question_id!r}"
            # A search among many questions takes time, so only the first ones get a suggestion.
            if unknown < MAX_SUGGESTIONS:
                close = closest_match(label.question_id, questions[label.benchmark, label.system])
                reason += f"; did you mean {close!r}?" if close is not None else ""
            unknown += 1
        yield Problem(path, line, reason)


def _store(warehouse: Warehouse, labels: pl.DataFrame, *, judging: bool) -> None:
    def store(transaction: Transaction) -> None:
        transaction.replace("labels", labels)
        if judging:
            require_rescoring(transaction, labels)

    warehouse.write(store)


SAMPLE = ("benchmark", "system", "question_id", "evaluator")


def require_rescoring(transaction: Transaction, samples: pl.DataFrame) -> int:
    """Make the next run score samples again, with everything that depends on their scores.

    Call it after importing labels where humans are the judge, in the transaction that stores the
    labels: the input digest of a score does not cover labels. It is not needed where a model
    judges. The samples have the columns benchmark, system, question_id and evaluator; other
    columns, repeated rows and samples without scores are ignored.

    Returns:
        The number of samples that the next run scores again.
    """
    if samples.is_empty():
        return 0
    parameters = {"samples": samples.select(SAMPLE).unique().to_dicts()}
    labelled = "(SELECT unnest($samples, recursive := true)) AS s"
    # 0 is not the digest of any inputs.
    stale = 0
    for table in ("grades", "answer_grades"):
        stale += transaction.execute(
            f"UPDATE {table} AS g SET input_digest = 0 FROM {labelled} "  # noqa: S608
            "WHERE g.benchmark = s.benchmark AND g.system = s.system "
            "AND g.question_id = s.question_id AND g.evaluator = s.evaluator",
            parameters,
        )
    # The digests of the dependent stages would not change otherwise.
    transaction.execute(
        f"DELETE FROM marks USING {labelled} WHERE marks.benchmark = s.benchmark "  # noqa: S608
        "AND marks.stage NOT IN ('questions', 'predictions')",
        parameters,
    )
    return stale


RANDOM: Final = "random"
UNCERTAIN: Final = "uncertain"
CERTAIN: Final = "certain"

DRAWN: Final = ("selection", "stratum", "stratum_size", "probability")
"""The columns of a label that say how its sample was drawn."""

_TYPES = {
    **dict.fromkeys(("value", "probability"), pl.Float64),
    **dict.fromkeys(("selection", "stratum"), pl.String),
    "stratum_size": pl.Int64,
}


class UnknownSample(WarehouseError):  # noqa: N818
    """A label is about a sample that the warehouse no longer has."""


@dataclass(frozen=True, slots=True)
class Draw:
    """How the sample of a label was drawn.

    Attributes:
        selection: `RANDOM` from all samples of the system, or `UNCERTAIN`; None for imported
            labels.
        stratum: `UNCERTAIN` or `CERTAIN`; None where the sample was not drawn at random from it.
        stratum_size: The number of samples of the system in this stratum.
        probability: The probability with which the sample was chosen, for imported labels.
    """

    selection: str | None
    stratum: str | None = None
    stratum_size: int | None = None
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class LabelledMetric:
    """The labels of one metric in a warehouse.

    Attributes:
        warehouse: The warehouse.
        benchmark: The benchmark.
        evaluator: The evaluator.
        metric: The metric.
        is_judge: Whether labels replace a judge, so that labelled samples must be scored again.
    """

    warehouse: Warehouse
    benchmark: str
    evaluator: str
    metric: str
    is_judge: bool = False

    def fetch(self) -> pl.DataFrame:
        """Return all labels; see `labels_of_metric`."""
        return self.warehouse.fetch(*self._query())

    def save(
        self, sample: tuple[str, str], annotator: str, value: float, draw: Draw
    ) -> pl.DataFrame:
        """Save a label in place of the annotator's earlier one, and return all labels.

        Args:
            sample: System and question_id.
            annotator: Who gave the label.
            value: The label.
            draw: How the sample was drawn.

        Raises:
            UnknownSample: The system has no answer to the question any more.
        """
        row = {**self._key(sample, annotator), "value": value, **asdict(draw)}

        def work(transaction: Transaction) -> pl.DataFrame:
            self._require_sample(transaction, sample)
            transaction.replace("labels", pl.DataFrame([row], schema_overrides=_TYPES))
            return self._finish(transaction, sample)

        return self.warehouse.write(work)

    def remove(self, sample: tuple[str, str], annotator: str) -> pl.DataFrame:
        """Remove an annotator's label of a sample, and return all labels."""

        def work(transaction: Transaction) -> pl.DataFrame:
            transaction.delete("labels", self._key(sample, annotator))
            return self._finish(transaction, sample)

        return self.warehouse.write(work)

    def _finish(self, transaction: Transaction, sample: tuple[str, str]) -> pl.DataFrame:
        if self.is_judge:
            require_rescoring(transaction, pl.DataFrame([self._key(sample, "")]))
        return transaction.fetch(*self._query())

    def _key(self, sample: tuple[str, str], annotator: str) -> dict[str, str]:
        system, question = sample
        return {
            "benchmark": self.benchmark,
            "system": system,
            "question_id": question,
            "evaluator": self.evaluator,
            "metric": self.metric,
            "annotator": annotator,
        }

    def _require_sample(self, transaction: Transaction, sample: tuple[str, str]) -> None:
        key = {"benchmark": self.benchmark, "system": sample[0], "question_id": sample[1]}
        found = transaction.fetch(
            "SELECT 1 FROM predictions WHERE benchmark = $benchmark AND system = $system "
            "AND question_id = $question_id LIMIT 1",
            key,
        )
        if found.is_empty():
            raise UnknownSample(
                f"{self.benchmark!r} has no answer of {sample[0]!r} to {sample[1]!r} any more: "
                "start `scoreline annotate` again after a run"
            )

    def _query(self) -> Query:
        return labels_of_metric(self.benchmark, self.evaluator, self.metric)
