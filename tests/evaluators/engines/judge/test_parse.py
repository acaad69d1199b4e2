"""Parsing a judge's text without a judge: replies, faults, and speed."""

from __future__ import annotations

import json
import time

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
        f"{YES}\n{YES.replace('yes', 'no')}",
        f'<think>perhaps {{"verdict": "no"</think>\n{YES}',
        '{"reasoning": "It is so.", "verdict": "yes",}',
        '{"reasoning": "It is so.", /* } " */ "verdict": "yes"}',
        '{"reasoning": "It is so.", // } "\n "verdict": "yes"}',
        '{"verdict": "yes", "verdict": "yes", "reasoning": "It is so."}',
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


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", '"1"', "true", "null"])
def test_what_is_no_finite_number_is_no_number(number: str) -> None:
    result = parse_reply(f'{{"note": "n", "score": {number}}}', RATING)
    assert isinstance(result, InvalidReply)


def test_types_are_those_of_json() -> None:
    assert parse_reply('{"note": "n", "score": 1, "pair": [1, 2]}', RATING) == Rating(
        note="n", score=1.0, pair=(1, 2)
    )


def test_a_check_is_made_of_what_has_the_form() -> None:
    doubtful = Ask(Verdict, about("a").prompt, lambda reply: [f"not {reply.verdict}", "and so on"])
    assert parse_reply(YES, doubtful) == InvalidReply(["not yes", "and so on"])


@given(st.integers(1, len(YES) - 1))
def test_nothing_is_made_of_a_reply_that_breaks_off(length: int) -> None:
    assert isinstance(parse_reply(YES[:length], about("a")), InvalidReply)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    assert isinstance(parse_reply(text, about("a")), InvalidReply)
    reply = parse_reply(f"{json.dumps({'reasoning': text, 'verdict': 'no'})}{text}", about("a"))
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
    ],
    ids=lambda text: text[:8],
)
def test_a_megabyte_of_anything_is_read_in_time(text: str) -> None:
    started = time.process_time()
    assert isinstance(parse_reply(text, about("a")), InvalidReply)
    assert time.process_time() - started < 10
