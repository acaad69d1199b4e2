"""Questions about documents, which a judge model proposes and a second pass checks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from assets.judging.test_sets.result import GeneratedRows
from evaluators.components.test_sets.proposals import (
    CHECK,
    COMPARE,
    INSTRUCTIONS,
    propose_question,
)
from evaluators.components.test_sets.tasks import MAX_CHARACTERS, tasks
from evaluators.flows.reply import digest_of
from evaluators.text.words import unicode_words
from warehouse.formats.test_sets import GENERATED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assets.judging.test_sets.judge import JudgeSession
    from evaluators.components.test_sets.kinds import Kind
    from evaluators.components.test_sets.proposals import Outcome, Task
    from warehouse.formats.test_sets import DocumentText

MAX_PROPOSALS: Final = 4
"""The most proposals for each question that is wanted."""

NAME: Final = "generate_questions"
"""The name in the origins of judge calls, as in files of recorded replies."""

SCENARIOS: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        "simple": "noise_robustness",
        "multi_hop": "information_integration",
        "unanswerable": "negative_rejection",
    }
)
"""The scenario of each kind, so that evaluators of one scenario score questions of one kind."""


@dataclass(slots=True)
class _KindProgress:
    """The proposals of one kind so far, each with what became of it."""

    kind: Kind
    wanted: int
    waiting: Iterator[Task]
    done: list[tuple[Task, Outcome]] = field(default_factory=list)
    _texts: set[tuple[str, ...]] = field(default_factory=set)

    def next_tasks(self) -> list[Task]:
        """Return as many tasks as questions are missing, if there are."""
        settled = sum(
            outcome.rejection is None or outcome.is_unanswered for _, outcome in self.done
        )
        most = MAX_PROPOSALS * self.wanted - len(self.done)
        return list(islice(self.waiting, max(0, min(self.wanted - settled, most))))

    def add(self, outcomes: Sequence[tuple[Task, Outcome]]) -> None:
        """Add proposals; reject those with the text of an earlier one."""
        for task, outcome in outcomes:
            settled = outcome
            if outcome.proposal is not None and outcome.rejection is None:
                words = tuple(unicode_words(outcome.proposal.question))
                if words in self._texts:
                    settled = replace(outcome, rejection="another question has the same text")
                self._texts.add(words)
            self.done.append((task, settled))


def generate_questions(
    session: JudgeSession,
    documents: Sequence[DocumentText],
    kinds: Sequence[Kind],
    *,
    n: int,
    seed: int,
) -> GeneratedRows:
    """Propose questions about documents until there are enough that the second pass agrees with.

    With equal replies the questions follow from the arguments. Each proposal is independent of the
    others, so that a larger `n` only adds questions as long as each kind finds its share.

    Args:
        session: The judge.
        documents: The documents.
        kinds: The kinds of questions, which take turns.
        n: The number of questions.
        seed: The seed.

    Raises:
        EvaluatorError: The judge cannot be called; replies received before are kept.
    """
    made = GeneratedRows()
    sentences = {each.doc_id: each.sentences for each in documents if _fits(each)}
    if len(sentences) < len(documents):
        count = len(documents) - len(sentences)
        reason = f"without text, or longer than {MAX_CHARACTERS:,} characters"
        made.notes.append(f"documents left out: {count:,}: {reason}")
    progress = [
        _KindProgress(kind, len(range(position, n, len(kinds))), tasks(sentences, kind, seed))
        for position, kind in enumerate(kinds)
    ]
    while batch := [task for each in progress for task in each.next_tasks()]:
        outcomes = session.run(NAME, [(_name(task), propose_question(task)) for task in batch])
        pairs = list(zip(batch, outcomes, strict=True))
        for each in progress:
            each.add([pair for pair in pairs if pair[0].kind == each.kind])
    _collect(made, progress, _Origin(seed, session.identity))
    return made


@dataclass(frozen=True, slots=True)
class _Origin:
    """What the rows of a file have in common."""

    seed: int
    judge: str

    def of(self, task: Task) -> dict[str, Any]:
        """Return the field `generated` of a row."""
        instructions = {"proposal": INSTRUCTIONS[task.kind], "check": CHECK, "comparison": COMPARE}
        return {
            "by": "scoreline generate questions",
            "seed": self.seed,
            "judge": self.judge,
            "prompts": {name: each.digest for name, each in instructions.items()},
            "focus": task.focus,
        }


def _collect(made: GeneratedRows, progress: Sequence[_KindProgress], origin: _Origin) -> None:
    """Add the rows; kinds take turns, so that a larger number of questions extends a smaller."""
    accepted: list[list[dict[str, Any]]] = []
    for each in progress:
        rows = []
        for task, outcome in each.done:
            if outcome.rejection is None:
                rows.append(_row(task, outcome) | {GENERATED: origin.of(task)})
            else:
                made.rejected.append(_rejected_row(task, outcome) | {GENERATED: origin.of(task)})
                made.unanswered += outcome.is_unanswered
        accepted.append(rows)
        if len(rows) < each.wanted and not any(outcome.is_unanswered for _, outcome in each.done):
            is_exhausted = len(each.done) < MAX_PROPOSALS * each.wanted
            reason = "each sentence had its turn" if is_exhausted else "the others were rejected"
            proposed = f"{len(rows):,} of {each.wanted:,} after {len(each.done):,} proposals"
            made.notes.append(f"{each.kind}: {proposed}: {reason}")
    for number in range(max(map(len, accepted))):
        made.rows += [rows[number] for rows in accepted if number < len(rows)]


def _fits(document: DocumentText) -> bool:
    return 0 < sum(map(len, document.sentences.values())) <= MAX_CHARACTERS


def _name(task: Task) -> str:
    """Return the name of a task in the origins of its calls."""
    return f"{task.kind}/{task.doc_id}/{task.focus}"


def _row(task: Task, outcome: Outcome) -> dict[str, Any]:
    """Return the question as a row of a canonical file."""
    proposal = outcome.proposal
    if proposal is None:
        raise ValueError("there is no proposal")
    row: dict[str, Any] = {
        "question_id": f"generated-{digest_of(json.dumps([task.doc_id, proposal.question]))}",
        "question": proposal.question,
    }
    if proposal.answer is not None:
        row["expected_answer"] = proposal.answer
    row["doc_id"] = task.doc_id
    if proposal.gold:
        row |= {"gold_doc_ids": [task.doc_id], "gold_sentence_ids": list(proposal.gold)}
    return row | {"scenario": SCENARIOS[task.kind], "tags": {"kind": task.kind}}


def _rejected_row(task: Task, outcome: Outcome) -> dict[str, Any]:
    """Return a rejected proposal; without a `question_id`, it cannot be read as a question.

    The proposal is a row of a canonical file, which a person may copy.
    """
    return {
        "rejected": outcome.rejection,
        "proposal": None if outcome.proposal is None else _row(task, outcome),
        "doc_id": task.doc_id,
        "kind": task.kind,
    }
