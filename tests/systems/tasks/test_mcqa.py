"""The task `mcqa`: its prompt and examples, what it reads, and a model with a known bias."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from calls.completion import Completion, TokenLogprob
from systems.client import SystemRefused, WrongShape
from systems.tasks.mcqa import BoundMcqa, Mcqa, rotate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

CAPITAL = {
    "question_id": "capital",
    "question": "What is the capital of France?",
    "choices": ["Paris", "London", "Berlin", "Madrid"],
    "correct_choice": 0,
}


def numbered(count: int) -> list[dict[str, Any]]:
    return [
        {
            "question_id": f"n{at}",
            "question": f"What comes after {at}?",
            "choices": [str(at), str(at + 1)],
            "correct_choice": 1,
        }
        for at in range(count)
    ]


def completion(probabilities: Mapping[str, float], text: str = "A") -> Completion:
    """A completion whose first position lists these tokens."""
    top = tuple(TokenLogprob(token, math.log(value)) for token, value in probabilities.items())
    return Completion(
        text=text, finish="length", refusal=None, tokens_in=1, tokens_out=1, usage=None,
        served_by="m", top_logprobs=(top,),
    )  # fmt: skip


def asked(bound: BoundMcqa, question: Mapping[str, Any]) -> list[str]:
    """The texts of the requests, each of which is one message of the user."""
    prompts = bound.prompts(question)
    assert all(
        [message["role"] for message in prompt.messages] == ["user"] and prompt.max_tokens == 1
        for prompt in prompts
    )
    return [prompt.messages[0]["content"] for prompt in prompts]


def test_the_form_of_the_source() -> None:
    bound = Mcqa(few_shot=1).bind([CAPITAL, *numbered(1)])
    expected = (
        "Question: What comes after 0?\n"
        "(A) 0\n"
        "(B) 1\n"
        "Answer: B\n"
        "\n"
        "Question: What is the capital of France?\n"
        "(A) Paris\n"
        "(B) London\n"
        "(C) Berlin\n"
        "(D) Madrid\n"
        "Answer:"
    )
    assert asked(bound, CAPITAL) == [expected]


def test_examples_are_other_questions_and_do_not_depend_on_the_order() -> None:
    questions = numbered(12)
    forward, backward = Mcqa().bind(questions), Mcqa().bind(questions[::-1])
    names = {}
    for question in questions:
        chosen = [each["question_id"] for each in forward.choose_examples(question)]
        assert chosen == [each["question_id"] for each in backward.choose_examples(question)]
        assert len(set(chosen) - {question["question_id"]}) == 5
        names[question["question_id"]] = chosen
    # All questions that are no examples themselves have the same ones.
    used = {name for chosen in names.values() for name in chosen}
    assert len({tuple(chosen) for name, chosen in names.items() if name not in used}) == 1


def test_questions_with_one_text_and_other_options_are_examples() -> None:
    same = [{**each, "question": "Which is right?"} for each in numbered(4)]
    assert len(Mcqa(few_shot=3).bind(same).choose_examples(same[0])) == 3


def test_variants_and_repetitions_are_no_examples() -> None:
    asks = "capital of france"
    first = {**CAPITAL, "question_id": "first", "question": asks, "perturbs": "capital"}
    second = {**first, "question_id": "second", "question": "capitol of France"}
    repeated = {**CAPITAL, "question_id": "r", "question": "What is the  Capital of France? "}
    repeated["choices"] = ["London", "Paris", "Berlin", "Madrid"]
    orphans = [{**each, "perturbs": "unknown"} for each in (first, second)]
    for questions in ([CAPITAL, first, second, repeated], orphans):
        bound = Mcqa(few_shot=1).bind([*questions, *numbered(1)])
        for question in questions:
            (text,) = asked(bound, question)
            assert text.startswith("Question: What comes after 0?\n")
            assert text.count("Answer:") == 2


def test_questions_without_a_right_option_are_no_examples() -> None:
    unusable = [
        {**each, "correct_choice": None} if at % 2 else {**each, "choices": None}
        for at, each in enumerate(numbered(6))
    ]
    with pytest.raises(
        SystemRefused,
        match=r"question 'capital': expected 5 examples \(`few_shot`\), found 0 other questions",
    ):
        Mcqa().bind([CAPITAL, *unusable]).prompts(CAPITAL)


def test_examples_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "examples.jsonl"
    file.write_text(json.dumps(numbered(1)[0]), encoding="utf-8")

    def read(path: Path) -> Sequence[Mapping[str, Any]]:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    task = Mcqa(few_shot=1, examples="examples.jsonl").located(tmp_path, read)
    assert task.files() == (file,)
    (text,) = asked(task.bind([CAPITAL]), CAPITAL)
    assert text.startswith("Question: What comes after 0?\n")
    with pytest.raises(SystemRefused, match=r"found 1 other questions .* in .*examples\.jsonl"):
        Mcqa(few_shot=2, examples=file).located(tmp_path, read).bind([]).prompts(CAPITAL)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"choices": None}, "found no `choices`"),
        ({"choices": []}, "found no `choices`"),
        ({"question": None}, "found no `question`"),
        ({"choices": [str(at) for at in range(27)]}, "at most 26 choices"),
    ],
)
def test_questions_that_cannot_be_asked(fields: dict[str, Any], named: str) -> None:
    bound = Mcqa(few_shot=0).bind([])
    with pytest.raises(SystemRefused, match=f"question 'capital': .*{named}"):
        bound.prompts({**CAPITAL, **fields})


def test_the_preferred_option() -> None:
    bound = Mcqa(few_shot=0).bind([])
    reply = completion({"B": 0.4, " B": 0.2, "A": 0.1, "The": 0.05, "C": 0.02})
    found = bound.read(CAPITAL, [reply])
    assert found == {
        "choice_logprobs": pytest.approx([math.log(p) for p in (0.1, 0.6, 0.02, 0.02)]),
        "answer": "London",
        "label": "B",
        "extra": {"bounded_choices": ["D"]},
    }


def test_without_any_letter_the_preference_is_unknown() -> None:
    bound = Mcqa(few_shot=0).bind([])
    found = bound.read(CAPITAL, [completion({"The": 0.9, "It": 0.04}, text="The")])
    assert found["answer"] == "The"
    assert "label" not in found
    assert found["extra"] == {"bounded_choices": ["A", "B", "C", "D"]}
    assert found["choice_logprobs"] == pytest.approx([math.log(0.04)] * 4)


def test_a_server_without_log_probabilities() -> None:
    bare = Completion(
        text="A", finish="stop", refusal=None, tokens_in=1, tokens_out=1, usage=None, served_by="m"
    )
    with pytest.raises(WrongShape, match="`top_logprobs`"):
        Mcqa(few_shot=0).bind([]).read(CAPITAL, [bare])


def test_rotations_show_every_option_at_every_position() -> None:
    bound = Mcqa(few_shot=0, permutations="cyclic").bind([])
    shown = [text.splitlines()[1:-1] for text in asked(bound, CAPITAL)]
    for letter, lines in zip("ABCD", zip(*shown, strict=True), strict=True):
        assert {line[4:] for line in lines} == set(CAPITAL["choices"])
        assert all(line.startswith(f"({letter}) ") for line in lines)


def test_a_model_that_always_says_a_spreads_widely() -> None:
    """A known bias: the model puts 0.7 on A whatever stands there, and 0.1 on the others."""
    bound = Mcqa(few_shot=0, permutations="cyclic").bind([])
    replies = [completion({"A": 0.7, "B": 0.1, "C": 0.1, "D": 0.1}) for _ in range(4)]
    found = bound.read(CAPITAL, replies)
    assert found["choice_logprobs"] == pytest.approx([math.log(0.25)] * 4)
    orders = [
        [math.exp(value) for value in order] for order in found["extra"]["choice_logprobs_by_order"]
    ]
    assert [max(range(4), key=order.__getitem__) for order in orders] == [0, 1, 2, 3]
    assert [order[0] for order in orders] == pytest.approx([0.7, 0.1, 0.1, 0.1])


def test_a_model_that_knows_does_not_care_about_the_order() -> None:
    """It gives 0.8 to Paris at whatever letter it stands."""
    bound = Mcqa(few_shot=0, permutations="cyclic").bind([])
    replies = []
    for shift in range(4):
        options = rotate(CAPITAL["choices"], shift)
        given = {
            letter: 0.8 if option == "Paris" else 0.05
            for letter, option in zip("ABCD", options, strict=True)
        }
        replies.append(completion(given))
    found = bound.read(CAPITAL, replies)
    assert found["choice_logprobs"] == pytest.approx([math.log(p) for p in (0.8, *[0.05] * 3)])
    for order in found["extra"]["choice_logprobs_by_order"]:
        assert order == pytest.approx(found["choice_logprobs"])
    assert (found["answer"], found["label"]) == ("Paris", "A")


def test_published_probabilities_pass_through_the_task(shared: Path) -> None:
    """Llama's published probabilities as a server lists them: the letters behind a space."""
    folder = shared / "data" / "mcqa"
    texts = (folder / "questions_mmlu_abstract_algebra.jsonl").read_text(encoding="utf-8")
    questions = [
        {
            "question_id": str(each["idx"]),
            "question": each["question"],
            "choices": each["choices"],
            "correct_choice": "ABCD".index(each["answer"]),
        }
        for each in map(json.loads, texts.splitlines())
    ]
    bound = Mcqa().bind(questions)
    by_id = {each["question_id"]: each for each in questions}
    lines = (folder / "option_probs_mmlu_abstract_algebra.jsonl").read_text(encoding="utf-8")
    right, phi = [], []
    for row in map(json.loads, lines.splitlines()):
        if row["model"] != "llama-7b":
            continue
        question = by_id[str(row["idx"])]
        assert len(asked(bound, question)[0].split("\n\nQuestion: ")) == 6
        listed = dict(zip((" A", " B", " C", " D"), row["probs"], strict=True))
        found = bound.read(question, [completion(listed)])
        assert found["label"] == row["pred"]
        right.append(found["label"] == row["answer"])
        phi.append(math.exp(found["choice_logprobs"][question["correct_choice"]]))
    assert len(phi) == 64
    assert sum(right) / 64 == 0.34375
    assert sum(phi) / 64 == pytest.approx(0.26293, abs=5e-6)
