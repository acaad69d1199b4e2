"""Patterns: Python's own meaning, and what becomes of those that run away."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from evaluators.text import pattern_worker
from evaluators.text.patterns import Matcher, PatternTimeout, is_fast
from tests.support.golden_cases import golden

RUNAWAY = "(a+)+$"
LONG = "a" * 100_000 + "!"


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        *(
            (row["pattern"], row["text"], row["python_re"])
            for row in golden("tokens_presence")["engine_differences"]
            if row["pattern"] != "[[:alpha:]]+"
        ),
        (r"(\w+) \1", "the the", True),
        (r"(?s)^.*b$", "a\nb", True),
        ("é+", "caf\u00e9", True),
        ("\ud800?x", "x", True),
        ("a*", "", True),
    ],
)
def test_the_meaning_is_that_of_python(pattern: str, text: str, expected: bool) -> None:
    assert (re.search(pattern, text) is not None) == expected
    assert Matcher(5.0).search(pattern, text) == expected


def test_a_pattern_that_runs_away_costs_about_the_limit() -> None:
    matcher = Matcher(1.0)
    start = os.times()
    with pytest.raises(PatternTimeout, match="took longer than 1 s"):
        matcher.search(RUNAWAY, LONG)
    end = os.times()
    took = end.children_user + end.children_system - start.children_user - start.children_system
    assert 0.7 <= took < 2  # ticks of a busy machine are counted roughly
    assert matcher.search(RUNAWAY, "aaa")
    assert not matcher.search("b+c?$", LONG)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="limits by the clock here")
def test_a_machine_that_is_busy_elsewhere_makes_no_pattern_run_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def noted(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(start(*args, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    matcher = Matcher(0.1)
    assert matcher.search("(a+)+", "aaa")
    [worker] = started
    worker.send_signal(signal.SIGSTOP)
    again = threading.Timer(1.5, worker.send_signal, [signal.SIGCONT])
    again.start()
    try:
        assert matcher.search("(a+)+", "aaa")
    finally:
        again.join()


def test_after_some_texts_it_is_not_tried_again() -> None:
    matcher = Matcher(0.2)
    for _ in range(10):
        with pytest.raises(PatternTimeout, match="took longer"):
            matcher.search(RUNAWAY, LONG)
    for _ in range(1000):
        with pytest.raises(PatternTimeout, match="was not tried again"):
            matcher.search(RUNAWAY, "aaa")
    assert matcher.search("(a+)+", "aaa")


@pytest.mark.parametrize(
    ("pattern", "length", "expected"),
    [
        ("[Mm]illion", 10**6, True),
        (r"^15,969 [Mm]illion$", 10**6, True),
        ("^[Aa]nswer:? B$", 10**6, True),
        (r"\d+ million", 4000, True),
        (r"\d+ million", 4001, False),
        ("(a+)+$", 30, False),
        ("(a|aa)+$", 30, False),
        (r"(a*)\1", 30, False),
        ("(a|a)" * 9, 30, False),
        ("a?" * 9, 30, False),
        ("a" * 201, 30, False),
    ],
)
def test_which_patterns_are_searched_at_once(pattern: str, length: int, expected: bool) -> None:
    assert is_fast(pattern, length) == expected


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(b|b)" * 4 + "c", "b" * 100_000),
        ("b?" * 8 + "c", "b" * 100_000),
        ("[^c]*d", "b" * 4000),
        ("(bb)*d", "b" * 4000),
        ("b{1,4000}d", "b" * 4000),
    ],
)
def test_these_are_indeed_quick(pattern: str, text: str) -> None:
    assert is_fast(pattern, len(text))
    start = time.process_time()
    assert re.search(pattern, text) is None
    assert time.process_time() - start < 5


def test_the_process_ends_without_the_one_that_started_it() -> None:
    requests = b"".join(
        part if isinstance(part, bytes) else part.to_bytes(8, "little")
        for part in (len(RUNAWAY), len(LONG), RUNAWAY.encode(), LONG.encode())
    )
    done = subprocess.run(
        [sys.executable, pattern_worker.__file__, "0.2"],
        input=requests,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == b"r"
    assert done.returncode != 0
