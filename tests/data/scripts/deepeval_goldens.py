# ruff: noqa: ANN001, ANN201

"""Writes data sets of DeepEval 4.3.1 with goldens and their test cases in one file.

Run in an environment with deepeval: python deepeval_goldens.py FOLDER
"""

import os
import sys

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
from deepeval.dataset import EvaluationDataset, Golden
from deepeval.test_case import LLMTestCase

OUT = sys.argv[1]


def save(name, goldens, cases):
    data = EvaluationDataset(goldens=goldens)
    for case in cases:
        data.add_test_case(case)
    for kind in ("json", "jsonl", "csv"):
        data.save_as(file_type=kind, directory=OUT, file_name=name, include_test_cases=True)


CROWS = "What is a group of crows called?"
golden = Golden(
    name="crows-1",
    input=CROWS,
    expected_output="A murder of crows.",
    context=["A group of crows is a murder."],
    comments="from the handbook",
    source_file="birds.md",
    additional_metadata={"lang": "en"},
)
geese = Golden(
    input="What is a group of geese called?",
    expected_output="A gaggle.",
    additional_metadata={"lang": "fr"},
)
fish = Golden(name="fish-1", input="What is a group of fish called?", expected_output="A school.")
answered = LLMTestCase(
    input=CROWS,
    actual_output="A murder.",
    retrieval_context=["A group of crows is a murder."],
    token_cost=0.002,
)
flock = LLMTestCase(
    input=geese.input, actual_output="A flock.", expected_output="A gaggle.", metadata={"n": 3}
)
save("goldens", [golden, geese, fish], [answered, flock])
wrong = LLMTestCase(input=CROWS, actual_output="A murder.", expected_output="A murder.")
save("goldens_differ", [golden], [wrong])
