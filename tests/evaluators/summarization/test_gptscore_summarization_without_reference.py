"""GPTScore of summaries without a reference: the wording, and the summary after it."""

from __future__ import annotations

from tests.support.gptscore_cases import assert_one_way

NAME = "gptscore_summarization_without_reference"
ROW = {"question": " A long source.", "answer": "Short. "}
PROMPTS = {
    "semantic_coverage": (
        "Generate a summary with as much semantic coverage as possible "
        "for the following text: A long source.\nTl;dr\n"
    ),
    "factuality": (
        "Generate a summary with consistent facts for the following text: A long source.\nTl;dr\n"
    ),
    "consistency": (
        "Generate a factually consistent summary for the following text: A long source.\nTl;dr\n"
    ),
    "informativeness": (
        "Generate an informative summary that captures the key points of "
        "the following text: A long source.\nTl;dr\n"
    ),
    "coherence": ("Generate a coherent summary for the following text: A long source.\nTl;dr\n"),
    "relevance": (
        "Generate a relevant summary with consistent details "
        "for the following text: A long source.\nTl;dr\n"
    ),
    "fluency": (
        "Generate a fluent and grammatical summary for the following text: A long source.\nTl;dr\n"
    ),
}


def test_the_wording() -> None:
    assert_one_way(NAME, ROW, PROMPTS, "Short.")
