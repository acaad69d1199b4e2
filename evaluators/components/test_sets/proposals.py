"""Questions about a document: a judge model proposes them, and a second pass checks each one.

The second pass sees the document and the question only. It says which sentences answer the
question, and its reply must agree with the proposal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Key, Reply
from evaluators.flows.requests import Ask, ask
from evaluators.outcome import JudgeError, ParseFailure
from evaluators.text.words import unicode_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluators.components.test_sets.kinds import Kind
    from evaluators.flows.requests import Flow

MAX_HOPS: Final = 4
"""The most sentences that a question may need."""

_STYLE = (
    "Write the question as a person would ask it who has a reason to, has not seen the document, "
    "and does not know that there is one: it must be clear by itself, with names instead of "
    "pronouns, and must mention neither a document, a text or a passage nor the keys of sentences. "
    "Write in the language of the document, and do not copy the wording of its sentences. "
)

_ANSWER = (
    "`answer` is the answer as short as it can be while it is complete. `sentences` are the keys "
    "of the sentences that it needs. In `reasoning`, first say what the sentences tell."
)

SIMPLE = Instruction(
    "The block `document` lists the sentences of a document, each after its key in brackets; the "
    "block `focus` is the key of one of them. Write one question that this sentence alone "
    "answers, with one correct answer only, and that no other sentence answers. "
    f"{_STYLE}{_ANSWER} This is the focus and no other."
)

MULTI_HOP = Instruction(
    "The block `document` lists the sentences of a document, each after its key in brackets; the "
    "block `focus` is the key of one of them. Write one question that can only be answered by "
    f"combining this sentence with one to {MAX_HOPS - 1} others, such as a comparison, a "
    "calculation, or a fact about something that another sentence names. It must have one correct "
    "answer only. Without any one of these sentences, the answer must not follow from the rest of "
    "the document. Do not join two independent questions. "
    f"{_STYLE}{_ANSWER} The focus is one of them."
)

UNANSWERABLE = Instruction(
    "The block `document` lists the sentences of a document, each after its key in brackets; the "
    "block `focus` is the key of one of them. Write one question about the topic of this sentence "
    "that a reader of the document may well have, but that the document does not answer: neither "
    "directly nor by inference, and not in part. Do not ask about something that cannot be known, "
    "or that contradicts the document. "
    f"{_STYLE} In `reasoning`, first say what the document leaves open."
)

CHECK = Instruction(
    "The block `document` lists the sentences of a document, each after its key in brackets; the "
    "block `question` is a question. Say whether the document answers the question completely. "
    "Use the document alone, not what you know yourself; inferences that every reader would make "
    "count. If it does, `answer` is the answer as short as it can be while it is complete, and "
    "`sentences` are the keys of the sentences that the answer needs, as few as possible. If it "
    "does not, or only in part, `answerable` is false, `answer` is empty, and so are `sentences`. "
    "In `reasoning`, first say which sentences bear on the question."
)

COMPARE = Instruction(
    "The block `question` is a question; the blocks `first` and `second` are two answers to it. "
    "Say whether they say the same: whether whoever accepts one must accept the other. Other "
    "words, units or forms of a number or name for the same thing are the same; an answer that "
    "says more or less about what was asked is not. In `reasoning`, first say what differs."
)

INSTRUCTIONS: Final[Mapping[Kind, Instruction]] = {
    "simple": SIMPLE,
    "multi_hop": MULTI_HOP,
    "unanswerable": UNANSWERABLE,
}


class AnswerableDraft(Reply):
    """A question, its answer, and the sentences that the answer needs."""

    reasoning: str
    question: str
    answer: str
    sentences: list[Key]


class UnanswerableDraft(Reply):
    """A question that the document does not answer."""

    reasoning: str
    question: str


class SecondPass(Reply):
    """What a reader of the document answers."""

    reasoning: str
    answerable: bool
    answer: str
    sentences: list[Key]


class Comparison(Reply):
    """Whether two answers say the same."""

    reasoning: str
    same: bool


@dataclass(frozen=True, slots=True)
class Task:
    """A question to propose.

    Attributes:
        kind: The kind of question.
        doc_id: The document.
        sentences: Its sentences by id, in their order.
        focus: The id of the sentence that the question is about.
    """

    kind: Kind
    doc_id: str
    sentences: Mapping[str, str]
    focus: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed question.

    Attributes:
        question: The question.
        answer: The expected answer; None for an unanswerable question.
        gold: The ids of the sentences that the answer needs, in the order of the document.
    """

    question: str
    answer: str | None = None
    gold: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task.

    Attributes:
        proposal: The proposal, if there is a usable one.
        rejection: Why it is rejected; None if the second pass agrees with it.
        is_unanswered: Whether the reason is that the judge gave no reply.
    """

    proposal: Proposal | None
    rejection: str | None = None
    is_unanswered: bool = False


def propose_question(task: Task) -> Flow[Outcome]:
    """Propose a question, and check it with the second pass."""
    proposal: Proposal | None = None
    try:
        proposal = yield from _propose(task)
        return Outcome(proposal, (yield from _find_disagreement(task, proposal)))
    except (ParseFailure, JudgeError) as reason:
        what = "the proposal" if proposal is None else "the second pass"
        said = f"{what}: {reason.status.value}: {reason.reason}"
        return Outcome(proposal, said, isinstance(reason, JudgeError))


def _keys(sentences: Mapping[str, str]) -> dict[str, str]:
    """Return the ids of sentences by key of the prompt: s1, s2, ..., since ids may be any text."""
    return {f"s{number}": name for number, name in enumerate(sentences, start=1)}


def _propose(task: Task) -> Flow[Proposal]:
    keys = _keys(task.sentences)
    document = {key: task.sentences[name] for key, name in keys.items()}
    focus = next(key for key, name in keys.items() if name == task.focus)
    prompt = INSTRUCTIONS[task.kind].prompt(document=document, focus=focus)
    if task.kind == "unanswerable":
        draft = yield from ask(
            UnanswerableDraft, prompt, check=lambda reply: _question_faults(reply.question)
        )
        return Proposal(_one_line(draft.question))
    made = yield from ask(
        AnswerableDraft, prompt, check=lambda reply: _draft_faults(reply, task.kind, focus, keys)
    )
    gold = tuple(name for key, name in keys.items() if key in made.sentences)
    return Proposal(_one_line(made.question), _one_line(made.answer), gold)


def _draft_faults(
    draft: AnswerableDraft, kind: Kind, focus: str, keys: Mapping[str, str]
) -> list[str]:
    faults = [*_question_faults(draft.question), *_unknown(draft.sentences, keys)]
    if not draft.answer.strip():
        faults.append("the answer is empty")
    if focus not in draft.sentences:
        faults.append(f"the focus {focus} is not among the sentences")
    count = len(set(draft.sentences))
    if kind == "simple" and count > 1:
        faults.append(f"expected the focus alone, found {count} sentences")
    if kind == "multi_hop" and not 1 < count <= MAX_HOPS:
        faults.append(f"expected 2 to {MAX_HOPS} sentences, found {count}")
    return faults


def _question_faults(question: str) -> list[str]:
    if not question.strip():
        return ["the question is empty"]
    if named := re.search(r"(?i)\[s\d+\]|\bsentences? s?\d+\b", question):
        return [f"the question mentions {named[0]!r}, which only a reader of the document knows"]
    return []


def _unknown(given: Sequence[str], keys: Mapping[str, str]) -> list[str]:
    unknown = [key for key in dict.fromkeys(given) if key not in keys]
    return [f"there are no sentences {', '.join(unknown[:10])}"] if unknown else []


def _find_disagreement(task: Task, proposal: Proposal) -> Flow[str | None]:
    """Return why the second pass does not agree with a proposal; None if it does."""
    keys = _keys(task.sentences)
    document = {key: task.sentences[name] for key, name in keys.items()}
    reading = yield _second_pass(document, proposal.question)
    found = tuple(name for key, name in keys.items() if key in reading.sentences)
    if proposal.answer is None:
        return f"the document answers it: {_shown(reading, found)}" if reading.answerable else None
    if not reading.answerable:
        return "the document does not answer it"
    if found != proposal.gold:
        return (
            f"the second pass answers from {', '.join(found)} instead of {', '.join(proposal.gold)}"
        )
    if task.kind == "multi_hop":
        needless = yield from _find_needless(document, keys, proposal)
        if needless is not None:
            return needless
    if unicode_words(reading.answer) == unicode_words(proposal.answer):
        return None
    comparison = yield from ask(
        Comparison,
        COMPARE.prompt(question=proposal.question, first=proposal.answer, second=reading.answer),
    )
    return None if comparison.same else f"the second pass answers: {_one_line(reading.answer)}"


def _find_needless(
    document: Mapping[str, str], keys: Mapping[str, str], proposal: Proposal
) -> Flow[str | None]:
    """Return why not every sentence is needed: the document without it still answers."""
    gold = [key for key, name in keys.items() if name in proposal.gold]
    readings = yield tuple(
        _second_pass(
            {key: text for key, text in document.items() if key != left}, proposal.question
        )
        for left in gold
    )
    for left, reading in zip(gold, readings, strict=True):
        if reading.answerable:
            found = tuple(keys[key] for key in keys if key in reading.sentences)
            return f"{keys[left]} is not needed: without it, {_shown(reading, found)}"
    return None


def _second_pass(document: Mapping[str, str], question: str) -> Ask[SecondPass]:
    return Ask(
        SecondPass,
        CHECK.prompt(document=document, question=question),
        lambda reply: _reading_faults(reply, document),
    )


def _reading_faults(reading: SecondPass, document: Mapping[str, str]) -> list[str]:
    faults = _unknown(reading.sentences, document)
    if reading.answerable and not reading.answer.strip():
        faults.append("the answer is empty although the question is answerable")
    if reading.answerable and not reading.sentences:
        faults.append("no sentences are named although the question is answerable")
    if not reading.answerable and (reading.answer.strip() or reading.sentences):
        faults.append("there is an answer although the question is not answerable")
    return faults


def _shown(reading: SecondPass, found: Sequence[str]) -> str:
    return f"{_one_line(reading.answer)} ({', '.join(found)})"


def _one_line(text: str) -> str:
    return " ".join(text.split())
