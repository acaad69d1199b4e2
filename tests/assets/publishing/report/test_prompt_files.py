"""What the judge was asked: each line is stored once, and the hardest questions come first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from assets.publishing.report import prompt_files
from assets.publishing.report.prompt_files import pack_prompts, questions_with_prompts

if TYPE_CHECKING:
    import pytest

    from assets.publishing.report.panel import BenchmarkData

TEXTS = st.text(alphabet="ab\n<", max_size=8)
MESSAGES = st.lists(st.tuples(st.sampled_from(["system", "user"]), TEXTS), max_size=3)


@given(st.lists(st.tuples(st.sampled_from(["q1", "q2"]), MESSAGES), max_size=6))
def test_messages_are_restored_from_their_lines(calls: list[tuple[str, Any]]) -> None:
    rows = [
        (question, "rag", "trace", step, [role for role, _ in given], [text for _, text in given])
        for step, (question, given) in enumerate(calls)
    ]
    packed = pack_prompts(rows, {"q1": 0, "q2": 7})
    assert len(packed["parts"]) == len(set(packed["parts"]))
    found = {
        (place, step): [
            (role, "\n".join(packed["parts"][part] for part in parts)) for role, parts in messages
        ]
        for place, own in packed["calls"].items()
        for _, _, step, messages in own
    }
    places = {"q1": "0", "q2": "7"}
    assert found == {
        (places[question], step): list(given) for step, (question, given) in enumerate(calls)
    }


def test_the_hardest_questions_have_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_files, "MAX_CALLS", 10)
    questions = pl.DataFrame(
        {"question_id": ["a", "b", "c", "d"], "hardness": [0.1, None, 0.9, 0.5]}
    )
    data = cast("BenchmarkData", SimpleNamespace(questions=questions))
    calls = pl.DataFrame({"question_id": ["a", "b", "c", "d"], "n": [5, 1, 4, 4]})
    # c and d have 8 calls; with those of a, there would be 13.
    assert questions_with_prompts(data, calls) == {"c": 2, "d": 3}
    assert questions_with_prompts(data, calls.head(0)) == {}
