"""What Python functions return and raise, and what becomes of it."""

from __future__ import annotations

import pytest

from calls.errors import CallFailure, TransientFailure
from systems.client import Answer, ReturnedError, WrongShape
from systems.settings import PythonSystem
from tests.systems.asking import ask_all

SOURCE = """
import asyncio, datetime, enum, json, math, time, types
import numpy

class Color(enum.StrEnum):
    RED = "red"

class TransportError(Exception): ...
class ReadTimeout(TransportError): ...
class RateLimitError(Exception):
    response = types.SimpleNamespace(status_code=429, headers={"retry-after": "7"})
class StatusError(Exception):
    def __init__(self, status):
        super().__init__(f"status {status}")
        self.status_code = status
class Silent(Exception):
    def __str__(self):
        raise RuntimeError

def cycle():
    found = {}
    found["again"] = found
    return found

def raised(error):
    raise error

def parts():
    yield ""
    time.sleep(0.2)
    yield "one "
    time.sleep(0.2)
    yield "two"

async def later():
    await asyncio.sleep(0)
    return "later"

async def later_parts():
    yield "a"
    yield "b"

CASES = dict(
    text=lambda q: "plain",
    unicode=lambda q: "Zoë \\U0001f600 \\ud800 \\0 end",
    fields=lambda q: {"answer": "x", "contexts": ("a", "b"), "tokens_in": 3, "label": None},
    numbers=lambda q: {"cost_usd": numpy.float32(0.5), "retrieved": [{"rank": numpy.int64(1)}]},
    array=lambda q: {"choice_probs": numpy.array([0.1, 0.9]), "extra": {"b": numpy.bool_(True)}},
    text_kinds=lambda q: {"answer": numpy.str_("x"), "label": Color.RED},
    streamed=lambda q: parts(),
    iterator=lambda q: map(str, [1, 2]),
    awaited=lambda q: later(),
    streamed_async=lambda q: later_parts(),
    no_error=lambda q: {"answer": "x", "error": "", "tokens_in": 3.0},
    large=lambda q: "x" * 5_000_000,
    printed=lambda q: print("\\0" * 16, "noise", flush=True) or "quiet",
    asked=lambda q: input(),
    nothing=lambda q: None,
    number=lambda q: 7,
    unknown=lambda q: {"anwser": "x"},
    empty=lambda q: {},
    nan=lambda q: {"answer": "x", "choice_probs": [0.5, math.nan]},
    date=lambda q: {"answer": "x", "extra": {"at": [datetime.date(2026, 1, 2)]}},
    content=lambda q: {"answer": b"x"},
    items=lambda q: {"answer": "x", "contexts": {"a"}},
    generator=lambda q: {"answer": parts()},
    keys=lambda q: {"answer": "x", "extra": {1: 2}},
    endless=lambda q: {"answer": "x", "extra": cycle()},
    too_large=lambda q: "x" * 64_000_001,
    bytes_stream=lambda q: iter(["a", b"b"]),
    big_number=lambda q: {"answer": "x", "tokens_in": 10**5000},
    returned=lambda q: {"error": "no index"},
    value=lambda q: raised(ValueError("two\\nlines")),
    silent=lambda q: raised(Silent()),
    key_error=lambda q: q["missing"],
    deep=lambda q: json.loads("{"),
    long=lambda q: raised(ValueError("x" * 1000)),
    secret=lambda q: raised(ValueError("key sk-0123456789 is wrong")),
    refused=lambda q: raised(ConnectionRefusedError("no")),
    timeout=lambda q: raised(TimeoutError()),
    transport=lambda q: raised(ReadTimeout("slow")),
    limited=lambda q: raised(RateLimitError("later")),
    overloaded=lambda q: raised(StatusError(503)),
    not_found=lambda q: raised(StatusError(404)),
    group=lambda q: raised(ExceptionGroup("both", [OSError("a"), ReadTimeout("b")])),
    mixed=lambda q: raised(ExceptionGroup("both", [OSError("a"), ValueError("b")])),
    memory=lambda q: raised(MemoryError()),
    stop=lambda q: raised(StopIteration()),
)

def answer(question):
    return CASES[question["question_id"]](question)

async def answer_async(question):
    found = CASES[question["question_id"]](question)
    return await found if question["question_id"] == "awaited" else found
"""

ANSWERS = {
    "text": {"answer": "plain"},
    "unicode": {"answer": "Zoë \U0001f600 ? \ufffd end"},
    "fields": {"answer": "x", "contexts": ["a", "b"]},
    "numbers": {"cost_usd": 0.5, "retrieved": [{"rank": 1}]},
    "array": {"choice_probs": [0.1, 0.9], "extra": {"b": True}},
    "text_kinds": {"answer": "x", "label": "red"},
    "streamed": {"answer": "one two"},
    "iterator": {"answer": "12"},
    "awaited": {"answer": "later"},
    "streamed_async": {"answer": "ab"},
    "no_error": {"answer": "x"},
    "large": {"answer": "x" * 5_000_000},
    "printed": {"answer": "quiet"},
}

WRONG = {
    "nothing": "expected a text or a dict .* found NoneType: is there a `return`",
    "number": "expected a text or a dict .* found int: 7",
    "unknown": "unknown field 'anwser' .*did you mean 'answer'",
    "empty": "expected at least one of answer, contexts",
    "nan": r"choice_probs\[1\]: .*finite numbers.* found float: nan",
    "date": r"extra.at\[0\]: .* found date: datetime.date\(2026, 1, 2\)",
    "content": "answer: .* found bytes: b'x'",
    "items": "contexts: .* found set: {'a'}",
    "generator": "answer: .* found generator",
    "keys": "extra: expected text as keys, found 1",
    "endless": "extra.again.again.* expected at most 100 levels",
    "too_large": r"the answer has 64.0 MB; at most 64 MB",
    "bytes_stream": "part 1 of the stream: expected text, found bytes: b'b'",
    "big_number": "tokens_in: .* found int",
}

ERRORS = {
    "asked": r"EOFError: EOF when reading a line \(rag.py:\d+\)",
    "returned": "no index",
    "value": r"ValueError: two lines \(rag.py:\d+\)",
    "silent": r"Silent: \(no message\) \(rag.py:\d+\)",
    "key_error": r"KeyError: 'missing' \(rag.py:\d+\)",
    "deep": r"JSONDecodeError: Expecting property .* \(rag.py:\d+\)",  # not in json/decoder.py
    "long": r"ValueError: x{200}\.\.\. \(rag.py:\d+\)",
    "secret": r"ValueError: key \*\*\* is wrong",
    "not_found": "StatusError: status 404",
    "mixed": "ExceptionGroup: both",
    "stop": r"(RuntimeError: coroutine raised )?StopIteration \(rag.py:\d+\)",
}

TRANSPORT = {
    "refused": "ConnectionRefusedError: no",
    "timeout": "TimeoutError",
    "transport": "ReadTimeout: slow",
    "limited": "RateLimitError: later",
    "overloaded": "StatusError: status 503",
    "group": "ExceptionGroup: both",
    "memory": "MemoryError",
}

Found = dict[str, Answer | CallFailure | TimeoutError]


@pytest.fixture(scope="module", params=["answer", "answer_async"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What comes of every case, from one worker after the other."""
    home = tmp_path_factory.mktemp("project")
    (home / "rag.py").write_text(SOURCE, encoding="utf-8")
    settings = PythonSystem(name="rag", home=home, python=f"rag.py:{request.param}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAG_API_KEY", "sk-0123456789")
        asked = [*ANSWERS, *WRONG, *ERRORS, *TRANSPORT]
        return ask_all(settings, *asked, "text")


@pytest.mark.parametrize("case", ANSWERS)
def test_answers(found: Found, case: str) -> None:
    answer = found[case]
    assert isinstance(answer, Answer), answer
    assert answer.fields == ANSWERS[case]


@pytest.mark.parametrize(
    ("case", "kind", "message"),
    [
        *((case, WrongShape, message) for case, message in WRONG.items()),
        *((case, ReturnedError, message) for case, message in ERRORS.items()),
        *((case, TransientFailure, message) for case, message in TRANSPORT.items()),
    ],
)
def test_failures(found: Found, case: str, kind: type[CallFailure], message: str) -> None:
    failure = found[case]
    assert type(failure) is kind, failure
    with pytest.raises(kind, match=message):
        raise failure
    assert "\n" not in str(failure)
    assert len(str(failure)) < 800


def test_usage_is_no_field(found: Found) -> None:
    answer = found["fields"]
    assert isinstance(answer, Answer)
    assert (answer.tokens_in, answer.tokens_out) == (3, None)


def test_time_to_the_first_token_that_is_not_empty(found: Found) -> None:
    streamed, whole = found["streamed"], found["text"]
    assert isinstance(streamed, Answer)
    assert isinstance(whole, Answer)
    assert streamed.first_token_s is not None
    assert 0.2 <= streamed.first_token_s < 10
    assert whole.first_token_s is None


def test_rate_limits_are_passed_on(found: Found) -> None:
    limited, overloaded, refused = (found[each] for each in ("limited", "overloaded", "refused"))
    assert isinstance(limited, TransientFailure)
    assert (limited.busy, limited.retry_after) == (True, 7.0)
    assert isinstance(overloaded, TransientFailure)
    assert (overloaded.busy, overloaded.retry_after) == (True, None)
    assert isinstance(refused, TransientFailure)
    assert not refused.busy
