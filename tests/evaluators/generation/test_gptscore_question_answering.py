"""GPTScore of answers: the wording, and a yes to every question about the answer."""

from __future__ import annotations

from tests.support.gptscore_cases import assert_one_way

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
    assert_one_way(NAME, ROW, PROMPTS, "Answer: Yes")
