"""Questions for systems, and the calls that answer them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from records.columns import stored_columns
from records.question import Question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warehouse.queries.benchmarks import Source
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

_COLUMNS: Final = stored_columns(Question).values()
_JSON_COLUMNS: Final = tuple(each.name for each in _COLUMNS if each.is_json)
_RENAMED: Final = {each.name: each.fields[0] for each in _COLUMNS}


def fetch_questions(warehouse: Warehouse, benchmark: str) -> list[dict[str, Any]]:
    """Return the questions of a benchmark by the names of canonical fields, in their file's order.

    Fields that are not given are left out.
    """
    rows = warehouse.fetch(
        "SELECT * EXCLUDE (benchmark, file, line) REPLACE (map_entries(tags) AS tags) "
        "FROM questions WHERE benchmark = $benchmark ORDER BY file, line, question_id",
        {"benchmark": benchmark},
    )
    return [_canonical(row) for row in rows.iter_rows(named=True)]


def _canonical(row: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: value for name, value in row.items() if value is not None}
    for name in _JSON_COLUMNS:
        if name in known:
            known[name] = json.loads(known[name])
    if "tags" in known:
        known["tags"] = {each["key"]: each["value"] for each in known["tags"]}
    if "gold_relevance" in known:
        known["gold_relevance"] = {
            each["doc_id"]: each["grade"] for each in known["gold_relevance"]
        }
    fields = {_RENAMED.get(name, name): value for name, value in known.items()}
    return {name: fields[name] for name in Question.model_fields if name in fields}


def replace_answers(
    warehouse: Warehouse,
    benchmark: str,
    system: str,
    digests: Mapping[tuple[str, int], str],
    stage: str,
    fingerprint: str | None,
) -> None:
    """Replace the answers of a system to a benchmark by stored calls.

    Other benchmarks that share a call whose reply is another now are marked as incomplete.

    Args:
        warehouse: The warehouse, whose table `judgments` has the calls.
        benchmark: The benchmark.
        system: The system.
        digests: The call of each question and repeat.
        stage: The stage under which a fingerprint is recorded.
        fingerprint: What the answers depend on; None: they are incomplete. The digest of the
            answers is added.
    """
    values = {
        "benchmark": benchmark,
        "system": system,
        "questions": [question for question, _ in digests],
        "repeats": [repeat for _, repeat in digests],
        "digests": list(digests.values()),
    }

    def write(transaction: Transaction) -> None:
        transaction.delete("answers", {"benchmark": [benchmark], "system": [system]})
        transaction.execute(_INSERT, values)
        recorded = INCOMPLETE
        if fingerprint is not None:
            own = {"benchmark": benchmark, "system": system}
            recorded = f"{fingerprint} {transaction.fetch(_DIGEST, own).item()}"
        transaction.record_fingerprint(benchmark, stage, recorded)
        for (other,) in transaction.fetch(_OUTDATED, {"system": system}).iter_rows():
            transaction.record_fingerprint(other, stage, INCOMPLETE)

    warehouse.write(write)


def mark_incomplete(warehouse: Warehouse, stages: Sequence[tuple[str, str]]) -> None:
    """Record that answers are incomplete, so that the next run looks at all of them.

    Args:
        warehouse: The warehouse.
        stages: The benchmark and the stage of each system's answers.
    """

    def write(transaction: Transaction) -> None:
        for benchmark, stage in stages:
            transaction.record_fingerprint(benchmark, stage, INCOMPLETE)

    warehouse.write(write)


def remove_other_answers(warehouse: Warehouse, benchmark: str, systems: Sequence[str]) -> None:
    """Remove the answers of systems that a benchmark no longer asks; their calls stay."""
    values = {"benchmark": benchmark, "systems": list(systems)}
    found = warehouse.fetch(
        "SELECT DISTINCT system FROM answers "
        "WHERE benchmark = $benchmark AND NOT list_contains($systems, system)",
        values,
    )["system"].to_list()
    if found:
        where = {"benchmark": [benchmark], "system": found}
        warehouse.write(lambda transaction: transaction.delete("answers", where))


INCOMPLETE: Final = "incomplete"
"""The fingerprint of answers of which some are to be asked for by the next run."""

_DIGEST: Final = """
SELECT count(*) || '-' || coalesce(bit_xor(hash(question_id, repeat, digest, answered_at)), 0)
FROM answers
WHERE benchmark = $benchmark AND system = $system
"""

_OUTDATED: Final = """
SELECT DISTINCT a.benchmark
FROM answers AS a
JOIN judgments AS j USING (digest)
WHERE a.system = $system AND a.answered_at <> j.judged_at
"""

_INSERT: Final = """
INSERT INTO answers BY NAME
SELECT
    $benchmark AS benchmark, $system AS system, a.question_id, a.repeat, j.digest,
    j.judged_at AS answered_at, j.latency_s,
    (j.reply ->> '$.first_token_s')::DOUBLE AS first_token_s,
    j.tokens_in - coalesce(j.replaced_tokens_in, 0) AS tokens_in,
    j.tokens_out - coalesce(j.replaced_tokens_out, 0) AS tokens_out,
    j.cost_usd - coalesce(j.replaced_usd, 0) AS cost_usd,
    j.error, j.attempts, j.run_id
FROM (
    SELECT
        unnest($questions::VARCHAR[]) AS question_id,
        unnest($repeats::INTEGER[]) AS repeat,
        unnest($digests::VARCHAR[]) AS digest
) AS a
JOIN judgments AS j USING (digest)
"""


def fetch_answered(
    source: Source, benchmark: str, *, with_failed: bool = True
) -> dict[str, dict[tuple[str, int], str]]:
    """Return the calls by which systems have answered a benchmark, by system.

    Args:
        source: The warehouse.
        benchmark: The benchmark.
        with_failed: Whether calls count that got no answer.

    Returns:
        The digests of the calls by question and repeat, in the order of both.
    """
    rows = source.fetch(
        "SELECT a.system, a.question_id, a.repeat, a.digest "
        "FROM answers AS a JOIN judgments AS j USING (digest) "
        "WHERE a.benchmark = $benchmark AND ($with_failed OR j.reply IS NOT NULL) ORDER BY ALL",
        {"benchmark": benchmark, "with_failed": with_failed},
    )
    found: dict[str, dict[tuple[str, int], str]] = {}
    for system, question, repeat, digest in rows.iter_rows():
        found.setdefault(system, {})[question, repeat] = digest
    return found


def fetch_outcomes(
    source: Source, digests: Sequence[str]
) -> dict[str, tuple[str | None, str | None]]:
    """Return the replies and errors of stored calls, by the digest of the call."""
    rows = source.fetch(
        "SELECT digest, reply, error FROM judgments WHERE digest IN (SELECT unnest($digests))",
        {"digests": list(digests)},
    )
    return {digest: (reply, error) for digest, reply, error in rows.iter_rows()}


def fetch_replies(warehouse: Warehouse, system: str, count: int) -> list[str]:
    """Return replies of a system that are not errors, the latest first."""
    rows = warehouse.fetch(
        "SELECT DISTINCT j.reply, j.judged_at FROM answers AS a JOIN judgments AS j USING (digest) "
        "WHERE a.system = $system AND j.reply IS NOT NULL AND j.error IS NULL "
        "ORDER BY j.judged_at DESC, j.reply LIMIT $count",
        {"system": system, "count": count},
    )
    return rows["reply"].to_list()
