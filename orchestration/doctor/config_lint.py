"""Configuration lint: probable mistakes in a configuration and its files.

None of them stops a run. Without a message you would only notice that something is missing: the
scores of an evaluator, the rows of a slice, a field that no evaluator reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluators.engines.judge.settings import SKIPPED
from evaluators.library.reported.reported import Reported, missing_name
from orchestration.published import open_copy
from records.prediction import Prediction
from records.question import Question
from records.similar_names import did_you_mean
from warehouse.formats.readers.field_names import QUESTION_ALIASES
from warehouse.formats.test_sets import GENERATED
from warehouse.queries.benchmarks import MAX_SAMPLES, fill_in, split_benchmarks
from warehouse.queries.score_matrices import sliced_questions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assets.project import Benchmark, Project
    from records.record import Record
    from warehouse.queries.benchmarks import Source

OF_ANSWERS = ("bounded_choices", "choice_logprobs_by_order", "finish_reason")
"""Fields that systems that are asked have in `extra`."""

MAX_ROWS = MAX_SAMPLES
"""How many rows of a table are searched for unused fields."""

MAX_REASONS = 3
"""How many reasons are listed for an evaluator, the most frequent first."""

LONGEST_REASON = 200
"""How many characters of a reason are shown; exceptions of a user's metric may be long."""

FIELDS: Mapping[str, type[Record]] = {"questions": Question, "predictions": Prediction}

OF_QUESTIONS = Question.model_fields.keys() | QUESTION_ALIASES
"""Fields that rows of predictions may have, too, because they repeat their question."""

REASONS_WITHOUT_SCORES = """
SELECT s.benchmark, s.evaluator, s.reason, count(*) AS n
FROM scores AS s
JOIN (
    SELECT benchmark, evaluator, metric, any_value(signature) AS signature
    FROM leaderboard
    WHERE benchmark IN ({benchmarks}) AND slice = 'all' AND is_primary = 1
    GROUP BY benchmark, evaluator, metric
    HAVING sum(n_scored) = 0
) USING (benchmark, evaluator, metric, signature)
WHERE s.benchmark IN ({benchmarks})
GROUP BY s.benchmark, s.evaluator, s.reason
ORDER BY s.benchmark, s.evaluator, n DESC, s.reason
"""

# The view `scores` has a row for each metric: of a million samples it takes 200 times as long.
SKIPPED_SAMPLES = """
SELECT benchmark, evaluator, reason, count(*) AS n
FROM (
    SELECT DISTINCT benchmark, evaluator, system, question_id, unnest(reasons) AS reason
    FROM grades
    SEMI JOIN (
        SELECT benchmark, evaluator, signature
        FROM leaderboard
        WHERE benchmark IN ({benchmarks}) AND slice = 'all' AND n_not_applicable > 0
    ) USING (benchmark, evaluator, signature)
    WHERE benchmark IN ({benchmarks}) AND reasons IS NOT NULL
)
WHERE starts_with(reason, $skipped)
GROUP BY benchmark, evaluator, reason
ORDER BY benchmark, evaluator, reason
"""

UNUSED_FIELDS = """
SELECT DISTINCT benchmark, unnest(json_keys(extra)) AS field
FROM (
    SELECT benchmark, extra
    FROM {table} WHERE benchmark IN ({benchmarks}) AND extra IS NOT NULL LIMIT {rows}
)
ORDER BY benchmark, field
"""


def lint_config(project: Project, benchmarks: Iterable[str]) -> list[str]:
    """Return probable mistakes in the benchmarks, as sentences that begin with their names.

    Raises:
        NotPublished: Nothing is published yet.
    """
    with open_copy(project).open() as held:
        found = lint_benchmarks(held, [project.benchmarks[name] for name in benchmarks])
    return [f"{name}: {message}" for name, messages in found.items() for message in messages]


def lint_benchmarks(held: Source, benchmarks: Iterable[Benchmark]) -> dict[str, list[str]]:
    """Return probable mistakes in benchmarks whose results a warehouse has, as sentences."""
    by_name = {benchmark.name: benchmark for benchmark in benchmarks}
    return {
        name: list(_lint_benchmark(held, by_name[name], read))
        for part in split_benchmarks(held, list(by_name))
        for read in [_read(held, part.names)]
        for name in part.names
    }


@dataclass(frozen=True, slots=True)
class _Read:
    """What is read of several benchmarks at once; each by benchmark.

    Attributes:
        without_scores: Evaluators without a score for any system, with a reason and the number of
            scores.
        skipped: Evaluators without scores for some samples: with a reason and their number.
        unused: The fields without a column of each table of `FIELDS`.
    """

    without_scores: Mapping[str, Sequence[tuple[str, str, int]]]
    skipped: Mapping[str, Sequence[tuple[str, str, int]]]
    unused: Mapping[str, Mapping[str, Sequence[tuple[str]]]]


def _read(held: Source, benchmarks: Sequence[str]) -> _Read:
    def read(statement: str, parameters: Mapping[str, str] | None = None) -> Any:
        rows = held.fetch(fill_in(statement, benchmarks), parameters)
        return rows.rows_by_key("benchmark")

    return _Read(
        read(REASONS_WITHOUT_SCORES),
        read(SKIPPED_SAMPLES, {"skipped": SKIPPED}),
        {
            table: read(UNUSED_FIELDS.replace("{table}", table).replace("{rows}", str(MAX_ROWS)))
            for table in FIELDS
        },
    )


def _lint_benchmark(held: Source, benchmark: Benchmark, read: _Read) -> Iterator[str]:
    unused = {table: _unused_fields(read, benchmark, table) for table in FIELDS}
    without_scores = _evaluators_without_scores(read, benchmark.name)
    without = {name for names in without_scores.values() for name in names}
    # Of what no prediction has, each sample says another reason: what was reported of it.
    unreported = unreported_names(held, benchmark)
    for reasons, names in without_scores.items():
        listed = [name for name in names if name not in unreported]
        if listed:
            yield f"no scores from {', '.join(listed)}: {reasons}"
    for name, reason in unreported.items():
        yield f"no scores from {name}: {reason}"
    for evaluator, reason, n in read.skipped.get(benchmark.name, ()):
        if evaluator not in without:
            yield f"no score from {evaluator} for {n:,} samples: {reason}"
    for table, model in FIELDS.items():
        known = sorted(model.model_fields.keys() - {"extra"})
        for field in unused[table]:
            hint = did_you_mean(field, known)
            if hint or without_scores:
                yield f"the field {field!r} of the {table} is not used{hint}"
    yield from _missing_tags(held, benchmark, unused["questions"])


def _evaluators_without_scores(read: _Read, benchmark: str) -> dict[str, list[str]]:
    """Return the evaluators without a score for any system, by the reasons."""
    reasons: dict[str, list[str]] = {}
    for name, reason, _ in read.without_scores.get(benchmark, ()):
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


def _unused_fields(read: _Read, benchmark: Benchmark, table: str) -> list[str]:
    """Return the input fields without a column; only canonical files are expected to have none."""
    if benchmark.format != "canonical":
        return []
    names = [name for (name,) in read.unused[table].get(benchmark.name, ()) if name != GENERATED]
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


def unreported_names(held: Source, benchmark: Benchmark) -> dict[str, str]:
    """Return the evaluators `reported` whose value no prediction has, with what there is."""
    own = [each for each in benchmark.evaluators if isinstance(each, Reported)]
    if not own:
        return {}
    names = held.fetch(
        "SELECT DISTINCT unnest(json_keys(reported)) AS name FROM predictions "
        "WHERE benchmark = $benchmark",
        {"benchmark": benchmark.name},
    )["name"].to_list()
    return {
        each.name: missing_name(each.reads_name, names)
        for each in own
        if each.reads_name not in names
    }
