"""Logs of Inspect are read as inspect_ai writes them."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.services import takes_minutes
from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats import inspect
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.inspect import read_predictions, read_questions
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from records.prediction import Prediction
    from records.question import Question

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
CROWS = "What is a group of crows called?"


EVALUATE = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, solver

@solver
def answering():
    inner = generate()

    async def solve(state, asked):
        if state.sample_id == "broken":
            raise ValueError("no such bird")
        return await inner(state, asked)

    return solve

question, *logs = sys.argv[1:]
messages = [ChatMessageSystem(content="Be brief."), ChatMessageUser(content="Which can fly?")]
samples = [
    Sample(id="crows", input=question, target=["murder", "a murder"], metadata={"lang": "en"}),
    Sample(id=7, input=messages, target="B", choices=["penguin", "crow"]),
    Sample(id="broken", input="Which bird is this?", target=""),
]
for folder, log_format, epochs, answer in zip(*[iter(logs)] * 4):
    output = ModelOutput.from_content("mockllm/model", answer)
    # Without the usage, Inspect downloads a tokenizer to count.
    output.usage = ModelUsage(input_tokens=10, output_tokens=2, total_tokens=12)
    eval(
        Task(dataset=MemoryDataset(samples), solver=answering(), scorer=includes(), name="birds"),
        model=get_model("mockllm/model", custom_outputs=[output] * 10, memoize=False),
        log_dir=folder,
        log_format=log_format,
        epochs=int(epochs),
        display="none",
        fail_on_error=False,
    )
"""
"""Runs a task of three samples with Inspect's mock model, in each format of logs."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The logs of Inspect by folder; in another process, because it leaves streams open."""
    folder = tmp_path_factory.mktemp("logs")
    wanted = [
        ("eval", "eval", "1", "A murder."),
        ("json", "json", "1", "A gaggle."),
        ("twice", "eval", "2", "A murder."),
    ]
    arguments = [part for name, *rest in wanted for part in (str(folder / name), *rest)]
    subprocess.run([sys.executable, "-c", EVALUATE, CROWS, *arguments], check=True, cwd=folder)
    return {name: next((folder / name).iterdir()) for name, *_ in wanted}


def read(
    path: Path, system: str | None = None
) -> tuple[dict[str, Question], dict[str, Prediction]]:
    questions, predictions = {}, {}
    for asked in read_questions(Source(path)):
        assert isinstance(asked, Read), asked
        questions[asked.record.question_id] = asked.record
    for given in read_predictions(Source(path, system)):
        assert isinstance(given, Read), given
        predictions[given.record.question_id] = given.record
    return questions, predictions


@takes_minutes
@pytest.mark.parametrize(("log_format", "answer"), [("eval", "A murder."), ("json", "A gaggle.")])
def test_a_log_that_inspect_writes(logs: dict[str, Path], log_format: str, answer: str) -> None:
    questions, predictions = read(logs[log_format])
    assert questions.keys() == predictions.keys() == {"birds/crows", "birds/7", "birds/broken"}
    crows, choice, broken = (questions[f"birds/{n}"] for n in ("crows", "7", "broken"))
    assert (crows.question, crows.expected_answer) == (CROWS, ["murder", "a murder"])
    assert crows.tags == {"lang": "en", "task": "birds"}
    assert (choice.question, choice.choices, choice.correct_choice) == (
        "Which can fly?",
        ["penguin", "crow"],
        1,
    )
    assert (broken.question, broken.expected_answer) == ("Which bird is this?", None)
    given = predictions["birds/crows"]
    assert (given.system, given.answer, given.error) == ("mockllm/model", answer, None)
    assert given.latency_s is not None
    assert given.extra is not None
    assert given.extra["scores"]["includes"]["value"] == ("C" if answer == "A murder." else "I")
    assert (given.tokens_in, given.tokens_out, given.extra["total_tokens"]) == (10, 2, 12)
    assert not {"input_tokens", "output_tokens"} & given.extra.keys()
    assert [each.model_dump(exclude_none=True) for each in given.messages or ()] == [
        {"role": "assistant", "content": answer}
    ]
    assert [each.role for each in choice.messages or ()] == ["system", "user"]
    assert "epochs" not in given.extra
    failed = predictions["birds/broken"]
    assert (failed.answer, failed.error) == (None, "ValueError('no such bird')")


@takes_minutes
def test_each_epoch_is_an_answer(tmp_path: Path, logs: dict[str, Path]) -> None:
    files: list[tuple[Path, str | None]] = [(logs["eval"], "north"), (logs["twice"], "south")]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    asked = ingest_questions(warehouse, benchmark="b", format="inspect", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="inspect", files=files)
    assert asked.notes == done.notes == ()
    assert asked.rows == 3
    found = warehouse.fetch(
        "SELECT system, repeat, count(*) FROM predictions GROUP BY ALL ORDER BY ALL"
    )
    assert found.rows() == [("north", 0, 3), ("south", 0, 3), ("south", 1, 3)]


@takes_minutes
def test_logs_of_two_systems_make_one_benchmark(tmp_path: Path, logs: dict[str, Path]) -> None:
    files: list[tuple[Path, str | None]] = [(logs["eval"], "north"), (logs["json"], "south")]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    asked = ingest_questions(warehouse, benchmark="b", format="inspect", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="inspect", files=files)
    assert (asked.rows, done.rows, done.problems, done.notes) == (3, 6, (), ())
    found = warehouse.fetch(
        "SELECT system, answer FROM predictions WHERE question_id = 'birds/crows' ORDER BY system"
    ).rows()
    assert found == [("north", "A murder."), ("south", "A gaggle.")]


def log_of(**sample: Any) -> dict[str, Any]:
    """The least that a log must have, with one sample."""
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "created": "2025-01-31T12:00:00+00:00",
            "task": "birds",
            "dataset": {},
            "model": "mockllm/model",
            "config": {},
        },
        "samples": [{"id": 1, "epoch": 1, "input": "?", "target": "a", **sample}],
    }


def problems(path: Path) -> list[str]:
    try:
        return [each.reason for each in read_predictions(Source(path)) if isinstance(each, Reject)]
    except InputError as error:
        return [problem.message for problem in error.problems]


def test_a_score_that_is_not_a_number_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log_of(scores={"s": {"value": float("nan")}})))
    _, predictions = read(path)
    assert (predictions["birds/1"].extra or {})["scores"]["s"]["value"] is None
    assert predictions["birds/1"].error == "there is no output"


HASH = "0123456789abcdef" * 2
CONVERT = """
import sys
from inspect_ai.log import read_eval_log, write_eval_log
write_eval_log(read_eval_log(sys.argv[1]), sys.argv[1].replace(".json", ".eval"))
"""


def attached(references: int, length: int, name: str = "attachment://" + HASH) -> dict[str, Any]:
    """A log whose input refers to one attachment many times."""
    said = [{"role": "user", "content": name}] * references
    return log_of(input=[*said, {"role": "user", "content": "?"}], attachments={HASH: "x" * length})


def test_attachments_are_resolved(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    content = attached(2, 30_000)
    content["samples"][0]["input"].pop()
    path.write_text(json.dumps(content))
    questions, _ = read(path)
    assert questions["birds/1"].question == "x" * 30_000


@pytest.mark.parametrize(
    ("log_format", "name"),
    [
        ("json", "attachment://" + HASH),
        ("json", "tc://" + HASH),  # of earlier versions, which wrote no .eval
        ("eval", "attachment://" + HASH),
    ],
)
def test_an_attachment_cannot_fill_the_memory(tmp_path: Path, log_format: str, name: str) -> None:
    content = attached(3000, 20_000, name)
    content["samples"].append({"id": 2, "epoch": 1, "input": "?", "target": "a"})
    path = tmp_path / "log.json"
    path.write_text(json.dumps(content))
    if log_format == "eval":
        subprocess.run([sys.executable, "-c", CONVERT, path], check=True, cwd=tmp_path)
        path = tmp_path / "log.eval"
    refused, kept = list(read_questions(Source(path)))
    assert isinstance(refused, Reject)
    assert refused.reason == "sample 1: the input with its attachments is longer than 16 MiB"
    assert isinstance(kept, Read)


def test_calls_of_tools_are_messages(tmp_path: Path) -> None:
    call = {"id": "1", "function": "open", "arguments": {"x": 1}, "type": "function"}
    fault = {"type": "timeout", "message": "too slow"}
    text = [{"type": "text", "text": "none"}]
    messages = [
        {"role": "user", "content": "?", "source": "input"},
        {"role": "assistant", "content": "", "source": "generate", "tool_calls": [call]},
        {"role": "tool", "content": text, "tool_call_id": "1", "function": "open", "error": fault},
        {"role": "assistant", "content": "A murder.", "source": "generate"},
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log_of(messages=messages)))
    (given,) = read(path)[1].values()
    assert [each.model_dump(exclude_none=True) for each in given.messages or ()] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "1", "name": "open", "arguments": {"x": 1}}],
        },
        {
            "role": "tool",
            "content": "none",
            "name": "open",
            "tool_call_id": "1",
            "error": "too slow",
        },
        {"role": "assistant", "content": "A murder."},
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            {"evalId": "e", "results": {}},
            "expected a log of Inspect with 'eval' and 'samples'; found the fields 'evalId', ",
        ),
        ([1], "expected a log of Inspect with 'eval' and 'samples'; found a list"),
        ({**log_of(), "samples": []}, "expected samples, found none: was the log written with"),
        (log_of(input=5), "expected a log of Inspect: 2 validation errors for EvalLog"),
        (log_of(input=""), "sample 1: input: missing"),
        (log_of(working_time=-1.0), "sample 1: working_time: expected a number of at least 0"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, content: Any, said: str) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(content))
    (problem,) = problems(path)
    assert problem.startswith(said)


def test_files_that_are_no_logs(tmp_path: Path) -> None:
    damaged = tmp_path / "log.eval"
    damaged.write_bytes(b"PK\x03\x04 and so on")
    assert problems(damaged) == [
        "expected a log of Inspect, which is a zip file: File is not a zip file"
    ]
    with zipfile.ZipFile(damaged, "w") as archive:
        archive.writestr("other.txt", "text")
    (problem,) = problems(damaged)
    assert problem.startswith("expected a log of Inspect: ")
    other = tmp_path / "log.json.gz"
    other.write_bytes(b"")
    assert problems(other) == ["unknown file suffix '.gz'; expected .eval or .json, not compressed"]


def test_a_log_that_expands_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect, "FREE_EXPANSION", 2**20)
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/1_epoch_1.json", bytes(3 * 2**20))
    assert problems(path) == ["the log is longer than 1 MiB, split it"]


def test_without_inspect_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    path = tmp_path / "log.eval"
    path.write_bytes(b"")
    assert problems(path) == [
        "Inspect's logs are read by inspect_ai: `pip install 'scoreline[inspect]'`"
    ]
