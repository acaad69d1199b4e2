"""Recorded replies: found by address or by content, and never made up."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from evaluators.engines.judge.errors import BadRecording
from evaluators.engines.judge.ledger_judge import LedgerJudge
from evaluators.engines.judge.replay import ReplayJudge
from evaluators.engines.judge.settings import JudgeCallBuilder, JudgeSettings
from evaluators.outcome import JudgeError, ParseFailure
from tests.evaluators.engines.judge.questions import YES, Verdict, about, origin
from tests.support.ledgers import FolderLedger

if TYPE_CHECKING:
    from pathlib import Path

    from calls.call import Origin
    from evaluators.flows.reply import Reply

YES_ROW = {"evaluator": "e", "question_id": "q1", "reply": json.loads(YES)}
NO = {"reasoning": "It is not.", "verdict": "no"}


def write(folder: Path, rows: list[Any], name: str = "said.jsonl") -> JudgeSettings:
    file = folder / name
    text = "".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return JudgeSettings(model=f"recorded:{file}")


def say(
    settings: JudgeSettings, place: Origin, ledger: FolderLedger | None = None, text: str = "a"
) -> Reply | BaseException:
    with LedgerJudge(settings, FolderLedger() if ledger is None else ledger) as judge:
        future = judge.ask(about(text), place)
        failure = future.exception(10)
        return future.result() if failure is None else failure


@pytest.mark.parametrize("name", ["said.jsonl", "said.jsonl.gz"])
def test_a_reply_is_found_by_its_address_and_costs_nothing(tmp_path: Path, name: str) -> None:
    settings, ledger = write(tmp_path, [YES_ROW, "\n"], name), FolderLedger()
    assert say(settings, origin(), ledger) == Verdict.model_validate_json(YES)
    kept = ledger.last
    assert (kept.status, kept.cost_usd, kept.attempts, kept.tokens_in) == ("scored", 0.0, 0, None)
    assert kept.call.model == f"recorded:{name}"
    assert ReplayJudge(settings, ledger).ask(about("a"), origin()).result(0) == say(
        settings, origin()
    )


def test_a_missing_reply_is_a_judge_error_that_names_what_is_missing(tmp_path: Path) -> None:
    settings = write(tmp_path, [YES_ROW])
    for place in (origin("q2"), origin(step=1), origin()._replace(evaluator="f")):
        missing = say(settings, place)
        assert isinstance(missing, JudgeError)
        assert f"no reply for {place.evaluator} on question {place.question_id!r}" in missing.reason


def test_the_closest_row_counts(tmp_path: Path) -> None:
    of_system = {**YES_ROW, "system": "t", "reply": NO}
    elsewhere = {**YES_ROW, "system": "t", "benchmark": "c", "reply": "nonsense"}
    later = {**YES_ROW, "step": 1, "reply": json.dumps(NO)}
    settings = write(tmp_path, [YES_ROW, of_system, elsewhere, later])
    yes, no = Verdict.model_validate_json(YES), Verdict.model_validate(NO)
    assert say(settings, origin()) == yes
    assert say(settings, origin(system="t")) == no
    assert say(settings, origin(step=1)) == no
    assert isinstance(say(settings, origin(system="t")._replace(benchmark="c")), ParseFailure)


def test_equal_texts_of_two_systems_may_have_been_judged_differently(tmp_path: Path) -> None:
    rows = [{**YES_ROW, "system": "s"}, {**YES_ROW, "system": "t", "reply": NO}]
    settings, ledger = write(tmp_path, rows), FolderLedger()
    one, other = say(settings, origin(), ledger), say(settings, origin(system="t"), ledger)
    assert [each.verdict for each in (one, other) if isinstance(each, Verdict)] == ["yes", "no"]


def test_a_malformed_reply_goes_through_the_same_ladder(tmp_path: Path) -> None:
    rows = [
        {**YES_ROW, "reply": f"```json\n{YES}\n```"},
        {**YES_ROW, "question_id": "q2", "reply": YES[:-9]},
        {**YES_ROW, "question_id": "q3", "reply": None},
    ]
    settings = write(tmp_path, rows)
    assert isinstance(say(settings, origin()), Verdict)
    assert isinstance(say(settings, origin("q2")), ParseFailure)
    assert isinstance(say(settings, origin("q3")), JudgeError)


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_the_ledger_of_another_model_replays(tmp_path: Path, form: str) -> None:
    other = JudgeSettings(model="openai/other", temperature=0.7)
    question = JudgeCallBuilder(other).of(about("a", 3), origin("elsewhere"))
    row = {
        "digest": question.digest,
        "model": question.model,
        "messages": json.dumps(question.messages),
        "reply_schema": json.dumps(question.reply_schema),
        "replicate": question.replicate,
        "reply": YES,
        "status": "scored",
        "error": None,
    }
    failed = row | {"replicate": 4, "reply": None, "status": "judge_error", "error": "timeout"}
    cut = row | {"replicate": 5, "status": "parse_failure", "error": "truncated: too long"}
    if form == "parquet":
        file = tmp_path / "ledger.parquet"
        pl.DataFrame([row, failed, cut]).write_parquet(file)
        settings = JudgeSettings(model=f"recorded:{file}")
    else:
        settings = write(tmp_path, [row, failed, cut])
    with LedgerJudge(settings, FolderLedger()) as judge:
        futures = [judge.ask(about("a", number), origin(step=number)) for number in (3, 4, 5, 6)]
        reasons = [future.exception(10) for future in futures]
    assert futures[0].result() == Verdict.model_validate_json(YES)
    assert [str(reason) for reason in reasons[1:3]] == ["timeout", "truncated: too long"]
    assert isinstance(reasons[2], ParseFailure)
    assert isinstance(reasons[3], JudgeError)


@pytest.mark.parametrize(
    ("rows", "line", "told"),
    [
        ([YES_ROW, '{"evaluator": \n'], 2, "expected JSON"),
        ([YES_ROW, "[1]\n"], 2, "expected an object"),
        ([{"evaluator": "e", "question_id": "q"}], 1, "a field 'reply'"),
        ([{"question_id": "q", "reply": "r"}], 1, "'evaluator' and 'question_id', or 'messages'"),
        ([{**YES_ROW, "reply": 3}], 1, "a reply that is a text or an object"),
        ([{**YES_ROW, "step": "one"}], 1, "a step that is a number"),
        ([YES_ROW, YES_ROW, {**YES_ROW, "reply": NO}], 3, "another than line 1"),
        ([{"messages": "{}", "reply_schema": "{}", "reply": "r"}], 1, "a list of messages"),
        ([{"messages": "no", "reply_schema": "{}", "reply": "r"}], 1, "a list of messages"),
        ([{**YES_ROW, "status": "fine"}], 1, "a status"),
        ([{**YES_ROW, "error": 5}], 1, "an error that is a text"),
        (
            [{"messages": "[]", "reply_schema": "{}", "reply": "r", "replicate": "one"}],
            1,
            "a replicate that is a number",
        ),
    ],
)
def test_a_bad_row_stops_the_run_with_its_line(
    tmp_path: Path, rows: list[Any], line: int, told: str
) -> None:
    settings, ledger = write(tmp_path, rows), FolderLedger()
    failure = say(settings, origin(), ledger)
    assert isinstance(failure, BadRecording)
    assert str(failure).startswith(f"{tmp_path / 'said.jsonl'}, line {line}: expected ")
    assert told in str(failure)
    assert ledger.kept == []


def test_a_file_that_is_not_there_or_no_parquet_is_named(tmp_path: Path) -> None:
    missing = JudgeSettings(model=f"recorded:{tmp_path / 'no.jsonl'}")
    with pytest.raises(BadRecording, match=r"no\.jsonl.*No such file"):
        _ = missing.identity
    (tmp_path / "said.parquet").write_text("text")
    wrong = JudgeSettings(model=f"recorded:{tmp_path / 'said.parquet'}")
    assert isinstance(say(wrong, origin()), BadRecording)


@pytest.mark.parametrize("cut", [slice(None, -4), slice(20, None)], ids=["cut off", "beheaded"])
def test_a_broken_compressed_file_is_named(tmp_path: Path, cut: slice) -> None:
    settings = write(tmp_path, [YES_ROW], "said.jsonl.gz")
    file = tmp_path / "said.jsonl.gz"
    file.write_bytes(file.read_bytes()[:10] + file.read_bytes()[10:][cut])
    failure = say(settings, origin())
    assert isinstance(failure, BadRecording)
    assert str(failure).startswith(f"{file}, line ")


def test_the_identity_follows_from_the_content_and_not_from_the_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    one, same = write(tmp_path, [YES_ROW]), write(tmp_path / "elsewhere", [YES_ROW])
    assert one.identity == same.identity
    assert str(tmp_path) not in one.identity
    assert write(tmp_path, [YES_ROW, YES_ROW]).identity != same.identity


def test_further_answers_follow_after_two_million_steps(tmp_path: Path) -> None:
    """The numbers are part of the keys of calls that projects have stored."""
    settings = write(tmp_path, [{**YES_ROW, "step": 4_000_001}])
    place = origin()._replace(repeat=2, member=1, step=1)
    call = JudgeCallBuilder(settings).of(about("a"), place)
    assert call.parameters["origin"] == [*place[:4], 4_000_001]
    assert isinstance(say(settings, place), Verdict)
