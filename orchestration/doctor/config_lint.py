"""Configuration lint: probable mistakes in a configuration and its files.

None of them stops a run. Without a message you would only notice that something is missing: the
scores of an evaluator, the rows of a slice, a field that no evaluator reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators.engines.judge.settings import SKIPPED
from evaluators.errors import did_you_mean
from orchestration.published import open_copy
from warehouse.formats.readers.field_names import QUESTION_ALIASES
from warehouse.formats.records.prediction import Prediction
from warehouse.formats.records.question import Question
from warehouse.formats.test_sets import GENERATED
from warehouse.queries.score_matrices import sliced_questions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from assets.leaderboard.score_matrix import Source
    from assets.project import Benchmark, Project
    from warehouse.formats.records.record import Record

OF_ANSWERS = ("bounded_choices", "choice_logprobs_by_order", "finish_reason")
"""Fields that systems that are asked have in `extra`."""

MAX_ROWS = 10_000
"""How many rows of a table are searched for unused fields."""

MAX_REASONS = 3
"""How many reasons are listed for an evaluator, the most frequent first."""

LONGEST_REASON = 200
"""How many characters of a reason are shown; exceptions of a user's metric may be long."""

FIELDS: Mapping[str, type[Record]] = {"questions": Question, "predictions": Prediction}

OF_QUESTIONS = Question.model_fields.keys() | QUESTION_ALIASES
"""Fields that rows of predictions may have, too, because they repeat their question."""

REASONS_WITHOUT_SCORES = """
SELECT s.evaluator, s.reason, count(*) AS n
FROM scores AS s
JOIN (
    SELECT evaluator, metric, any_value(signature) AS signature
    FROM leaderboard
    WHERE benchmark = $benchmark AND slice = 'all' AND is_primary = 1
    GROUP BY evaluator, metric
    HAVING sum(n_scored) = 0
) USING (evaluator, metric, signature)
WHERE s.benchmark = $benchmark
GROUP BY s.evaluator, s.reason
ORDER BY s.evaluator, n DESC, s.reason
"""


SKIPPED_SAMPLES = """
SELECT s.evaluator, s.reason, count(DISTINCT (s.system, s.question_id)) AS n
FROM scores AS s
JOIN (
    SELECT DISTINCT evaluator, signature
    FROM leaderboard
    WHERE benchmark = $benchmark AND slice = 'all' AND n_not_applicable > 0
) USING (evaluator, signature)
WHERE s.benchmark = $benchmark AND starts_with(s.reason, $skipped)
GROUP BY s.evaluator, s.reason
ORDER BY s.evaluator, s.reason
"""


def lint_config(project: Project, benchmarks: Iterable[str]) -> list[str]:
    """Return probable mistakes in the benchmarks, as sentences that begin with their names.

    Raises:
        NotPublished: Nothing is published yet.
    """
    with open_copy(project).open() as held:
        return [
            f"{name}: {message}"
            for name in benchmarks
            for message in lint_benchmark(held, project.benchmarks[name])
        ]


def lint_benchmark(held: Source, benchmark: Benchmark) -> Iterator[str]:
    """Yield probable mistakes in a benchmark whose results a warehouse has, as sentences."""
    unused = {table: _unused_fields(held, benchmark, table) for table in FIELDS}
    without_scores = _evaluators_without_scores(held, benchmark.name)
    for reasons, names in without_scores.items():
        yield f"no scores from {', '.join(names)}: {reasons}"
    without = {name for names in without_scores.values() for name in names}
    parameters = {"benchmark": benchmark.name, "skipped": SKIPPED}
    for evaluator, reason, n in held.fetch(SKIPPED_SAMPLES, parameters).iter_rows():
        if evaluator not in without:
            yield f"no score from {evaluator} for {n:,} samples: {reason}"
    for table, model in FIELDS.items():
        known = sorted(model.model_fields.keys() - {"extra"})
        for field in unused[table]:
            hint = did_you_mean(field, known)
            if hint or without_scores:
                yield f"the field {field!r} of the {table} is not used{hint}"
    yield from _missing_tags(held, benchmark, unused["questions"])


def _evaluators_without_scores(held: Source, benchmark: str) -> dict[str, list[str]]:
    """Return the evaluators without a score for any system, by the reasons."""
    reasons: dict[str, list[str]] = {}
    rows = held.fetch(REASONS_WITHOUT_SCORES, {"benchmark": benchmark})
    for name, reason, _ in rows.iter_rows():
        reasons.setdefault(name, []).append(_on_one_line(str(reason), LONGEST_REASON))
    groups: dict[str, list[str]] = {}
    for name, listed in reasons.items():
        count = len(listed) - MAX_REASONS
        more = f"; and {count} other reasons" if count > 0 else ""
        groups.setdefault("; ".join(listed[:MAX_REASONS]) + more, []).append(name)
    return groups


def _on_one_line(text: str, width: int) -> str:
    """Return a text on one line, without its middle if it is long: its end says where."""
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 50]} ... {line[-45:]}"


def _unused_fields(held: Source, benchmark: Benchmark, table: str) -> list[str]:
    """Return the input fields without a column; only canonical files are expected to have none."""
    if benchmark.format != "canonical":
        return []
    rows = held.fetch(
        f"SELECT DISTINCT unnest(json_keys(extra)) AS field FROM (SELECT extra FROM {table} "  # noqa: S608 - not user input
        f"WHERE benchmark = $benchmark AND extra IS NOT NULL LIMIT {MAX_ROWS}) ORDER BY field",
        {"benchmark": benchmark.name},
    )
    names = [str(name) for name in rows["field"] if name != GENERATED]
    own = {*OF_QUESTIONS, *OF_ANSWERS}
    return [name for name in names if table == "questions" or name not in own]


def _missing_tags(held: Source, benchmark: Benchmark, unused_fields: list[str]) -> Iterator[str]:
    """Name the tags in `slices` and `cluster` that no question has."""
    wanted = [("slices", name) for name in benchmark.slices]
    wanted += [("cluster", benchmark.cluster)] if benchmark.cluster else []
    for key, name in wanted:
        query = sliced_questions([benchmark.name], [name])
        if not held.fetch(f"{query.sql} LIMIT 1", query.parameters).is_empty():
            continue
        tags = held.fetch(
            "SELECT DISTINCT unnest(map_keys(tags)) AS tag FROM questions "
            "WHERE benchmark = $benchmark ORDER BY tag",
            {"benchmark": benchmark.name},
        )
        hint = did_you_mean(name, [str(tag) for tag in tags["tag"]])
        if name in unused_fields:
            hint = f"; move the field {name!r} into `tags`"
        yield f"{key}: no question has the tag or field {name!r}{hint}"
