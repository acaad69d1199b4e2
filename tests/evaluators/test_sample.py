"""The columns of samples are the fields of a sample, with types that the warehouse can give."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

from evaluators.sample import (
    ANSWER_COLUMNS,
    COLUMNS,
    KEYS,
    SAMPLE_COLUMNS,
    Sample,
    empty_value,
    input_fields,
)
from tests.support.samples import samples

FULL = {
    "expected_answers": ["a", "b"],
    "gold_relevance": [{"doc_id": "d", "grade": 2}],
    "document_sentences": [{"sentence_id": "S1", "text": None}],
    "correct_choice": 0,
    "noise_ratio": 0.5,
}


def test_columns_and_fields_are_the_same() -> None:
    # The number of the answer is no column that evaluators read.
    names = {field.name for field in dataclasses.fields(Sample)} - {"repeat", "others"}
    assert names <= SAMPLE_COLUMNS.keys()
    assert set(dir(Sample)) >= names


def test_keys_and_answers_are_sample_columns() -> None:
    assert set(KEYS) | ANSWER_COLUMNS <= set(SAMPLE_COLUMNS)


def test_what_a_system_answers_can_be_emptied() -> None:
    assert all(empty_value(name) in ("", "[]", []) for name in ANSWER_COLUMNS)
    assert empty_value("messages") == "[]"


def test_messages_are_those_of_the_answer() -> None:
    assert COLUMNS["messages"].role == "answer"
    assert input_fields("history") == ("history", "messages")


def test_a_row_of_a_frame_becomes_a_sample() -> None:
    frame = samples([FULL]).with_columns(input_digest=pl.lit(7, pl.UInt64))
    sample = Sample.of(frame.row(0, named=True))
    given = {name: getattr(sample, name) for name in FULL}
    assert given == FULL
    assert (sample.benchmark, sample.system, sample.question_id) == ("b", "s", "q1")
    assert sample.answer is None


def test_columns_that_were_not_read_are_none() -> None:
    sample = Sample.of({"benchmark": "b", "system": "s", "question_id": "q"})
    assert all(
        getattr(sample, field.name) is None
        for field in dataclasses.fields(Sample)
        if field.name not in {*KEYS, "repeat", "others"}
    )
    assert sample.repeat == 0


def test_a_sample_cannot_be_changed() -> None:
    sample = Sample(benchmark="b", system="s", question_id="q", answer="x")
    with pytest.raises(dataclasses.FrozenInstanceError):
        sample.answer = "y"  # type: ignore[misc]
