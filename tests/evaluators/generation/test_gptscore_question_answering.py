"""GPTScore of answers: the wording, and a yes to every question about the answer."""

from __future__ import annotations

import pytest

from evaluators.catalog import build
from evaluators.engines.contract import TokenLikelihood
from tests.models import Answers, graded, only

NAME = "gptscore_question_answering"
ROW = {"question": "When?", "answer": " At eight. "}
PROMPTS = {
    "interest": (
        "Answer the question based on the conversation between a human and AI.\n"
        "Question: Are the responses of AI interesting? (a) Yes. (b) No.\n"
        "Conversation: human: When?\nAI: At eight.\n"
    ),
    "engagement": (
        "Answer the question based on the conversation between a human and AI.\n"
        "Question: Are the responses of AI engaging? (a) Yes. (b) No.\n"
        "Conversation: human: When?\nAI: At eight.\n"
    ),
    "understandability": (
        "Answer the question based on the conversation between a human and AI.\n"
        "Question: Are the responses of AI understandable? (a) Yes. (b) No.\n"
        "Conversation: human: When?\nAI: At eight.\n"
    ),
    "relevance": (
        "Answer the question based on the conversation between a human and AI.\n"
        "Question: Are the responses of AI relevant to the conversation? "
        "(a) Yes. (b) No.\n"
        "Conversation: human: When?\nAI: At eight.\n"
    ),
    "specific": (
        "Answer the question based on the conversation between a human and AI.\n"
        "Question: Are the responses of AI generic or specific to the conversation? "
        "(a) Yes. (b) No.\n"
        "Conversation: human: When?\nAI: At eight.\n"
    ),
    "correctness": (
        "Answer the question based on the conversation between a human and AI.\n"
        "Question: Are the responses of AI correct to conversations? (a) Yes. (b) No.\n"
        "Conversation: human: When?\nAI: At eight.\n"
    ),
    "semantically_appropriate": (
        "Answer the question based on the conversation between a human and AI.\n"
        "Question: Are the responses of AI semantically appropriate? (a) Yes. (b) No.\n"
        "Conversation: human: When?\nAI: At eight.\n"
    ),
    "fluency": (
        "Answer the question based on the conversation between a human and AI.\n"
        "Question: Are the responses of AI fluently written? (a) Yes. (b) No.\n"
        "Conversation: human: When?\nAI: At eight.\n"
    ),
}


def test_the_wording() -> None:
    # The worked example of the definition: tokens of probability 0.05, 0.9 and 0.6.
    model = Answers(lambda _: TokenLikelihood([-2.99573227, -0.10536052, -0.51082562]))
    found, _ = graded(build(NAME), ROW, language_model=model)
    assert [outcome.value for outcome in found.values()] == pytest.approx(
        [1.2039728] * len(PROMPTS), abs=1e-7
    )
    asked = [(each.prefix, each.continuation) for each in model.asked]
    assert dict(zip(found, asked, strict=True)) == {
        name: (prompt, "Answer: Yes") for name, prompt in PROMPTS.items()
    }


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"answer": " "}, "undefined"),
        ({"question": None}, "not_applicable"),
        ({"error": "timeout"}, "target_error"),
    ],
)
def test_what_has_no_number(change: dict[str, str], expected: str) -> None:
    model = Answers(lambda _: TokenLikelihood([-1.0]))
    found = only(build(NAME), {**ROW, **change}, language_model=model)
    assert (found.value, found.status) == (None, expected)
