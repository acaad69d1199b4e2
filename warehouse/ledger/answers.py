"""Loads answers of systems that are asked from the ledger's replies into the predictions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import orjson
import xxhash

from records.error_messages import RecordError
from records.prediction import Prediction
from warehouse.errors import InputError, Problem
from warehouse.formats.format import SHOWN
from warehouse.ingest.load import insert_predictions
from warehouse.ingest.result import Rejected
from warehouse.ingest.rows_sql import PREDICTION_FIELDS, JsonRows, select_predictions
from warehouse.queries.answers import fetch_outcomes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from warehouse.queries.benchmarks import Source
    from warehouse.storage.transaction import Transaction

_BATCH_ROWS: Final = 5_000

_FIELDS: Final = {**PREDICTION_FIELDS, "extra": "JSON"}
_JSON_FIELDS: Final = {name for name, type_ in _FIELDS.items() if type_ == "JSON"}
_ORIGIN: Final = {"extra": "json(nullif(extra::VARCHAR, 'null'))"}


@dataclass(frozen=True, slots=True)
class SystemAnswers:
    """The answers of a system to the questions of a benchmark.

    Attributes:
        system: The system.
        calls: The digest of the call whose reply is the answer to each question and repeat.
        prediction_of: Converts a stored reply and error to the fields of a prediction.
        stand_ins: Predictions for answers that the system has not given yet.
        known_digest: The digest of the answers; null: that of their texts.
    """

    system: str
    calls: Mapping[tuple[str, int], str]
    prediction_of: Callable[[str | None, str | None], Mapping[str, Any]]
    stand_ins: Sequence[Mapping[str, Any]] = ()
    known_digest: bytes | None = None

    def rows(self, source: Source) -> Iterator[Mapping[str, Any]]:
        """Yield the answers by the names of fields, with the replies of a warehouse."""
        calls = iter(self.calls.items())
        while batch := list(islice(calls, _BATCH_ROWS)):
            outcomes = fetch_outcomes(source, [digest for _, digest in batch])
            for (question_id, repeat), digest in batch:
                number = {"repeat": repeat} if repeat else {}
                fields = self.prediction_of(*outcomes[digest])
                yield _flat({"question_id": question_id, **number, **fields})
        yield from self.stand_ins

    def digest(self, source: Source) -> bytes:
        """Return the digest of the answers."""
        digest = xxhash.xxh3_128()
        for row in () if self.known_digest else self.rows(source):
            digest.update(orjson.dumps(row) + b"\n")
        return self.known_digest or digest.digest()


def insert_answers(
    transaction: Transaction, benchmark: str, answers: Iterable[SystemAnswers], ratio: float
) -> list[Rejected]:
    """Insert the answers of systems as predictions; return those that are not valid.

    They were valid when they came, but records may have become stricter.

    Args:
        transaction: The transaction, which holds the benchmark's other predictions.
        benchmark: The benchmark.
        answers: The answers of each system.
        ratio: The share of a system's answers that may be rejected, from 0 to 1.

    Raises:
        InputError: More are not valid, or files have predictions of a system that is asked.
        NotFastPath: DuckDB cannot store a value.
    """
    rejected: list[Rejected] = []
    problems: list[Problem] = []
    query = "SELECT DISTINCT system FROM predictions WHERE benchmark = $benchmark"
    of_files = set(transaction.fetch(query, {"benchmark": benchmark})["system"])
    for each in answers:
        if each.system in of_files:
            message = "the benchmark asks it, and its files have predictions of it; rename one"
            problems.append(Problem(f"system {each.system!r}", None, message))
            continue
        found = list(_insert(transaction, benchmark, each))
        rejected += found
        if len(found) > ratio * len(each.calls):
            problems += [reject.problem for reject in found]
    if problems:
        raise InputError(problems)
    return rejected


def _insert(transaction: Transaction, benchmark: str, answers: SystemAnswers) -> Iterator[Rejected]:
    """Insert the answers of a system; yield those that are not valid."""
    select = select_predictions(JsonRows(fields=_FIELDS, origin=_ORIGIN))
    rows = answers.rows(transaction)
    while batch := list(islice(rows, _BATCH_ROWS)):
        texts = []
        for row in batch:
            try:
                texts.append(_text(Prediction.read(row), answers.system))
            except RecordError as error:
                message = f"the answer to question {row['question_id']!r} is not valid: {error}; "
                message += f"`scoreline ask --force --system {answers.system}` asks again"
                problem = Problem(f"system {answers.system!r}", None, message)
                yield Rejected(problem, answers.system, orjson.dumps(row).decode()[:SHOWN])
        insert_predictions(transaction, [(select, {"benchmark": benchmark, "rows": texts})])


def _text(record: Prediction, system: str) -> str:
    """Return a record as JSON with all fields: DuckDB expects those whose type it knows."""
    typed = record.model_dump_json(exclude={"system", *_JSON_FIELDS})
    given = record.model_dump(include=_JSON_FIELDS, exclude_none=True)
    rest = orjson.dumps({"system": system, **dict.fromkeys(_JSON_FIELDS), **given}).decode()
    return f"{typed[:-1]},{rest[1:]}"


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose `extra` are unknown fields of its own, as far as their names allow it."""
    extra = row.pop("extra", None) or {}
    unknown = {name: each for name, each in extra.items() if name not in Prediction.model_fields}
    rest = {name: each for name, each in extra.items() if name not in unknown}
    return {**row, **unknown, **({"extra": rest} if rest else {})}
