"""Logs of the evaluation harness are read in the forms of its versions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.lm_eval import read_predictions, read_questions
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from records.prediction import Prediction
    from records.question import Question

LOG = "samples_birds_2025-01-31T12-00-00.123456.jsonl"


def row(
    numbers: list[float], target: object, choices: list[str] | None = None, **more: Any
) -> dict[str, Any]:
    """A row as the harness logs it from 0.4.3 on: numbers and targets are text."""
    texts = choices or [f" {letter}" for letter in "ABCDEFG"[: len(numbers)]]
    return {
        "doc_id": 3,
        "doc": {"question": "Which?"},
        "target": str(target),
        "arguments": {
            f"gen_args_{n}": {"arg_0": "Which?\nAnswer:", "arg_1": text}
            for n, text in enumerate(texts)
        },
        "resps": [[[str(number), "False"]] for number in numbers],
        "filtered_resps": [[str(number), "False"] for number in numbers],
        "filter": "none",
        **more,
    }


def earlier(given: dict[str, Any]) -> dict[str, Any]:
    """The row as 0.4.0 logs it."""
    numbers = [float(number) for number, _ in given["filtered_resps"]]
    return {
        "doc_id": given["doc_id"],
        "doc": given["doc"],
        "target": int(given["target"]),
        "arguments": [list(pair.values()) for pair in given["arguments"].values()],
        "resps": [[[number, False]] for number in numbers],
        "filtered_resps": [[number, False] for number in numbers],
        "acc": 1.0,
    }


def read(path: Path, *rows: dict[str, Any]) -> tuple[Question, Prediction]:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    (question,), (prediction,) = (
        read_questions(Source(path, "s")),
        read_predictions(Source(path, "s")),
    )
    assert isinstance(question, Read), question
    assert isinstance(prediction, Read), prediction
    return question.record, prediction.record


def refused(path: Path, given: dict[str, Any]) -> str:
    path.write_text(json.dumps(given))
    (reject,) = [each for each in read_questions(Source(path, "s")) if isinstance(each, Reject)]
    assert reject.line == 1
    return reject.reason


def test_choices_and_their_log_probabilities(tmp_path: Path) -> None:
    question, prediction = read(tmp_path / LOG, row([-1.5, -0.25, float("-inf")], 1, acc=1.0))
    assert (question.question_id, question.tags) == ("birds/3", {"task": "birds"})
    assert (question.question, question.choices, question.correct_choice) == (
        "Which?",
        ["A", "B", "C"],
        1,
    )
    assert question.extra == {"doc": {"question": "Which?"}}
    assert prediction.choice_logprobs == [-1.5, -0.25, None]
    assert prediction.answer is None
    assert prediction.extra == {"acc": 1.0, "filter": "none", "is_greedy": [False, False, False]}


def test_early_logs_are_lists_of_numbers(tmp_path: Path) -> None:
    late, early = tmp_path / "late.jsonl", tmp_path / "early.jsonl"
    given = row([-1.5, -0.25], 1)
    early.write_text(json.dumps([earlier(given), {**earlier(given), "doc_id": 4}], indent=2))
    (question, prediction), found = read(late, given), read_questions(Source(early))
    first, second = found
    assert isinstance(first, Read)
    assert isinstance(second, Read)
    assert first.record == question
    # A list of the first row alone would close on the line where the second begins.
    alone = json.dumps([earlier(given)], indent=2).splitlines()
    assert (second.record.question_id, second.line) == ("4", len(alone))
    (same, _) = read_predictions(Source(early, "s"))
    assert isinstance(same, Read)
    assert same.record.choice_logprobs == prediction.choice_logprobs


@pytest.mark.parametrize(
    ("target", "choices", "acc", "correct"),
    [
        (1, ["a", "b"], None, 1),
        ("b", ["a", " b"], None, 1),
        ("B", ["x", "y"], None, 1),
        ("a", ["b", "a"], None, 1),
        (1, ["0", "1"], None, 1),
        # Position 1 or the text "1": the model chose the first.
        (1, ["1", "2"], 1.0, 0),
        (1, ["1", "2"], 0.0, 1),
        (1, ["1", "2"], None, "target: expected only one of them"),
        (2, ["a", "b"], None, "target: expected one of the 2 choices (position, text or letter)"),
        ("c", ["a", "b"], None, "target: expected one of the 2 choices"),
    ],
)
def test_the_right_choice(
    tmp_path: Path, target: object, choices: list[str], acc: float | None, correct: int | str
) -> None:
    given = row([-0.5, -1.0], target, choices, acc=acc)
    if isinstance(correct, str):
        assert correct in refused(tmp_path / LOG, given)
    else:
        assert read(tmp_path / LOG, given)[0].correct_choice == correct


def test_several_right_choices_are_kept_but_not_chosen_from(tmp_path: Path) -> None:
    question, _ = read(tmp_path / LOG, row([-0.5, -1.0], [0, 1]))
    assert question.correct_choice is None
    assert question.extra is not None
    assert question.extra["target"] == "[0, 1]"


def test_prompts_that_differ_are_the_choices(tmp_path: Path) -> None:
    given = row([-0.5, -1.0], 0, [" it fits.", " it fits."])
    for n, name in enumerate(("The box", "The cup")):
        given["arguments"][f"gen_args_{n}"]["arg_0"] = name
    question, _ = read(tmp_path / LOG, given)
    assert question.choices == ["The box", "The cup"]


def test_requests_for_mutual_information_are_left_out(tmp_path: Path) -> None:
    given = row([-0.5, -1.0, -3.0, -4.0], 0, [" a", " b", " a", " b"])
    for n in (2, 3):
        given["arguments"][f"gen_args_{n}"]["arg_0"] = ""
    question, prediction = read(tmp_path / LOG, given)
    assert question.choices == ["a", "b"]
    assert prediction.choice_logprobs == [-0.5, -1.0]


WRITTEN = {
    "doc_id": 0,
    "doc": {"text": "x"},
    "target": "5",
    "arguments": {"gen_args_0": {"arg_0": "Q: 2 + 3?", "arg_1": {"until": ["Q:"]}}},
    "resps": [["It is 5."]],
    "filtered_resps": ["5"],
    "filter": "strict",
}


def test_what_a_model_wrote_is_its_answer(tmp_path: Path) -> None:
    again = {**WRITTEN, "filter": "flexible", "filtered_resps": ["5."]}
    question, prediction = read(tmp_path / "log.jsonl", WRITTEN, again)
    assert (question.question_id, question.question) == ("0", "Q: 2 + 3?")
    assert (question.expected_answer, question.choices) == (["5"], None)
    assert prediction.answer == "It is 5."
    assert prediction.repeat == 0
    assert prediction.extra == {"filter": "strict", "filtered_resps": ["5"]}


@pytest.mark.parametrize(
    "again", [WRITTEN, {**WRITTEN, "filter": "flexible", "resps": [["Seven."]]}]
)
def test_what_is_logged_again_otherwise_is_refused(tmp_path: Path, again: dict[str, Any]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(WRITTEN) + "\n" + json.dumps(again))
    assert len(list(read_predictions(Source(path, "s")))) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"doc_id": None}, "doc_id: missing"),
        ({"arguments": None}, "arguments: expected an object or a list, found null"),
        ({"arguments": []}, "arguments: expected at least one request, found none"),
        ({"arguments": [["text"]]}, "arguments[0]: expected a prompt and a continuation"),
        (
            {"arguments": [["p", "c"], ["p", {}]]},
            "arguments: expected continuations for all requests or for none",
        ),
        ({"filtered_resps": [["-1", "True"]]}, "expected one response for each of 2 requests"),
        ({"filtered_resps": "x"}, "filtered_resps: expected a list, found the text 'x'"),
        (
            {"filtered_resps": ["-1", "-2"]},
            "filtered_resps[0]: expected [log-likelihood, is greedy], found the text '-1'",
        ),
        (
            {"filtered_resps": [["nan", "True"], ["-2", "True"]]},
            "filtered_resps[0]: expected a log-likelihood, found the text 'nan'",
        ),
        (
            {"filtered_resps": [[-(10**400), "True"], ["-2", "True"]]},
            "not JSON at column 1: the number -1000000000000000000... is too large",
        ),
        ({"target": "9" * 5000}, "target: expected one of the 2 choices"),
    ],
)
def test_a_row_of_another_form_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    assert said in refused(tmp_path / LOG, {**row([-0.5, -1.0], 0), **change})


def test_a_probability_above_1_is_refused(tmp_path: Path) -> None:
    path = tmp_path / LOG
    path.write_text(json.dumps(row([0.5, -1.0], 0)))
    (reject,) = read_predictions(Source(path, "s"))
    assert isinstance(reject, Reject)
    assert reject.reason.startswith("choice_logprobs[0]: expected a number of at most 0")


def test_several_tasks_and_systems_make_one_benchmark(tmp_path: Path) -> None:
    files: list[tuple[Path, str | None]] = []
    for system in ("one", "two"):
        (tmp_path / system).mkdir()
        for task in ("a", "b_c"):
            path = tmp_path / system / f"samples_{task}_2025-01-31T12-00-00.jsonl"
            path.write_text(json.dumps(row([-0.5, -1.0], 0)))
            files.append((path, system))
    warehouse = Warehouse(tmp_path / "w.duckdb")
    asked = ingest_questions(warehouse, benchmark="b", format="lm-eval", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="lm-eval", files=files)
    assert (asked.rows, done.rows, done.notes) == (2, 4, ())
    found = warehouse.fetch("SELECT question_id, tags['task'] FROM questions ORDER BY 1").rows()
    assert found == [("a/3", "a"), ("b_c/3", "b_c")]


REPEATED: dict[str, Any] = {**WRITTEN, "resps": [["It is 5.", "It is 6."]], "exact_match": 1.0}
ALIKE = {**REPEATED, "resps": [["It is 5.", "It is 5."]]}
WEIGHED = row([-1.0, -2.0], 0, acc=1.0)
WEIGHED_TWICE = {**WEIGHED, "resps": [each * 2 for each in WEIGHED["resps"]]}
WEIGHED_OTHERWISE = {
    **WEIGHED,
    "resps": [[["-1.0", "False"], ["-3.0", "False"]], [["-2.0", "False"], ["-2.0", "False"]]],
}
BOTH = {"filtered_resps": WEIGHED_OTHERWISE["resps"]}


@pytest.mark.parametrize(
    ("logged", "reported"),
    [
        ([REPEATED], [{"exact_match": 1.0}, None]),
        ([{**REPEATED, "filtered_resps": [["5"]]}], [{"exact_match": 1.0}, None]),
        ([{**REPEATED, "filtered_resps": [["5", "6"]]}], [None, None]),
        ([{**ALIKE, "filtered_resps": [["5", "5"]]}], [{"exact_match": 1.0}] * 2),
        ([WEIGHED_TWICE], [{"acc": 1.0}] * 2),
        ([WEIGHED_OTHERWISE], [{"acc": 1.0}, None]),
        ([{**WEIGHED_OTHERWISE, **BOTH}], [None, None]),
        (
            [
                {**REPEATED, "filter": "all", "filtered_resps": [["5", "6"]]},
                {**REPEATED, "filter": "first", "exact_match": 0.0},
            ],
            [{"exact_match,first": 0.0}, None],
        ),
    ],
)
def test_a_score_stands_only_at_what_was_scored(
    tmp_path: Path, logged: list[dict[str, Any]], reported: list[Any]
) -> None:
    path = tmp_path / LOG
    path.write_text("".join(json.dumps(each) + "\n" for each in logged))
    given = [each for each in read_predictions(Source(path, "s")) if isinstance(each, Read)]
    assert [each.record.reported for each in given] == reported
    # A score that stands at no answer is not lost.
    assert all(each.record.extra.keys() & {"exact_match", "acc"} for each in given)
