"""The task `rgb`: which questions a question becomes, and what a model is asked."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from calls.completion import Completion
from evaluators.text.rgb import normalized
from systems.client import SystemRefused
from systems.tasks.rgb import Rgb
from systems.tasks.rgb_questions import RgbQuestions

if TYPE_CHECKING:
    from pathlib import Path

PLAIN: dict[str, Any] = {
    "question_id": "7",
    "question": "Who won?",
    "expected_answer": ["Ann"],
    "extra": {
        "positive": [f"p{at}" for at in range(5)],
        "negative": [f"n{at}" for at in range(5)],
        "source": "news",
    },
}
FALSE: dict[str, Any] = {
    **PLAIN,
    "counterfactual_answer": "Bob",
    "extra": {**PLAIN["extra"], "positive_wrong": [f"f{at}" for at in range(3)]},
}
PARTS: dict[str, Any] = {
    "question_id": "8",
    "question": "When and where?",
    "expected_parts": [["May"], ["Rome"]],
    "extra": {"positive": [["a1", "a2"], ["b1"]], "negative": ["n1", "n2", "n3", "n4", "n5"]},
}


def kinds(made: list[dict[str, Any]]) -> list[tuple[str, str, float]]:
    return [(each["question_id"], each["scenario"], each["noise_ratio"]) for each in made]


def irrelevant(question: dict[str, Any]) -> int:
    return sum(passage.startswith("n") for passage in question["extra"]["passages"])


def test_noise_at_each_ratio_and_rejection() -> None:
    made = RgbQuestions(noise_ratios=[0.0, 0.4, 0.8]).expand(PLAIN)
    assert kinds(made) == [
        ("7@0", "noise_robustness", 0.0),
        ("7@0.4", "noise_robustness", 0.4),
        ("7@0.8", "noise_robustness", 0.8),
        ("7@1", "negative_rejection", 1.0),
    ]
    assert [irrelevant(each) for each in made] == [0, 2, 4, 5]
    for each in made:
        assert each["question"] == "Who won?"
        assert each["expected_answer"] == ["Ann"]
        assert each["cluster"] == "7"
        assert each["extra"].keys() == {"source", "passages"}
        assert len(each["extra"]["passages"]) == 5


def test_false_passages() -> None:
    *others, made = RgbQuestions(noise_ratios=[0.2]).expand(FALSE)
    assert kinds(others) == [("7@0.2", "noise_robustness", 0.2), ("7@1", "negative_rejection", 1)]
    assert kinds([made]) == [("7@counterfactual", "counterfactual_robustness", 0.0)]
    assert sorted(made["extra"]["passages"]) == ["f0", "f1", "f2"]
    without_answer = {**FALSE, "counterfactual_answer": None}
    assert len(RgbQuestions(noise_ratios=[0.2]).expand(without_answer)) == 2


def test_parts_are_integrated() -> None:
    made = RgbQuestions(noise_ratios=[0.0, 0.6]).expand(PARTS)
    assert kinds(made) == [
        ("8@0", "information_integration", 0.0),
        ("8@0.6", "information_integration", 0.6),
        ("8@1", "negative_rejection", 1.0),
    ]
    for each, most in zip(made[:2], (2, 3), strict=True):
        parts = {passage[0] for passage in each["extra"]["passages"]}
        assert {"a", "b"} <= parts
        assert irrelevant(each) == most


def test_scenarios_narrow() -> None:
    chosen = RgbQuestions(scenarios=["negative_rejection", "counterfactual_robustness"])
    assert [each["question_id"] for each in chosen.expand(FALSE)] == ["7@1", "7@counterfactual"]


def test_a_question_keeps_its_cluster() -> None:
    assert {each["cluster"] for each in RgbQuestions().expand({**PLAIN, "cluster": "c"})} == {"c"}


def test_questions_without_passages_are_as_they_were() -> None:
    for plain in ({"question_id": "1", "question": "?"}, {"question_id": "1", "extra": {"a": 1}}):
        assert RgbQuestions().expand(plain) == [plain]


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        ({"positive": "p", "negative": ["n"]}, "positive: expected a list of texts"),
        ({"positive": ["p"], "negative": [1]}, "negative: expected a list of texts"),
        ({"positive": [["p"], []], "negative": ["n"]}, "positive: expected no empty list"),
        ({"positive": [["p"], "q"], "negative": ["n"]}, "positive: expected a list of texts"),
        ({"positive_wrong": {}}, "positive_wrong: expected a list of texts"),
    ],
)
def test_what_are_no_passages(extra: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        RgbQuestions().expand({"question_id": "1", "extra": extra})


def test_real_questions_have_every_scenario(shared: Path) -> None:
    lines = (shared / "data" / "rgb" / "en_fact.jsonl").read_text(encoding="utf-8").splitlines()
    questions = RgbQuestions(noise_ratios=[0.0, 0.4])
    for row in map(json.loads, lines):
        made = questions.expand(
            {
                "question_id": str(row["id"]),
                "counterfactual_answer": row["fakeanswer"],
                "extra": {name: row[name] for name in ("positive", "negative", "positive_wrong")},
            }
        )
        assert [each["scenario"] for each in made] == [
            *["noise_robustness"] * 2,
            "negative_rejection",
            "counterfactual_robustness",
        ]


def completion(text: str | None) -> Completion:
    return Completion(
        text=text, finish="stop", refusal=None, tokens_in=1, tokens_out=1, usage=None, served_by="m"
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_model_is_asked_with_the_passages(language: Any) -> None:
    made = RgbQuestions(noise_ratios=[0.2]).expand(PLAIN)[0]
    (prompt,) = Rgb(language=language).prompts(made)
    system, user = prompt.messages
    assert [system["role"], user["role"]] == ["system", "user"]
    assert "\n".join(made["extra"]["passages"]) in user["content"]
    assert user["content"].endswith("Who won?")
    assert prompt.top_logprobs is None


def test_the_dictated_sentences_are_those_that_are_scored() -> None:
    (prompt,) = Rgb().prompts(RgbQuestions().expand(PLAIN)[0])
    dictated = normalized.normalize(prompt.messages[0]["content"])
    assert normalized.is_refusal(dictated)
    assert normalized.reports_errors(dictated)


def test_the_answer_has_its_passages() -> None:
    made = RgbQuestions().expand(PLAIN)[0]
    found = Rgb().read(made, [completion("Ann.")])
    assert found == {"answer": "Ann.", "contexts": made["extra"]["passages"]}
    assert Rgb().read(made, [completion(None)])["answer"] == ""
    cut = replace(completion("Ann"), finish="length")
    assert Rgb().read(made, [cut])["extra"] == {"finish_reason": "length"}


def test_a_question_without_passages_cannot_be_asked() -> None:
    with pytest.raises(SystemRefused, match=r"question '1': .*`positive` and `negative`"):
        Rgb().prompts({"question_id": "1", "question": "?"})
