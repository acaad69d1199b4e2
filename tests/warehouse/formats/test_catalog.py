"""Formats by their names; another name suggests those that are meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestration.starter import write_starter
from warehouse.errors import UnknownFormat
from warehouse.formats.catalog import TOOLS, format_named, formats

if TYPE_CHECKING:
    from pathlib import Path

SUGGESTED = {
    "phoenix": "'openinference' or 'phoenix-experiment'",
    "Phoenix": "'openinference' or 'phoenix-experiment'",
    "arize-phoenix": "'openinference' or 'phoenix-experiment'",
    "phoenix_experiment": "'phoenix-experiment'",
    "phoenix-experiments": "'phoenix-experiment'",
    "opentelemetry": "'openinference'",
    "otel": "'openinference'",
    "open_inference": "'openinference'",
    "llm-eval": "'lm-eval'",
    "lm_eval": "'lm-eval'",
    "lm-evaluation-harness": "'lm-eval'",
    "ragbench": "'trace'",
    "traces": "'openinference'",
    "inspect_ai": "'inspect'",
    "DeepEval": "'deepeval'",
    "deep-eval": "'deepeval'",
    "hf": "'huggingface'",
    "jsonl": "'canonical'",
    "trec_eval": "'trec'",
    "eval_studio": "'eval-studio'",
    "promptfo": "'promptfoo'",
}


@pytest.mark.parametrize(("name", "suggested"), SUGGESTED.items())
def test_another_name_suggests_the_formats_that_are_meant(name: str, suggested: str) -> None:
    with pytest.raises(UnknownFormat) as error:
        format_named(name)
    said = f"there is no input format {name!r}; did you mean {suggested}?"
    assert str(error.value) == said


def test_a_name_like_no_other_lists_all() -> None:
    with pytest.raises(UnknownFormat, match="; known: 'beir', 'canonical', ") as error:
        format_named("weights")
    assert all(f"{name!r}" in str(error.value) for name in formats())


def test_a_starter_suggests_the_same(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormat, match="did you mean 'openinference' or 'phoenix-exp"):
        write_starter(tmp_path, "phoenix")


def test_the_suggested_formats_exist() -> None:
    assert {each for listed in TOOLS.values() for each in listed} <= formats().keys()
    assert not TOOLS.keys() & formats().keys()
