"""The data files of questions and answers: tables by column, with each passage stored once."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import polars as pl

from assets.publishing.report.data_files import to_json
from warehouse.queries import report as report_queries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from assets.publishing.report.panel import BenchmarkData
    from warehouse.queries.samples import Query

ANSWERS_PER_FILE = 1_000
"""A file that opens at once, without writing too many files."""

ANSWERS_PER_QUERY = 20_000
"""Each query scans the tables once, so one query reads the answers of many files."""

PASSAGES_PER_FILE = 500_000
"""The characters of passages after which another file begins."""


def questions_per_file(data: BenchmarkData) -> int:
    """Return how many questions, with all their answers, share a file."""
    return max(1, ANSWERS_PER_FILE // max(1, len(data.systems)))


def answer_files(data: BenchmarkData) -> Iterator[tuple[str, bytes]]:
    """Yield the files of questions, answers and passages, as (name, content).

    `questions` lists all questions. `answers-<n>` has some of them with all answers, which refer
    to passages by number. `passages-<n>` lists passages, and `passages` has the number of the first
    one in each of these files.
    """
    yield "questions", to_json(data.questions.rows())
    ids = data.questions["question_id"].to_list()
    size = questions_per_file(data)
    batch = max(1, ANSWERS_PER_QUERY // max(1, len(data.systems)) // size) * size
    if data.part.is_shared:
        batch = max(1, len(ids))
    passages = Passages()
    for start in range(0, len(ids), batch):
        chosen = ids[start : start + batch]
        samples = read_samples(data, chosen, passages)
        for at in range(start, start + len(chosen), size):
            yield f"answers-{at // size}", to_json(samples.pack(at, at + size))
        yield from passages.take_files()
    yield from passages.take_files(is_end=True)
    yield "passages", to_json(passages.starts)


@dataclass
class Passages:
    """Numbers passages from 0 by their first use: answers of all systems share many of them.

    Attributes:
        starts: The number of the first passage of each file so far.
    """

    starts: list[int] = field(default_factory=list)
    # Digests, since the passages of a benchmark may need more memory than there is.
    _numbers: dict[bytes, int] = field(default_factory=dict)
    _waiting: list[str] = field(default_factory=list)

    def number(self, lists: pl.Series) -> pl.Series:
        """Return lists of passages as lists of their numbers."""
        given = lists.explode(empty_as_null=False, keep_nulls=False)
        texts = given.drop_nulls().unique(maintain_order=True)
        numbers = pl.Series([self._number(text) for text in texts], dtype=pl.Int64)
        numbered = pl.element().replace_strict(texts, numbers, return_dtype=pl.Int64)
        return lists.to_frame().select(pl.first().list.eval(numbered)).to_series()

    def _number(self, text: str) -> int:
        key = blake2b(text.encode(), digest_size=16).digest()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            self._waiting.append(text)
        return number

    def take_files(self, *, is_end: bool = False) -> Iterator[tuple[str, bytes]]:
        """Yield the files that are full, at the end also the last one."""
        first, size = 0, 0
        for at, text in enumerate(self._waiting, 1):
            size += len(text)
            if size >= PASSAGES_PER_FILE or (is_end and at == len(self._waiting)):
                name = f"passages-{len(self.starts)}"
                self.starts.append(len(self._numbers) - len(self._waiting) + first)
                yield name, to_json(self._waiting[first:at])
                first, size = at, 0
        del self._waiting[:first]


class PackedColumn:
    """A column of a table, parts of which become JSON: for each file a part of the rows."""

    def __init__(self, column: pl.Series) -> None:
        """Take a column of plain values, or of lists of them."""
        self._values = column
        self._lengths: NDArray[np.int64] | None = None
        if isinstance(column.dtype, pl.List):
            lengths = column.list.len().cast(pl.Int64)
            self._values = column.filter(lengths > 0).explode()
            self._lengths = lengths.fill_null(-1).to_numpy()
            self._ends = np.append(0, np.cumsum(np.maximum(self._lengths, 0)))

    def part(self, start: int, stop: int) -> Any:
        """Return some rows as the page reads them.

        Returns:
            A list of values; of lists their `lengths` (-1 for null) and all their `values`; or None
            if all values are null.
        """
        if self._lengths is None:
            values = self._values[start:stop]
            return None if values.null_count() == len(values) else values.to_list()
        lengths = self._lengths[start:stop]
        if (lengths < 0).all():
            return None
        values = self._values[self._ends[start] : self._ends[stop]]
        return {"lengths": lengths.tolist(), "values": values.to_list()}


class PackedTable:
    """A table whose rows belong to questions.

    Attributes:
        questions: The position of each row's question, ascending.
        columns: The other columns by name.
    """

    def __init__(self, table: pl.DataFrame, questions: pl.Series | None = None) -> None:
        """Take a table with the column `question`, or whose questions are given."""
        self.has_question = questions is None
        self.questions: list[int] = (
            table["question"] if questions is None else questions
        ).to_list()
        self.columns = {
            column.name: PackedColumn(column) for column in table if column.name != "question"
        }

    def part(self, start: int, stop: int) -> dict[str, Any]:
        """Return the rows of some questions; their positions are counted from `start`."""
        first, end = (bisect_left(self.questions, at) for at in (start, stop))
        found = {name: column.part(first, end) for name, column in self.columns.items()}
        if self.has_question:
            found["question"] = [at - start for at in self.questions[first:end]]
        return found


@dataclass(frozen=True)
class Samples:
    """Some questions with all answers, by question and system.

    Attributes:
        first: The position of the first question.
        questions: `json` (the question with its gold data) and `sentences`, both JSON.
        answers: A row for each answer.
        grades: By evaluator a row for each answer, without its keys; null if it was not scored.
        judgments: A row for each call of the judge.
    """

    first: int
    questions: pl.DataFrame
    answers: PackedTable
    grades: Mapping[str, PackedTable]
    judgments: PackedTable

    def pack(self, start: int, stop: int) -> dict[str, Any]:
        """Return the content of a file: the questions from `start` to before `stop`."""
        chosen = self.questions[start - self.first : stop - self.first]
        return {
            "known": [orjson.Fragment(text) for text in chosen["json"]],
            "sentences": [text and orjson.Fragment(text) for text in chosen["sentences"]],
            "answers": self.answers.part(start, stop),
            "grades": {name: table.part(start, stop) for name, table in self.grades.items()},
            "judged": self.judgments.part(start, stop),
        }


def read_samples(data: BenchmarkData, question_ids: Sequence[str], passages: Passages) -> Samples:
    """Read some questions with all answers.

    Args:
        data: The benchmark.
        question_ids: The questions, sorted; of a part with several benchmarks, these are all.
        passages: Numbers the passages.
    """

    def read(query: Callable[..., Query]) -> pl.DataFrame:
        chosen = (data.part.benchmarks, None if data.part.is_shared else question_ids)
        return data.fetch_by_question(query(*chosen))

    questions = read(report_queries.question_details)
    answers = read(report_queries.answers)
    if answers["contexts"].null_count() < answers.height:
        answers = answers.with_columns(passages.number(answers["contexts"]))
    scores = read(report_queries.scores).partition_by("evaluator", as_dict=True)
    grades = {
        str(evaluator): PackedTable(_in_order(found, answers), answers["question"])
        for (evaluator,), found in scores.items()
    }
    return Samples(
        data.question_numbers[question_ids[0]],
        questions,
        PackedTable(answers),
        dict(sorted(grades.items())),
        PackedTable(read(report_queries.judgments)),
    )


def _in_order(scores: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Return the scores of one evaluator in the order of the answers, null without a score."""
    keys = ["question", "system"]
    # Usually all answers have scores, and both are sorted.
    if not all(scores[key].equals(answers[key]) for key in keys):
        scores = answers.select(keys).join(scores, on=keys, how="left", maintain_order="left")
    return scores[["v", "s", "r", "d"]]
