"""Files whose rows hold questions and answers, as one input of `evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from records.prediction import Prediction
from records.question import Question
from warehouse.errors import InputError, Problem, closest_match
from warehouse.formats.format import Reject
from warehouse.formats.paths import expand
from warehouse.formats.readers.field_names import PREDICTION_ALIASES, QUESTION_ALIASES
from warehouse.formats.readers.rows import rows
from warehouse.formats.readers.tabular import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from assets.project import Benchmark
    from warehouse.formats.readers.field_names import FieldNames

Kinds: TypeAlias = type[Question] | type[Prediction]

_FIELDS: Final = frozenset(
    {*Question.model_fields, *Prediction.model_fields, *QUESTION_ALIASES, *PREDICTION_ALIASES}
)

ANSWERS: Final = frozenset(
    {"answer", "contexts", "retrieved", "cited_sentence_ids", "choice_logprobs", "choice_probs"}
    | {"label", "messages", "error", "reported", "extra"}
)
"""The fields of a prediction without any of which it is no answer."""

_WITHOUT_ANSWERS: Final = frozenset(
    {"system", "repeat", "latency_s", "cost_usd", "tokens_in", "tokens_out", "started_at"}
    | {"ended_at", "trace_id", "extra", "tags", *Question.model_fields}
)
"""What evaluators may read where there is no answer."""

_OUTPUTS: Final = (
    *("output", "completion", "prediction", "actual_output", "model_output", "generated_text"),
    *("generated_answer", "generation", "generated", "reply", "result", "outputs", "predictions"),
    *("text", "content"),
)
"""What others call an answer, the most usual first."""

_SYSTEMS: Final = (
    *("model", "model_name", "model_id", "provider", "llm", "engine", "run", "run_name", "run_id"),
    *("experiment", "variant", "version", "config", "configuration", "candidate", "agent"),
    *("pipeline", "method", "name", "sys"),
)
"""What others call a system, the most usual first."""


@dataclass
class RowFiles:
    """Files whose rows hold questions and answers; each kind of record is read from them."""

    paths: list[Path]

    def read(
        self, kind: Kinds, names_of: Callable[[Path], FieldNames]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each row under the names of fields, after its file and line.

        Raises:
            InputError: A file cannot be read, or a row is not valid.
        """
        for path in self.paths:
            names = names_of(path)
            # The text identifies the question of a row without an id.
            names.has_id = False
            names.known |= _FIELDS
            before: int | None = None
            for number, row in enumerate(
                rows(path, key="question_id", shape=Shape.of(kind), names=names), start=1
            ):
                if isinstance(row, Reject):
                    raise InputError([Problem(path, row.line, row.reason)])
                where = f"{path}:{row.line}"
                # Objects of JSON may share a line.
                yield (f"{where} (row {number})" if row.line == before else where), row.fields
                before = row.line
            names.require_columns()


def opened(given: Any) -> Any:
    """Return rows with the paths among them as files, by system where paths name systems.

    Raises:
        InputError: A path matches no file.
    """
    if isinstance(given, Mapping):
        parts = {
            name: RowFiles([path for path, _ in expand(part)]) if is_path(part) else part
            for name, part in given.items()
        }
        if len({isinstance(part, RowFiles) for part in parts.values()}) > 1:
            message = "expected a file for each system, or rows for each, found both"
            raise InputError([Problem("predictions", None, message)])
        return parts
    if not is_path(given):
        return given
    found = expand(given)
    systems: dict[str, RowFiles] = {}
    for path, system in found:
        if system is not None:
            systems.setdefault(system, RowFiles([])).paths.append(path)
    return systems or RowFiles([path for path, _ in found])


def is_path(given: object) -> bool:
    """Return whether an input is a path or a pattern."""
    return isinstance(given, str | Path)


def merged(names: Iterable[FieldNames]) -> dict[str, str]:
    """Return the field of each column that files or frames have."""
    return {column: name for each in names for column, name in each.by_column().items()}


@dataclass
class AnswerColumns:
    """The columns of rows of answers, for messages about what they lack.

    Attributes:
        needs_answers: Whether no evaluator has a value for rows without an answer.
        used: Columns that are read as fields or tags of questions.
        columns: All other columns of rows of answers.
    """

    needs_answers: bool = False
    used: set[str] = field(default_factory=set)
    columns: dict[str, None] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Benchmark, *, is_combined: bool) -> AnswerColumns:
        """Return those for a benchmark.

        Answers beside questions that are given apart may be missing: a problem says so later.
        """
        needs = [each.reads - _WITHOUT_ANSWERS for each in settings.evaluators]
        names = {*settings.columns.questions, *settings.columns.tags, *settings.slices}
        names |= {settings.cluster or "question_id"}
        return cls(is_combined and all(needs), names)

    def require_answers(self, origin: str, fields: Mapping[str, str]) -> None:
        """Check that rows of answers have a column with answers.

        Args:
            origin: The rows.
            fields: The field of each column.

        Raises:
            InputError: They have none; names those that are not read.
        """
        self.columns |= dict.fromkeys(fields)
        if not self.needs_answers or not ANSWERS.isdisjoint(fields.values()):
            return
        unused = self._unused(fields)
        message = "no column `answer`, nor any other of answers, so nothing can be scored"
        if unused:
            # The last column is the most likely one: what is asked comes before.
            named = closest_match("answer", unused) or unused[-1]
            named = next((name for name in _OUTPUTS if name in unused), named)
            example = f'columns={{"predictions": {{"{named}": "answer"}}}}'
            message += f"; not used: {_listed(unused)}; if {named!r} is the answer, pass {example}"
        raise InputError([Problem(origin, None, message)])

    def system_hint(self) -> str:
        """Return why rows without a system may hold several answers, and what to do."""
        unused = self._unused({name: name for name in self.columns})
        named = [name for name in _SYSTEMS if name in unused] or unused
        hint = "; there is no column `system`, so all rows are answers of one system"
        if named:
            example = f'columns={{"predictions": {{"{named[0]}": "system"}}}}'
            hint += f"; if {' or '.join(map(repr, named[:3]))} names it, pass {example}"
        return hint

    def _unused(self, fields: Mapping[str, str]) -> list[str]:
        return [
            name for name, each in fields.items() if each not in _FIELDS and name not in self.used
        ]


def _listed(names: Iterable[str], most: int = 12) -> str:
    shown = list(names)
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(map(repr, shown[:most])) + more
