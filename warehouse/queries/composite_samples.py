"""Queries for the samples of composite evaluators: predictions with the scores of the parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from warehouse.queries.samples import Query, select_stale
from warehouse.schema.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence


class Part(NamedTuple):
    """A metric that is part of a composite.

    Attributes:
        name: Its full name, `evaluator.metric`, which names the column.
        evaluator: The evaluator.
        position: Its position in the lists of `grades`, from 0.
        signature: The current signature of the evaluator; other scores do not count.
    """

    name: str
    evaluator: str
    position: int
    signature: str


def select_stale_composite_samples(
    benchmark: str,
    evaluator: str,
    signature: str,
    parts: Sequence[Part],
    systems: Sequence[str] | None = None,
    *,
    every_answer: bool = False,
) -> Query:
    """Select the samples without a score of this signature for the current scores of the parts.

    Args:
        benchmark: The benchmark.
        evaluator: The evaluator's name.
        signature: The current signature of the evaluator.
        parts: The parts, which the input digest covers.
        systems: The systems; null: all.
        every_answer: As for `samples`.

    Returns:
        A query with benchmark, system, question_id, input_digest, `error`, `not_asked`, and for
        each part the columns `<name>` and `status:<name>`, which is null if it is scored.
    """
    parameters: dict[str, Any] = {"benchmark": benchmark}
    joined, columns, digested = [], [], []
    grades, number = ("answer_grades", ", repeat") if every_answer else ("grades", "")
    names = sorted({(part.evaluator, part.signature) for part in parts})
    tables = {name: f"part{number}" for number, (name, _) in enumerate(names)}
    for at, (name, signed) in enumerate(names):
        table = tables[name]
        parameters |= {f"name{at}": name, f"signature{at}": signed}
        joined.append(
            f"LEFT JOIN (SELECT * FROM {grades} WHERE benchmark = $benchmark "  # noqa: S608
            f"AND evaluator = $name{at} AND signature = $signature{at}) AS {table} "
            f"USING (benchmark, system, question_id{number})"
        )
    for at, part in enumerate(parts):
        table, place = tables[part.evaluator], part.position + 1
        value = f"{table}.values[{place}]"
        status = (
            f"CASE WHEN {value} IS NULL "
            f"THEN coalesce({table}.statuses[{place}], 'not_applicable') END"
        )
        columns += [
            f"{value} AS {quoted(part.name)}",
            f"{status} AS {quoted(f'status:{part.name}')}",
        ]
        digested += [f"v{at}: {value}", f"s{at}: {status}"]
    only = ""
    if systems is not None:
        parameters["systems"] = list(systems)
        only = "AND p.system IN (SELECT unnest($systems))"
    sql = f"""
SELECT
    p.benchmark, p.system, p.question_id{", p.repeat" if every_answer else ""},
    CASE WHEN p.not_asked = 1 THEN 0::UBIGINT ELSE
        hash(to_json({{{", ".join(digested)}, failed: p.error IS NOT NULL}})::VARCHAR)
    END AS input_digest,
    p.error,
    p.not_asked = 1 AS not_asked,
    {", ".join(columns)}
FROM predictions AS p
SEMI JOIN questions AS q USING (benchmark, question_id)
{" ".join(joined)}
WHERE p.benchmark = $benchmark {only} {"" if every_answer else "AND p.repeat = 0"}
""".strip()  # noqa: S608
    query = Query(sql, parameters)
    return select_stale(query, benchmark, evaluator, signature, every_answer=every_answer)
