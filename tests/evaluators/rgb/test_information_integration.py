"""Information integration: every part has to be there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.library.rgb.information_integration import InformationIntegration
from tests.evaluators.rgb.published import gold, lines
from tests.support.samples import Outcome, outcomes, samples, values

if TYPE_CHECKING:
    from pathlib import Path

INTEGRATION = InformationIntegration()
DATES = [["January 2", "Jan 2"], ["New York", "NYC"]]


@pytest.mark.parametrize(
    ("answer", "parts", "expected"),
    [
        ("Jan 2 in NYC", DATES, (1.0, 1.0, 1.0)),
        ("January 2 in new york", DATES, (1.0, 1.0, 1.0)),
        ("Jan 2", DATES, (0.0, 0.0, 0.0)),
        ("jan\u00a02, NYC", DATES, (1.0, 0.0, 1.0)),
        ("insufficient information: Jan 2, NYC", DATES, (1.0, 0.0, 1.0)),
        ("Obama", [["Barack Obama"], ["Obama family"]], (1.0, 0.0, 0.0)),
        ("Obama", [["Barack Obama"], ["Paris"]], (0.0, 0.0, 0.0)),
        ("anything", [["", "zzz"], ["thing"]], (0.0, 1.0, 0.0)),  # the script finds "" everywhere
        ("anything", [["any"], []], (0.0, 0.0, 0.0)),  # a part without a spelling
        ("", DATES, (0.0, 0.0, 0.0)),
    ],
)
def test_parts(answer: str, parts: list[list[str]], expected: tuple[float, ...]) -> None:
    found = values(INTEGRATION, {"answer": answer, "expected_parts": parts})
    assert tuple(found.values()) == expected
    assert list(found) == ["accuracy", "accuracy_exact", "accuracy_normalized"]


@pytest.mark.parametrize(
    ("row", "right"),
    [
        ({"expected_answers": ["Rome", "Paris"]}, 1.0),
        ({"expected_answers": ["Rome"]}, 0.0),
        ({"expected_answers": ["Paris"], "expected_parts": [["Paris"], ["Oslo"]]}, 0.0),
        ({"expected_answers": ["Oslo"], "expected_parts": [["Paris"]]}, 1.0),
        ({"expected_answers": ["Paris"], "expected_parts": []}, 1.0),
        ({"expected_answers": ["Paris"], "expected_parts": [[""]]}, 1.0),
        ({"expected_answers": [None, "Paris"]}, 1.0),
        ({"expected_parts": [[None, "Paris"]]}, 1.0),
    ],
)
def test_parts_go_before_answers(row: dict[str, Any], right: float) -> None:
    assert values(INTEGRATION, {"answer": "Paris", **row})["accuracy"] == right


def test_the_worked_example_of_the_source_is_wrong_by_its_own_rule() -> None:
    # The source calls this "85 %"; its rule finds 7 of 11 words.
    truth = (
        "Greenhouse gases from fossil fuels, deforestation, industrial emissions, "
        "and agricultural methane"
    )
    row = {
        "answer": "The main causes include greenhouse gas emissions from burning fossil fuels, "
        "loss of forests that absorb CO2, industrial pollution, and methane from agriculture.",
        "expected_answers": [truth],
    }
    assert values(INTEGRATION, row)["accuracy"] == 0.0


def test_nothing_expected_and_other_scenarios() -> None:
    rows = [
        {"answer": "Paris"},
        {"answer": "", "error": "timeout"},
        {"answer": "Paris", "expected_parts": [["Paris"]], "scenario": "noise_robustness"},
        {"answer": "Paris", "expected_parts": [["Paris"]], "scenario": "information_integration"},
        {"answer": "", "error": "timeout", "expected_parts": [["Paris"]]},
    ]
    assert [row["accuracy"] for row in outcomes(INTEGRATION, samples(rows))] == [
        Outcome(None, "not_applicable", "no expected_answers"),
        Outcome(None, "not_applicable", "no expected_answers"),
        Outcome(None, "not_applicable", "the scenario is noise_robustness"),
        Outcome(1.0),
        Outcome(0.0, "scored", "target_error"),
    ]


def test_real_questions_need_all_their_parts(shared: Path) -> None:
    questions = lines(shared, "zh_int.jsonl.gz")
    parts = [gold(row["answer"])["expected_parts"] for row in questions]
    assert Counter(map(len, parts)) == {2: 76, 3: 12, 4: 7, 5: 3, 7: 2}
    rows = [
        {"question_id": f"{number}{kind}", "expected_parts": needed, "answer": "、".join(told)}
        for number, needed in enumerate(parts)
        for kind, told in (
            ("all", [spellings[-1] for spellings in needed]),
            ("but one", [spellings[0] for spellings in needed[:-1]]),
        )
    ]
    chinese = InformationIntegration(language="zh")
    found = [row["accuracy_exact"].value for row in outcomes(chinese, samples(rows))]
    # A spelling with a blank cannot be found where all blanks are taken out of the answer, and a
    # part may be contained in another one.
    for needed, complete, short in zip(parts, found[::2], found[1::2], strict=True):
        spaced = any(" " in part[-1] for part in needed)
        told = "、".join(part[0] for part in needed[:-1]).replace(" ", "").lower()
        assert complete == float(not spaced)
        assert short == float(
            all(any(text.lower() in told for text in spellings) for spellings in needed)
        )
    assert sum(value or 0.0 for value in found[1::2]) < len(parts) / 10
