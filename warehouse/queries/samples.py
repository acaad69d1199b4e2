"""Queries for the samples of an evaluator: all, the stale ones, and orphaned scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from records.columns import stored_columns
from records.prediction import Prediction
from records.question import Question
from warehouse.errors import UnknownColumn, UnknownSystem, suggest_name
from warehouse.queries.benchmarks import names_in
from warehouse.queries.opponents import select_opponents
from warehouse.schema.quoting import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from records.columns import StoredColumn
    from warehouse.publish.snapshot import Snapshot
    from warehouse.store import Warehouse


IDENTITY = ("benchmark", "system", "question_id")


def _empty(column: StoredColumn) -> str:
    value = column.empty_value
    if isinstance(value, str):
        return literal(value)
    return "NULL" if value is None else "[]"


_ANSWER = tuple(
    each
    for each in stored_columns(Prediction).values()
    if each.role != "identity" and each.name != "extra"
)

ANSWER_COLUMNS = tuple(each.name for each in _ANSWER)

QUESTION_COLUMNS = tuple(
    each.name
    for each in stored_columns(Question).values()
    if each.role != "identity" and each.name not in {"extra", *ANSWER_COLUMNS}
)

EMPTY_VALUES = {each.name: _empty(each) for each in _ANSWER if each.role == "answer"} | {
    "reported": "'{}'"  # so that a failed answer, of which nothing is reported, counts as one
}
"""The values of fields that a system provides for other questions but not for this one."""

SAMPLE_COLUMNS = (*QUESTION_COLUMNS, "extra", *ANSWER_COLUMNS, "document_sentences", "opponents")
"""The selectable columns, besides benchmark, system, question_id and input_digest."""


EVERY_ANSWER = """(
    SELECT * EXCLUDE (n_answers, values_low, values_high, has_failed), 0 AS repeat
    FROM grades
    WHERE n_answers IS NULL
    UNION ALL BY NAME
    SELECT * FROM answer_grades
)"""
"""The scores of single answers, as a table expression."""


class Query(NamedTuple):
    """A statement and the values of its parameters by name: `warehouse.fetch(*query)`."""

    sql: str
    parameters: dict[str, Any]


def samples(
    benchmark: str | Sequence[str],
    columns: Iterable[str],
    systems: Sequence[str] | None = None,
    opponents: int | None = None,
    *,
    every_answer: bool = False,
) -> Query:
    """Select the samples of a benchmark, or of several: predictions joined with their questions.

    The result has benchmark, system, question_id, input_digest, not_asked (true, or null) and the
    requested columns. A list
    or text field of the answer is empty if the system provides it for other questions only, and
    null if it never provides it. A system that failed on every question counts as providing every
    field. `document_sentences` holds the sentences of the question's document in order; it is null
    if the document is unknown. `opponents` holds other systems with their answers to the question
    (null: failed), see `warehouse.queries.opponents`.

    Args:
        benchmark: The benchmark or benchmarks.
        columns: Names from `SAMPLE_COLUMNS` and the identity columns.
        systems: The systems; null: all.
        opponents: The even number of opponents of each system; null: all others.
        every_answer: Whether all answers to a question are samples, with the column `repeat`;
            otherwise only the first one is.

    Raises:
        UnknownColumn: A column does not exist.
    """
    parameters = {} if systems is None else {"systems": list(systems)}
    scope = _Scope.of(benchmark)
    sql = _samples_sql(
        _selected(columns),
        scope,
        opponents,
        narrowed=bool(parameters),
        every_answer=every_answer,
    )
    return Query(sql, parameters)


def select_stale_samples(
    benchmark: str | Sequence[str],
    evaluator: str,
    signature: str,
    columns: Iterable[str],
    systems: Sequence[str] | None = None,
    opponents: int | None = None,
    *,
    every_answer: bool = False,
) -> Query:
    """Select the samples without a score of this signature for their current inputs.

    Args:
        benchmark: The benchmark or benchmarks.
        evaluator: The evaluator's name.
        signature: The current signature of the evaluator.
        columns: All columns that the evaluator reads, which the input digest covers.
        systems: The systems; null: all.
        opponents: As for `samples`.
        every_answer: As for `samples`.

    Returns:
        A query with the columns of `samples`.

    Raises:
        UnknownColumn: A column does not exist.
    """
    every = samples(benchmark, columns, systems, opponents, every_answer=every_answer)
    return select_stale(every, benchmark, evaluator, signature, every_answer=every_answer)


def select_stale(
    samples: Query,
    benchmark: str | Sequence[str],
    evaluator: str,
    signature: str,
    *,
    every_answer: bool = False,
) -> Query:
    """Select those of some samples that have no score of this signature for their inputs."""
    scope = _Scope.of(benchmark)
    key = f"{scope.key}system, question_id, {'repeat, ' if every_answer else ''}input_digest"
    # A mean of several answers, which a question had before, is not the score of a single one.
    table, single = ("answer_grades", "") if every_answer else ("grades", "AND n_answers IS NULL")
    sql = f"""
SELECT s.*
FROM (
{samples.sql}
) AS s
ANTI JOIN (
    SELECT {key}
    FROM {table}
    WHERE {scope.condition} AND evaluator = $evaluator AND signature = $signature {single}
) AS g USING ({key})
""".strip()  # noqa: S608
    return Query(sql, {**samples.parameters, "evaluator": evaluator, "signature": signature})


class _Scope(NamedTuple):
    """The benchmarks of a query.

    Attributes:
        condition: Selects their rows.
        key: The column `benchmark` as the first of a list of columns. Empty for a single benchmark,
            whose rows need not be compared by it.
    """

    condition: str
    key: str

    @classmethod
    def of(cls, benchmark: str | Sequence[str]) -> _Scope:
        names = [benchmark] if isinstance(benchmark, str) else benchmark
        return cls(f"benchmark IN ({names_in(names)})", "benchmark, " if len(names) > 1 else "")


def delete_orphans(benchmark: str | Sequence[str], evaluator: str, table: str = "grades") -> Query:
    """Delete an evaluator's rows of a table whose system, question or answer no longer exists.

    Args:
        benchmark: The benchmark or benchmarks.
        evaluator: The evaluator's name.
        table: `grades`, `answer_grades`, or `asks` for the judge calls of deleted samples;
            judgments stay.
    """
    scope = _Scope.of(benchmark)
    repeat = ", repeat" if table in {"answer_grades", "asks"} else ""
    sql = f"""
DELETE FROM {quoted(table)}
WHERE {scope.condition}
  AND evaluator = $evaluator
  AND ({scope.key}system, question_id{repeat}) NOT IN (
    SELECT ({scope.key}system, question_id{repeat})
    FROM predictions
    SEMI JOIN questions USING (benchmark, question_id)
    WHERE {scope.condition}
  )
""".strip()  # noqa: S608
    return Query(sql, {"evaluator": evaluator})


def repeated_answers(
    benchmark: str, evaluator: str, signature: str, part: int = 0, parts: int = 1
) -> Query:
    """Select the scores of all answers of a benchmark, with the label of each answer.

    With several parts, those of about as many questions in each, from part 0.

    Returns:
        A query with system, question_id, repeat, values, statuses, reasons, input_digest,
        scored_at and label.
    """
    sql = """
SELECT
    system, question_id, repeat, "values", statuses, reasons, input_digest, scored_at, p.label
FROM answer_grades
JOIN (SELECT * FROM predictions WHERE benchmark = $benchmark) AS p
    USING (benchmark, system, question_id, repeat)
WHERE benchmark = $benchmark AND evaluator = $evaluator AND signature = $signature
    AND ($parts = 1 OR hash(question_id) % $parts = $part)
"""
    values: dict[str, Any] = {"benchmark": benchmark, "evaluator": evaluator}
    return Query(sql, {**values, "signature": signature, "part": part, "parts": parts})


def _selected(columns: Iterable[str]) -> list[str]:
    wanted = set(columns) - set(IDENTITY)
    for name in sorted(wanted - set(SAMPLE_COLUMNS)):
        raise UnknownColumn(f"samples have no column {name!r}{suggest_name(name, SAMPLE_COLUMNS)}")
    return [name for name in SAMPLE_COLUMNS if name in wanted]


def _samples_sql(
    columns: Sequence[str],
    scope: _Scope,
    opponents: int | None,
    *,
    narrowed: bool,
    every_answer: bool,
) -> str:
    filled = [name for name in columns if name in EMPTY_VALUES]
    with_document = "document_sentences" in columns
    expressions = {name: _expression(name) for name in columns}
    # Sorted, so that the digest does not depend on the order of the columns.
    digested = ", ".join(f"{name}: {expressions[name]}" for name in sorted(columns))
    selected = "".join(f",\n    {sql} AS {name}" for name, sql in expressions.items())
    only = "AND system IN (SELECT unnest($systems))" if narrowed else ""
    first = "" if every_answer else "AND repeat = 0"
    given = ", ".join(
        f"bool_or({name} IS NOT NULL) OR "
        f"bool_and(error IS NOT NULL OR not_asked IS NOT NULL) AS {name}"
        for name in filled
    )
    joined_given = f"""
JOIN (
    SELECT {scope.key}system, {given}
    FROM predictions
    WHERE {scope.condition} {only}
    GROUP BY {scope.key}system
) AS given USING ({scope.key}system)"""  # noqa: S608
    same_benchmark = "d.benchmark = q.benchmark AND " if scope.key else ""
    joined_document = f"""
LEFT JOIN (
    SELECT
        {scope.key}doc_id,
        list({{sentence_id: sentence_id, text: text}} ORDER BY position, sentence_id) AS sentences
    FROM documents
    WHERE {scope.condition}
    GROUP BY {scope.key}doc_id
) AS d ON {same_benchmark}d.doc_id = q.doc_id"""  # noqa: S608
    joined_opponents = f"""
LEFT JOIN (
{select_opponents(scope.condition, scope.key, opponents)}
) AS o USING ({scope.key}system, question_id)"""
    return f"""
SELECT
    p.benchmark,
    p.system,
    p.question_id,{" p.repeat," if every_answer else ""}
    CASE WHEN p.not_asked = 1 THEN 0::UBIGINT ELSE
        hash(to_json({{{digested}{", " if digested else ""}failed: p.error IS NOT NULL}})::VARCHAR)
    END AS input_digest,
    p.not_asked = 1 AS not_asked{selected}
FROM (SELECT * FROM predictions WHERE {scope.condition} {only} {first}) AS p
JOIN (SELECT * FROM questions WHERE {scope.condition}) AS q USING ({scope.key}question_id)
{joined_given if filled else ""}{joined_document if with_document else ""}\
{joined_opponents if "opponents" in columns else ""}
""".strip()  # noqa: S608


_EXPRESSIONS = {
    "document_sentences": "d.sentences",
    "opponents": "o.opponents",
    "tags": "to_json(q.tags)::VARCHAR",
    "extra": "coalesce(json_merge_patch(q.extra, p.extra), q.extra, p.extra)::VARCHAR",
    "history": "coalesce(p.history, q.messages)",
}
"""The SQL of columns that are not those of one table."""


def _expression(name: str) -> str:
    if name in _EXPRESSIONS:
        return _EXPRESSIONS[name]
    if name in EMPTY_VALUES:
        empty = EMPTY_VALUES[name]
        return f"CASE WHEN given.{name} THEN coalesce(p.{name}, {empty}) ELSE p.{name} END"
    return f"p.{name}" if name in ANSWER_COLUMNS else f"q.{name}"


def require_systems(
    source: Warehouse | Snapshot, systems: Iterable[str], benchmarks: Iterable[str]
) -> None:
    """Check that each system has predictions in one of some benchmarks.

    Raises:
        UnknownSystem: A system has none; the message suggests a similar name.
    """
    names = list(benchmarks)
    found = source.fetch(
        "SELECT DISTINCT system FROM predictions "
        "WHERE benchmark IN (SELECT unnest($benchmarks::VARCHAR[]))",
        {"benchmarks": names},
    )["system"].to_list()
    for system in systems:
        if system not in found:
            listed = ", ".join(repr(name) for name in names)
            raise UnknownSystem(
                f"there is no system {system!r} in {listed}{suggest_name(system, found)}"
            )
