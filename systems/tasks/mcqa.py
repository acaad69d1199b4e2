"""Multiple choice: a few-shot prompt, and the probabilities of the options' letters."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field, PrivateAttr

from evaluators.components.options.orders import BOUNDED, ORDERS
from records.settings import ConfigModel, PathText
from systems.client import SystemRefused
from systems.tasks.option_letters import (
    LETTERS,
    logarithms,
    mean_of_orders,
    read_letters,
    rotate_back,
)
from systems.tasks.task import TaskPrompt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from calls.completion import Completion
    from systems.tasks.option_letters import OptionProbabilities

Question: TypeAlias = "Mapping[str, Any]"
ReadQuestions: TypeAlias = "Callable[[Path], Sequence[Question]]"
"""Reads a file of questions, by the names of canonical fields."""


class Mcqa(ConfigModel):
    """Multiple choice: a few-shot prompt, and the log-probabilities of the options' letters.

    Attributes:
        few_shot: The number of solved examples in the prompt.
        examples: A canonical file of questions for the examples. Without it they are other
            questions of the benchmark, never the question itself.
        permutations: `cyclic` asks each question once for every rotation of its options, and
            reports how much the order matters as `option_confidence.order_spread`.
        top_logprobs: How many of the likeliest tokens the server is asked for; many servers allow
            at most 20, some 5.
    """

    few_shot: Annotated[int, Field(strict=True, ge=0, le=100)] = 5
    examples: PathText | None = None
    permutations: Literal["none", "cyclic"] = "none"
    top_logprobs: Annotated[int, Field(strict=True, ge=1, le=1000)] = 20

    _read_examples: ReadQuestions | None = PrivateAttr(None)

    def located(self, home: Path, read: ReadQuestions) -> Mcqa:
        """Return the task with the path of its examples, if they have a file, and their reader.

        Args:
            home: The folder that the path is relative to.
            read: Reads the file.
        """
        if self.examples is None:
            return self
        found = self.model_copy(update={"examples": str(home / self.examples)})
        found._read_examples = read  # noqa: SLF001 - its own
        return found

    def parameters(self) -> Mapping[str, Any]:
        """Return the parameters."""
        return {
            "mcqa": {
                "few_shot": self.few_shot,
                "permutations": self.permutations,
                "top_logprobs": self.top_logprobs,
            }
        }

    def files(self) -> tuple[Path, ...]:
        """Return the file of the examples."""
        return () if self.examples is None else (Path(self.examples),)

    def bind(self, questions: Sequence[Question]) -> BoundMcqa:
        """Choose the examples; see `choose_examples`.

        Raises:
            SystemRefused: There are too few examples.
        """
        given, where = questions, "the benchmark"
        if self.examples is not None and self._read_examples is not None:
            given, where = self._read_examples(Path(self.examples)), self.examples
        solved = sorted((each for each in given if _is_solved(each)), key=_rank)
        contents = {each["question_id"]: _content(each) for each in questions}
        return BoundMcqa(
            task=self,
            candidates=[(_identities(each, contents), each) for each in solved],
            contents=contents,
            source=where,
        )


@dataclass(frozen=True, kw_only=True)
class BoundMcqa:
    """The task with its examples.

    Attributes:
        task: The task.
        candidates: The possible examples, in the order in which they are chosen; each with what
            identifies it, see `_identities`.
        contents: What the benchmark's questions ask, by id.
        source: Where they come from, for messages.
    """

    task: Mcqa
    candidates: Sequence[tuple[frozenset[str], Question]]
    contents: Mapping[str, str]
    source: str

    def prompts(self, question: Question) -> Sequence[TaskPrompt]:
        """Return one request, or one for each rotation of the options.

        Raises:
            SystemRefused: The question has no options or too many, or there are too few examples.
        """
        options = _options(question)
        examples = self.choose_examples(question)
        shown = [render(example, example["choices"], solved=True) for example in examples]
        return [
            TaskPrompt(
                messages=[
                    {
                        "role": "user",
                        "content": "\n\n".join([*shown, render(question, rotate(options, shift))]),
                    }
                ],
                top_logprobs=self.task.top_logprobs,
                max_tokens=1,
            )
            for shift in self._shifts(len(options))
        ]

    def read(self, question: Question, completions: Sequence[Completion]) -> Mapping[str, Any]:
        """Return the log-probabilities of the options, and the most probable one.

        With several orders, the probability of an option is the mean over them, and `extra` has
        the log-probabilities of each order. `label` is the letter of the first of the most
        probable options, `answer` its text. If no letter is listed in any order, the preferred
        option is unknown: there is no label, and the answer is the text of the first completion.

        Raises:
            WrongShape: A completion has no log-probabilities.
        """
        options = _options(question)
        orders = [
            rotate_back(read_letters(_first_position(completion), len(options)), shift)
            for shift, completion in zip(self._shifts(len(options)), completions, strict=True)
        ]
        mean = mean_of_orders(orders)
        extra: dict[str, Any] = {}
        if any(mean.bounded):
            extra[BOUNDED] = [LETTERS[at] for at, bounded in enumerate(mean.bounded) if bounded]
        if self.task.permutations == "cyclic":
            extra[ORDERS] = [logarithms(order.values) for order in orders]
        found: dict[str, Any] = {"choice_logprobs": logarithms(mean.values)}
        chosen = _preferred(orders, mean)
        if chosen is None:
            found["answer"] = completions[0].text or ""
        else:
            found |= {"answer": options[chosen], "label": LETTERS[chosen]}
        return {**found, "extra": extra} if extra else found

    def choose_examples(self, question: Question) -> Sequence[Question]:
        """Return the examples of a question: the first candidates that do not give it away.

        The question itself, its variants and its repetitions are left out. Most
        questions have the same examples, so that a server can reuse the prompt's beginning.

        Raises:
            SystemRefused: There are too few.
        """
        count = self.task.few_shot
        own = _identities(question, self.contents)
        chosen: list[Question] = []
        for identities, candidate in self.candidates:
            if len(chosen) == count:
                break
            if not own & identities:
                chosen.append(candidate)
        if len(chosen) < count:
            raise SystemRefused(
                f"question {question['question_id']!r}: expected {count} examples (`few_shot`), "
                f"found {len(chosen)} other questions with `choices` and `correct_choice` in "
                f"{self.source}"
            )
        return chosen

    def _shifts(self, count: int) -> Sequence[int]:
        return range(count) if self.task.permutations == "cyclic" else (0,)


def render(question: Question, options: Sequence[str], *, solved: bool = False) -> str:
    """Return a question in the form of the prompt, with the letter of its answer if `solved`."""
    listed = [f"({LETTERS[at]}) {option}" for at, option in enumerate(options)]
    answer = f"Answer: {LETTERS[question['correct_choice']]}" if solved else "Answer:"
    return "\n".join([f"Question: {question['question']}", *listed, answer])


def rotate(options: Sequence[str], shift: int) -> Sequence[str]:
    """Return the options in the order in which position `p` shows option `(p + shift) % n`."""
    return [*options[shift:], *options[:shift]]


def _options(question: Question) -> Sequence[str]:
    """Return the options of a question.

    Raises:
        SystemRefused: It has none, or more than there are letters.
    """
    name, options = question["question_id"], question.get("choices")
    if not options or question.get("question") is None:
        raise SystemRefused(
            f"question {name!r}: the task `mcqa` needs `question` and `choices`; found no "
            f"{'`choices`' if not options else '`question`'}"
        )
    if len(options) > len(LETTERS):
        raise SystemRefused(
            f"question {name!r}: expected at most {len(LETTERS)} choices, one for each letter, "
            f"found {len(options)}"
        )
    listed: Sequence[str] = options
    return listed


def _is_solved(question: Question) -> bool:
    options: Sequence[str] = question.get("choices") or ()
    right: int | None = question.get("correct_choice")
    if question.get("question") is None or right is None:
        return False
    return 0 <= right < len(options) <= len(LETTERS)


def _rank(question: Question) -> str:
    """Return the place of an example; it depends on nothing but the id of the question."""
    name: str = question["question_id"]
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _identities(question: Question, contents: Mapping[str, str]) -> frozenset[str]:
    """Return what a question shares with its variants and repetitions: contents, an original."""
    original = question.get("perturbs")
    if original is None:
        return frozenset({_content(question)})
    found = {_content(question), f"variant of {original}"}
    return frozenset(found | {contents[original]} if original in contents else found)


def _content(question: Question) -> str:
    """Return what is asked, without the order of the options, case and spaces."""
    texts = [question.get("question") or "", *sorted(question.get("choices") or ())]
    return "\n".join(" ".join(text.casefold().split()) for text in texts)


def _first_position(completion: Completion) -> Sequence[tuple[str, float]]:
    return completion.top_logprobs[0] if completion.top_logprobs else ()


def _preferred(orders: Sequence[OptionProbabilities], mean: OptionProbabilities) -> int | None:
    if all(all(order.bounded) for order in orders):
        return None
    return max(range(len(mean.values)), key=mean.values.__getitem__)
