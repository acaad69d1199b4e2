"""The harbour example as other tools write it: what `scoreline init --format` writes.

Each function from `promptfoo` on turns the questions, documents and answers of the example in
`files/` into the files of one tool. Nothing is written twice: the texts are those of the example.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Row = Mapping[str, Any]

DATA: Final = Path(__file__).with_name("files") / "data"
SYSTEMS: Final = ("keyword", "reader")
DAY: Final = "2026-01-31T12:00"

TEXTS: Final = """\
evaluators: [rouge, tokens_presence]
parameters: {rouge: {words: unicode}}      # `auto` also compares stems; it needs `scoreline[text]`
"""
RETRIEVAL: Final = (
    "evaluators: [document_retrieval]\nparameters: {document_retrieval: {cutoffs: [1, 3]}}\n"
)
BOTH: Final = """\
evaluators: [document_retrieval, rouge]
parameters:
  document_retrieval: {cutoffs: [1, 3]}
  rouge: {words: unicode}                  # `auto` also compares stems; it needs `scoreline[text]`
"""


@dataclass(frozen=True, slots=True)
class Starter:
    """The files of one tool and the keys of the benchmark that reads them.

    Attributes:
        files: Texts or bytes by path, from the folder of the configuration.
        keys: Lines of YAML below the name of the benchmark.
    """

    files: Mapping[str, str | bytes]
    keys: str


@dataclass(frozen=True, slots=True)
class Case:
    """A question with the answer of one system; contexts are what it retrieved."""

    number: int
    system: str
    question: Row
    answer: Row
    documents: Mapping[str, Sequence[str]]

    @property
    def text(self) -> str | None:
        """The answer; None if the system failed."""
        given: str | None = self.answer.get("answer")
        return given

    @property
    def retrieved(self) -> list[str]:
        """The ids of the retrieved documents."""
        return [each["doc_id"] for each in self.answer.get("retrieved") or ()]

    @property
    def contexts(self) -> list[str]:
        """The texts of the retrieved documents."""
        return [" ".join(self.documents[name]) for name in self.retrieved]

    @property
    def gold(self) -> list[str]:
        """The texts of the right documents."""
        return [" ".join(self.documents[name]) for name in self.question["gold_doc_ids"]]


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


@cache
def cases() -> tuple[Case, ...]:
    """Return all answers of the example: those of one system after those of the other."""
    documents = {each["doc_id"]: each["sentences"] for each in _rows("documents.jsonl")}
    found = []
    for system in SYSTEMS:
        answers = {each["question_id"]: each for each in _rows(f"predictions_{system}.jsonl")}
        for number, question in enumerate(_rows("questions.jsonl")):
            answer = answers[question["question_id"]]
            found.append(Case(number, system, question, answer, documents))
    return tuple(found)


def by_system() -> Iterator[tuple[str, list[Case]]]:
    """Yield each system with its answers."""
    for system in SYSTEMS:
        yield system, [each for each in cases() if each.system == system]


def lines(rows: Sequence[object]) -> str:
    """Return rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def as_json(value: object) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def questions() -> list[Case]:
    """Return one case of each question."""
    return [each for each in cases() if each.system == SYSTEMS[0]]


def promptfoo() -> Starter:
    """`promptfoo eval -o results.json`, with two providers."""
    results = [
        {
            "promptIdx": SYSTEMS.index(each.system),
            "testIdx": each.number,
            "provider": {"id": f"file://{each.system}.py", "label": each.system},
            "prompt": {"raw": each.question["question"], "label": "{{question}}"},
            "vars": {"question": each.question["question"], "context": "\n".join(each.gold)},
            "response": {"output": each.text} if each.text is not None else {"error": "no answer"},
            **({} if each.text is not None else {"error": "no answer"}),
            "testCase": {
                "assert": [{"type": "similar", "value": each.question["expected_answer"]}],
                "metadata": each.question["tags"],
            },
            "latencyMs": 400 + 90 * each.number,
            "success": each.text == each.question["expected_answer"],
            "score": float(each.text == each.question["expected_answer"]),
            "failureReason": 0 if each.text is not None else 2,
        }
        for each in cases()
    ]
    content = {
        "evalId": f"eval-{DAY}",
        "results": {"version": 3, "prompts": [], "results": results},
    }
    keys = "predictions: results.json                  # `promptfoo eval -o results.json`\n"
    return Starter({"results.json": as_json({**content, "config": {}})}, keys + TEXTS)


def ragas() -> Starter:
    """`dataset.to_csv(...)` of an EvaluationDataset, one file a system."""
    files = {}
    for system, answered in by_system():
        text = io.StringIO()
        written = csv.writer(text, lineterminator="\n")
        written.writerow(
            [
                "user_input",
                "retrieved_contexts",
                "retrieved_context_ids",
                "reference_context_ids",
                "response",
                "reference",
            ]
        )
        for each in answered:
            gold, expected = each.question["gold_doc_ids"], each.question["expected_answer"]
            row = [each.question["question"], each.contexts, each.retrieved, gold]
            written.writerow([*row, each.text, expected])
        files[f"{system}.csv"] = text.getvalue()
    return Starter(
        files, 'predictions: "{system}.csv"                # `dataset.to_csv(...)`\n' + BOTH
    )


def deepeval() -> Starter:
    """`dataset.save_as("json", include_test_cases=True)`, one file a system."""
    files = {
        f"{system}.json": as_json(
            [
                {
                    "input": each.question["question"],
                    "actual_output": each.text,
                    "expected_output": each.question["expected_answer"],
                    "retrieval_context": each.contexts,
                    "context": each.gold,
                    "name": each.question["question_id"],
                    "additional_metadata": each.question["tags"],
                }
                for each in answered
            ]
        )
        for system, answered in by_system()
    }
    keys = 'predictions: "{system}.json"               # test cases, or test runs of DeepEval\n'
    return Starter(files, keys + TEXTS)


def inspect() -> Starter:
    """Logs of `inspect eval --log-format json`, one a model."""
    files = {}
    for system, answered in by_system():
        model = f"mockllm/{system}"
        samples = []
        for each in answered:
            answer = each.text or ""
            message = {"role": "assistant", "content": answer}
            output = {
                "model": model,
                "choices": [{"message": message, "stop_reason": "stop"}],
                "completion": answer,
            }
            samples.append(
                {
                    "id": each.question["question_id"],
                    "epoch": 1,
                    "input": each.question["question"],
                    "target": each.question["expected_answer"],
                    "metadata": each.question["tags"],
                    "output": output,
                    "scores": {},
                }
            )
        task = {"created": f"{DAY}:00+00:00", "task": "harbour", "dataset": {"name": "harbour"}}
        head = {**task, "model": model, "config": {"epochs": 1}}
        log = {"version": 2, "status": "success", "eval": head, "samples": samples}
        files[f"logs/{system}.json"] = as_json(log)
    return Starter(
        files,
        'predictions: "logs/*"        # *.eval or *.json; needs `scoreline[inspect]`\n' + TEXTS,
    )


def lm_eval() -> Starter:
    """Logs of `lm_eval --log_samples --output_path logs`, with options from three questions."""
    asked = questions()
    files = {}
    for shift, (system, answered) in enumerate(by_system()):
        rows = []
        for each in answered:
            options = [asked[(each.number + at) % len(asked)] for at in range(3)]
            options.sort(key=lambda one: str(one.question["question_id"]))
            choices = [one.question["expected_answer"] for one in options]
            right = choices.index(each.question["expected_answer"])
            chosen = right if shift or each.number % 2 else (right + 1) % 3
            scores = [
                [str(-0.5 - abs(at - chosen) - 0.25 * each.number), "False"] for at in range(3)
            ]
            prompt = f"Question: {each.question['question']}\nAnswer:"
            rows.append(
                {
                    "doc_id": each.number,
                    "doc": {"question": each.question["question"], "choices": choices},
                    "target": str(right),
                    "arguments": {
                        f"gen_args_{at}": {"arg_0": prompt, "arg_1": f" {choice}"}
                        for at, choice in enumerate(choices)
                    },
                    "resps": [[score] for score in scores],
                    "filtered_resps": scores,
                    "filter": "none",
                    "acc": float(chosen == right),
                }
            )
        name = f"logs/{system}/samples_harbour_{DAY.replace(':', '-')}-00.000000.jsonl"
        files[name] = lines(rows)
    keys = 'predictions: "logs/{system}/samples_*.jsonl"   # `lm_eval --log_samples`\n'
    return Starter(files, keys + "evaluators: [option_confidence]\n")
