"""Which samples an evaluator sees, and which of them it has not graded as they now are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from warehouse.errors import UnknownColumn, UnknownSystem, suggest_name
from warehouse.schema.ddl import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warehouse.publish.snapshot import Snapshot
    from warehouse.store import Warehouse


IDENTITY = ("benchmark", "system", "question_id")

QUESTION_COLUMNS = (
    "question",
    "expected_answers",
    "expected_parts",
    "expected_label",
    "doc_id",
    "gold_doc_ids",
    "gold_relevance",
    "gold_sentence_ids",
    "rubric",
    "constraints",
    "choices",
    "correct_choice",
    "scenario",
    "noise_ratio",
    "counterfactual_answer",
    "perturbs",
    "perturbation",
    "cluster",
    "tags",
)

EMPTY_VALUES = {
    "answer": "''",
    "contexts": "[]",
    "retrieved_doc_ids": "[]",
    "cited_sentence_ids": "[]",
    "choice_logprobs": "[]",
    "label": "''",
}
"""What stands for a field that a system gives elsewhere but not here."""

ANSWER_COLUMNS = (*EMPTY_VALUES, "latency_s", "cost_usd", "error")

SAMPLE_COLUMNS = (*QUESTION_COLUMNS, *ANSWER_COLUMNS, "document_sentences")
"""The columns that may be asked for, besides benchmark, system, question_id, input_digest."""


@dataclass(frozen=True, slots=True)
class Query:
    """A statement with the values of its parameters, for `fetch`, `spool` and `execute`.

    Attributes:
        sql: The statement.
        parameters: The values by name.
    """

    sql: str
    parameters: dict[str, Any] = field(default_factory=dict)


def samples(benchmark: str, columns: Iterable[str], systems: Sequence[str] | None = None) -> Query:
    """The samples of a benchmark: every prediction joined with its question.

    The result has benchmark, system, question_id, input_digest and then the columns asked for.
    A list or text field of the answer that a system gives for other questions but not for this
    one is empty; one that it never gives is null. A system that failed on every question
    counts as giving every field. `document_sentences` are the sentences of the question's
    document in their order, null when the document is not known.

    Args:
        benchmark: The benchmark.
        columns: Names out of `SAMPLE_COLUMNS`; the identity columns may be named, too.
        systems: The systems; null: all.

    Raises:
        UnknownColumn: There is no such column.
    """
    asked = _asked(columns)
    parameters: dict[str, Any] = {"benchmark": benchmark}
    if systems is not None:
        parameters["systems"] = list(systems)
    return Query(_samples_sql(asked, narrowed=systems is not None), parameters)


def select_stale_samples(
    benchmark: str,
    evaluator: str,
    signature: str,
    columns: Iterable[str],
    systems: Sequence[str] | None = None,
) -> Query:
    """The samples without a grade of this signature for the inputs that they have now.

    Args:
        benchmark: The benchmark.
        evaluator: The evaluator's name.
        signature: The evaluator as it is configured now.
        columns: All columns that the evaluator reads; the input digest covers exactly these.
        systems: The systems; null: all.

    Returns:
        A query with the columns of `samples`.

    Raises:
        UnknownColumn: There is no such column.
    """
    asked = samples(benchmark, columns, systems)
    sql = f"""
SELECT s.*
FROM (
{asked.sql}
) AS s
ANTI JOIN (
    SELECT system, question_id, input_digest
    FROM grades
    WHERE benchmark = $benchmark AND evaluator = $evaluator AND signature = $signature
) AS g USING (system, question_id, input_digest)
""".strip()  # noqa: S608
    return Query(sql, {**asked.parameters, "evaluator": evaluator, "signature": signature})


def orphans(benchmark: str, evaluator: str) -> Query:
    """The keys of an evaluator's grades whose system or question is no longer there.

    Returns:
        A query with benchmark, system, question_id, evaluator.
    """
    return _orphans("SELECT benchmark, system, question_id, evaluator", benchmark, evaluator)


def delete_orphans(benchmark: str, evaluator: str, table: str = "grades") -> Query:
    """The statement that deletes what `orphans` finds, for `Transaction.execute`.

    Args:
        benchmark: The benchmark.
        evaluator: The evaluator's name.
        table: `grades`, or `asks`: what was asked about samples that are gone. Judgments stay.
    """
    return _orphans("DELETE", benchmark, evaluator, table)


def _orphans(verb: str, benchmark: str, evaluator: str, table: str = "grades") -> Query:
    sql = f"""
{verb} FROM {quoted(table)}
WHERE benchmark = $benchmark
  AND evaluator = $evaluator
  AND (system, question_id) NOT IN (
    SELECT (p.system, p.question_id)
    FROM predictions AS p
    SEMI JOIN questions AS q USING (benchmark, question_id)
    WHERE p.benchmark = $benchmark
  )
""".strip()  # noqa: S608
    return Query(sql, {"benchmark": benchmark, "evaluator": evaluator})


def _asked(columns: Iterable[str]) -> list[str]:
    wanted = set(columns) - set(IDENTITY)
    for name in sorted(wanted - set(SAMPLE_COLUMNS)):
        raise UnknownColumn(f"samples have no column {name!r}{suggest_name(name, SAMPLE_COLUMNS)}")
    return [name for name in SAMPLE_COLUMNS if name in wanted]


def _samples_sql(asked: Sequence[str], *, narrowed: bool) -> str:
    filled = [name for name in asked if name in EMPTY_VALUES]
    with_document = "document_sentences" in asked
    expressions = {name: _expression(name) for name in asked}
    # Sorted, so that neither the order of the columns here nor that of the caller matters.
    digested = ", ".join(f"{name}: {expressions[name]}" for name in sorted(asked))
    selected = "".join(f",\n    {what} AS {name}" for name, what in expressions.items())
    only = "AND system IN (SELECT unnest($systems))" if narrowed else ""
    given = ", ".join(
        f"bool_or({name} IS NOT NULL) OR bool_and(error IS NOT NULL) AS {name}" for name in filled
    )
    joined_given = f"""
JOIN (
    SELECT system, {given}
    FROM predictions
    WHERE benchmark = $benchmark {only}
    GROUP BY system
) AS given USING (system)"""  # noqa: S608
    joined_document = """
LEFT JOIN (
    SELECT
        doc_id,
        list({sentence_id: sentence_id, text: text} ORDER BY position, sentence_id) AS sentences
    FROM documents
    WHERE benchmark = $benchmark
    GROUP BY doc_id
) AS d ON d.doc_id = q.doc_id"""
    return f"""
SELECT
    p.benchmark,
    p.system,
    p.question_id,
    hash(to_json({{{digested}{", " if digested else ""}failed: p.error IS NOT NULL}})::VARCHAR)
        AS input_digest{selected}
FROM (SELECT * FROM predictions WHERE benchmark = $benchmark {only}) AS p
JOIN (SELECT * FROM questions WHERE benchmark = $benchmark) AS q USING (question_id)
{joined_given if filled else ""}{joined_document if with_document else ""}
""".strip()  # noqa: S608


def _expression(name: str) -> str:
    if name == "document_sentences":
        return "d.sentences"
    if name in EMPTY_VALUES:
        return f"CASE WHEN given.{name} THEN coalesce(p.{name}, {EMPTY_VALUES[name]}) ELSE p.{name} END"
    return f"p.{name}" if name in ANSWER_COLUMNS else f"q.{name}"


def require_systems(
    source: Warehouse | Snapshot, systems: Iterable[str], benchmarks: Iterable[str]
) -> None:
    """Checks that each system has answered one of some benchmarks.

    Args:
        source: The warehouse or its published copy.
        systems: The systems that are meant.
        benchmarks: Where they are looked for.

    Raises:
        UnknownSystem: One of them is in none of the benchmarks; a near name is suggested.
    """
    names = list(benchmarks)
    found = source.fetch(
        "SELECT DISTINCT system FROM predictions "
        "WHERE benchmark IN (SELECT unnest($benchmarks::VARCHAR[]))",
        {"benchmarks": names},
    )["system"].to_list()
    for system in systems:
        if system not in found:
            place = ", ".join(repr(name) for name in names)
            raise UnknownSystem(
                f"there is no system {system!r} in {place}{suggest_name(system, found)}"
            )
