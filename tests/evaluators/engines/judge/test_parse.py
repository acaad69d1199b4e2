"""Parsing a judge's text without a judge: replies, faults, and speed."""

from __future__ import annotations

import json
import time
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.engines.judge.parse import InvalidReply, parse_reply
from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Reply
from evaluators.flows.requests import Ask
from tests.evaluators.engines.judge.questions import YES, Verdict, about


class Rating(Reply):
    """A number and what goes with it."""

    note: str
    score: float
    pair: tuple[int, int] = (0, 0)


NO = YES.replace("yes", "no")
TWO = "the reply holds two JSON objects that differ"
RATING = Ask(Rating, Instruction("Rate.").prompt(text="t"))


@pytest.mark.parametrize(
    "text",
    [
        YES,
        f"\n  {YES}\n\n",
        f"```\n{YES}\n```",
        f"```json\r\n{YES}\r\n```",
        f"Sure! {YES}",
        f"Sure: {{as you like}}\n{YES}",
        f"{YES}\nAgain: {YES}",
        f'{YES} {{"verdict": "yes", "reasoning": "It is so."}}',
        f"{YES}, as a {{set}} {{",
        f'Like {{"reasoning": "...", "verdict": "yes or no"}}:\n```json\n{YES}\n```',
        f'<think>perhaps {{"verdict": "no"</think>\n{YES}',
        f"<think>{NO}</think>\n{YES}",
        '{"reasoning": "It is so.", "verdict": "yes",}',
        '{"reasoning": "It is so.", /* } " */ "verdict": "yes"}',
        '{"reasoning": "It is so.", // } "\n "verdict": "yes"}',
        '{"verdict": "yes", "verdict": "yes", "reasoning": "It is so."}',
        """{"verdict": "yes", verdict: 'yes', 'reasoning': "It is so.",}""",
        """{verdict: 'yes', /* verdict: no, */ reasoning: 'It is so.'}""",
    ],
)
def test_the_reply_is_found(text: str) -> None:
    assert parse_reply(text, about("a")) == Verdict(reasoning="It is so.", verdict="yes")


@pytest.mark.parametrize(
    "reasoning", ["a } and a {", 'a \\" quote', "``` a fence ```", "// no comment", "/*", "\\\\"]
)
def test_what_stands_in_a_string_is_text(reasoning: str) -> None:
    said = f'Well: {{"reasoning": "{reasoning}", "verdict": "no"}}'
    reply = parse_reply(said, about("a"))
    assert reply == Verdict(reasoning=json.loads(f'"{reasoning}"'), verdict="no")


def test_a_raw_line_break_in_a_string_is_taken_as_one() -> None:
    reply = parse_reply('{"reasoning": "one\ntwo", "verdict": "no"}', about("a"))
    assert reply == Verdict(reasoning="one\ntwo", verdict="no")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "there is no JSON object in the reply"),
        ("yes", "there is no JSON object in the reply"),
        ('["yes"]', "there is no JSON object in the reply"),
        ("<think>It may be", "the reply ends within its thoughts"),
        ('{"reasoning": "It is', "the JSON object in the reply is not complete"),
        ('{"reasoning": {"verdict": "yes"}, "verdict"', "the JSON object in the reply is not"),
        ('{"reasoning": "so" /* "verdict": "yes"}', "the JSON object in the reply is not complete"),
        ('{"verdict": "yes", "verdict": "no"}', "the field 'verdict' has two values"),
        ('{"verdict": "yes", "verdict": "no",}', "the field 'verdict' has two values"),
        ("{'verdict': 'yes', verdict: 'no'}", "the field 'verdict' has two values"),
        ("{verdict: true, /* or */ verdict: 1}", "the field 'verdict' has two values"),
        ('{"reasoning": {"a": 1, "a": 2,}, "verdict": "no"}', "the field 'a' has two values"),
        ('{"reasoning": {"a": [true], "a": [1]}, "verdict": "no"}', "the field 'a' has two values"),
        (f"{YES} wait: {NO}", TWO),
        (f"{YES}\n{NO}\n{YES}", TWO),
        (f'{YES} Correction: {{"verdict": "no"}}', TWO),
        (f"{YES} but {{ on reflection {NO}", TWO),
        (f"{YES} wait: {NO.replace('}', ',}')}", TWO),
        (f"First {NO}\n```json\n{YES}\n```", TWO),
        (f"```json\n{YES}\n```\nor\n```json\n{NO}\n```", TWO),
        ("{verdict}", "the reply is no JSON: Expecting property name"),
        ('{"reasoning": , "verdict": "yes"}', "the reply is no JSON: Expecting value"),
        ('{"reasoning": "r", "verdict": "Yes"}', "verdict: Input should be 'yes' or 'no', not"),
        ('{"reasoning": 3, "verdict": "yes"}', "reasoning: Input should be a valid string, not 3"),
        ('{"reasoning": "r"}', "verdict: Field required"),
    ],
)
def test_what_is_wrong_is_named(text: str, fault: str) -> None:
    result = parse_reply(text, about("a"))
    assert isinstance(result, InvalidReply)
    assert result.reason.startswith(fault)


@pytest.mark.parametrize(
    "number",
    [
        *("NaN", "Infinity", "-Infinity", '"1"', "true", "null"),
        *("1e400", "1" * 19, "1" * 400, "1" * 5000, "-" + "1" * 5000, "0x" + "f" * 5000),
    ],
    ids=lambda number: number[:9] + str(len(number)),
)
@pytest.mark.parametrize("end", ["}", ",}"])
def test_what_is_no_finite_number_is_no_number(number: str, end: str) -> None:
    result = parse_reply(f'{{"note": "n", "score": {number}{end}', RATING)
    assert isinstance(result, InvalidReply)
    assert len(result.reason) < 300


def test_types_are_those_of_json() -> None:
    assert parse_reply('{"note": "n", "score": 1, "pair": [1, 2]}', RATING) == Rating(
        note="n", score=1.0, pair=(1, 2)
    )


class Grade(Reply):
    """A whole number on a scale."""

    grade: int
    allowed: Literal[1, 2, 3, 4, 5]


@pytest.mark.parametrize("written", ["4", "4.0", "4.00", "4e0", "40e-1"])
@pytest.mark.parametrize("end", ["}", ",}"])
def test_a_whole_number_may_have_a_point(written: str, end: str) -> None:
    request = Ask(Grade, about("a").prompt)
    reply = parse_reply(f'{{"grade": {written}, "allowed": {written}{end}', request)
    assert reply == Grade(grade=4, allowed=4)
    assert type(reply.grade) is int
    both = f'{{"grade": 4, "allowed": {written}}} so {{"grade": {written}, "allowed": 4}}'
    assert parse_reply(both, request) == reply


@pytest.mark.parametrize("written", ["4.5", "4.0000001", '"4.0"', "1e300"])
def test_other_numbers_are_not_whole(written: str) -> None:
    text = f'{{"grade": {written}, "allowed": 4}}'
    result = parse_reply(text, Ask(Grade, about("a").prompt))
    assert isinstance(result, InvalidReply)
    assert result.reason.startswith("grade: ")


def test_a_check_is_made_of_what_has_the_form() -> None:
    doubtful = Ask(Verdict, about("a").prompt, lambda reply: [f"not {reply.verdict}", "and so on"])
    assert parse_reply(YES, doubtful) == InvalidReply(["not yes", "and so on"])


@given(st.integers(1, len(YES) - 1))
def test_nothing_is_made_of_a_reply_that_breaks_off(length: int) -> None:
    assert isinstance(parse_reply(YES[:length], about("a")), InvalidReply)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    assert isinstance(parse_reply(text, about("a")), InvalidReply)
    after = text.replace("{", "")  # another object would be a contradiction
    said = f"{json.dumps({'reasoning': text, 'verdict': 'no'})}{after}"
    reply = parse_reply(said, about("a"))
    assert reply == Verdict(reasoning=text, verdict="no")


@pytest.mark.parametrize(
    "text",
    [
        "{" * 10**6,
        "/*" * 500_000,
        '{"' * 500_000,
        "{}" * 500_000,
        "{/*" * 333_000,
        '{"a":' * 200_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        '{"a":' * 100_000 + "1,}" + "}" * 99_999,
        '{"verdict": ' + "[" * 100_000 + "]" * 100_000 + "}",
        *('{"verdict": ' + "[" * deep + "]" * deep + "}" for deep in range(100, 1000, 100)),
        '{"verdict": ' + "[" * 900 + "]" * 900 + ",}",
        "{a}" * 333_000,
        f"{YES}{NO}{'{a}' * 333_000}",
        f"{YES}{NO}{'{' * 10**6}",
        '{"a": \'' + "/*" * 500_000 + "'}",
        "{" + "a " * 500_000 + "}",
        "{" + "a" * 10**6 + "}",
        "{a: '" * 200_000 + "}",
    ],
    ids=lambda text: f"{text[:8]}{len(text)}",
)
def test_a_megabyte_of_anything_is_read_in_time(text: str) -> None:
    started = time.process_time()
    assert isinstance(parse_reply(text, about("a")), InvalidReply)
    assert time.process_time() - started < 10
