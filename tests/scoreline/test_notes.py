"""Notes on probable mistakes: what the commands print is in the results, and below the tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import scoreline
from tests.orchestration.conftest import scoreline as command
from tests.scoreline.rows import ANSWERS, QUESTIONS

if TYPE_CHECKING:
    from pathlib import Path

MISSPELT = {
    name: [{"anwser" if key == "answer" else key: row[key] for key in row} for row in rows]
    for name, rows in ANSWERS.items()
}
UNUSED = "the field 'anwser' of the predictions is not used (did you mean 'answer'?)"
TAG = "slices: no question has the tag or field 'lnguage' (did you mean 'language'?)"


@scoreline.metric
def fragile(answer: str) -> bool:
    """Whether the answer is polite."""
    if "please" in answer:
        raise ValueError(f"<img src=x>\n{'x' * 300}")
    return True


@scoreline.metric
def broken(answer: str) -> bool:
    """Nothing."""
    raise ValueError(f"<img src=x>\n{len(answer) * 0}{'x' * 300}")


def test_misspelt_fields_and_tags_are_notes() -> None:
    found = scoreline.evaluate(
        QUESTIONS, MISSPELT, ["rouge"], tags=["language"], slices=["lnguage"]
    )
    assert list(found.notes) == ["no scores from rouge: no answer", UNUSED, TAG]


def test_a_name_that_no_file_reports_is_one_note(tmp_path: Path) -> None:
    """Answers of which a tool reported different names are one reason, not several."""
    names = ["ff", "gh", "speed", "tone", "words", "zeal"]
    answers = [
        {"question_id": "q1", "answer": "a", "reported": {names[0]: 1}},
        {"question_id": "q2", "answer": "b", "reported": dict.fromkeys(names[1:], 1)},
        {"question_id": "q3", "answer": "c"},
    ]
    questions = [{"question_id": each["question_id"], "question": "?"} for each in answers]
    for name, rows in {"questions": questions, "good.answers": answers}.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, "utf-8")
    (tmp_path / "scoreline.yaml").write_text(
        "benchmarks:\n  b:\n    questions: questions.jsonl\n"
        '    predictions: "{system}.answers.jsonl"\n    evaluators: [{x: reported}]\n'
        "    parameters: {x: {name: gg}}\n",
        "utf-8",
    )
    ended = command(tmp_path, "run")
    noted = [line for line in ended.err.splitlines() if "gg" in line]
    assert noted == [
        (
            "note: b: no scores from x: 'gg' was not reported: 'gh', 'ff', 'speed', 'tone', "
            "'words' and 1 more"
        )
    ]
    found = scoreline.evaluate(questions, {"good": answers}, {"reported": {"name": "gg"}})
    assert list(found.notes) == [noted[0].removeprefix("note: b: ").replace(" x: ", " reported: ")]


def test_notes_are_those_of_a_run(tmp_path: Path) -> None:
    for name, rows in {"questions": QUESTIONS, "good.answers": MISSPELT["good"]}.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, "utf-8")
    config = tmp_path / "scoreline.yaml"
    config.write_text(
        "benchmarks:\n  b:\n    questions: questions.jsonl\n"
        '    predictions: "{system}.answers.jsonl"\n    evaluators: [rouge, faithfulness]\n',
        "utf-8",
    )
    ended = command(tmp_path, "run")
    assert ended.code == 0, ended.err
    printed = [line for line in ended.err.splitlines() if line.startswith("note: b: ")]
    own = scoreline.evaluate(QUESTIONS, {"good": MISSPELT["good"]}, ["rouge", "faithfulness"]).notes
    assert [line.removeprefix("note: b: ") for line in printed] == list(own)
    assert UNUSED in own
    run = scoreline.run(config)
    assert list(run.notes) == [f"b: {note}" for note in own]


def test_evaluators_without_scores_are_notes() -> None:
    found = scoreline.evaluate(
        QUESTIONS, ANSWERS, ["citation", "faithfulness", broken], tags=["language"]
    )
    raised, unjudged = found.notes
    assert unjudged.startswith("no scores from faithfulness: no ")
    assert raised.startswith("no scores from broken: ValueError: <img src=x> 0xxx")
    assert raised.endswith("(test_notes.py:36)")
    assert "\n" not in raised
    assert len(raised) < 250


def test_usual_rows_have_no_notes() -> None:
    assert scoreline.evaluate(QUESTIONS, ANSWERS, ["citation"]).notes == ()


def test_fields_of_questions_in_rows_of_both_are_no_mistake() -> None:
    rows: list[dict[str, Any]] = [
        {"user_input": row["question"], "reference": row["expected_answer"], "system": "a"}
        for row in QUESTIONS
    ]
    rows = [{**row, "response": None} for row in rows]
    found = scoreline.evaluate(None, rows, ["rouge"])
    assert "no scores from rouge: no answer" in found.notes
    assert not [note for note in found.notes if "is not used" in note]


def test_pages_show_notes_as_text(tmp_path: Path) -> None:
    found = scoreline.evaluate(QUESTIONS, ANSWERS, ["citation", broken])
    page = found.to_html(tmp_path / "results.html").read_text("utf-8")
    for html in (page, found._repr_html_()):
        assert "<p>note: no scores from broken: ValueError: &lt;img src=x&gt; 0x" in html
        assert "<img" not in html
        assert html.index("note: no scores") > html.index("</table>")


def test_pages_show_the_first_notes() -> None:
    rows = {"a": [{**row, **{f"own{at:02d}": 1 for at in range(15)}} for row in MISSPELT["good"]]}
    html = scoreline.evaluate(QUESTIONS, rows, ["rouge"], tags=["language"])._repr_html_()
    assert html.count("<p>note: ") == 10
    # Beside the fields: no scores, and the misspelt one.
    assert "<p>and 7 more notes.</p>" in html


@pytest.mark.parametrize(
    ("evaluator", "counted"),
    [
        (fragile, "12 of the 24 samples of poor to which it applies: the mean covers only these; "),
        (broken, "0 of the 24 samples of poor to which it applies; "),
    ],
)
def test_a_problem_says_why_samples_have_no_score(
    tmp_path: Path, evaluator: Any, counted: str
) -> None:
    found = scoreline.evaluate(QUESTIONS, ANSWERS, [evaluator])
    (message,) = (
        row["message"]
        for row in found.problems.to_dicts()
        if (row["kind"], row["system"]) == ("low_coverage", "poor")
    )
    start = f"{evaluator.name}.{evaluator.name} has a score for {counted}"
    assert message.startswith(f"{start}the most frequent reason: ValueError: <img src=x> ")
    assert message.endswith(f"(test_notes.py:{29 if evaluator is fragile else 36})")
    assert len(message) < 400
    page = found.to_html(tmp_path / "results.html").read_text("utf-8")
    assert "reason: ValueError: &lt;img src=x&gt;" in page
    assert "<img" not in page


def test_the_reason_is_the_most_frequent() -> None:
    @scoreline.metric
    def uneven(question: str, answer: str) -> bool:  # noqa: ARG001
        """Whether it is even."""
        number = int(question.split()[3])
        if number < 15:
            raise ValueError("a rare reason" if number < 5 else "the usual reason")
        return True

    found = scoreline.evaluate(QUESTIONS, ANSWERS, [uneven])
    messages = found.problems.filter(kind="low_coverage")["message"].to_list()
    assert len(messages) == 2
    for message in messages:
        assert "9 of the 24 samples" in message
        assert "; the most frequent reason: ValueError: the usual reason (" in message


def test_a_column_of_a_frame_may_be_in_another_unit() -> None:
    rows = [{"question_id": "q", "answer": "a", "ms": 1986.5}]
    found = scoreline.evaluate(
        [{"question_id": "q", "expected_answer": "a"}],
        {"s": rows},
        evaluators=["rouge"],
        columns={"predictions": {"ms": {"to": "latency_s", "scale": 0.001}}},
    )
    assert found.sql("SELECT latency_s FROM predictions").item() == 1.9865
    assert not any("latency_s" in note for note in found.notes)
