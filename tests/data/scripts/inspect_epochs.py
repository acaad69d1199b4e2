# ruff: noqa: A004, ANN001, ANN201, ANN202, ARG001
"""Writes logs of inspect_ai 0.3.285: tasks of 3 epochs and of 1, options, and a withheld answer.

Run in an environment with inspect_ai: python inspect_epochs.py FOLDER
"""

import sys

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, choice, includes, scorer
from inspect_ai.solver import multiple_choice


def reply(text, stop_reason="stop"):
    output = ModelOutput.from_content("mockllm/model", text, stop_reason=stop_reason)
    # Without the usage, Inspect downloads a tokenizer to count.
    output.usage = ModelUsage(input_tokens=10, output_tokens=2, total_tokens=12)
    return output


@scorer(metrics={"length": [accuracy()], "short": [accuracy()], "note": [accuracy()]})
def several():
    async def score(state, target):
        text = state.output.completion
        return Score(value={"length": len(text), "short": len(text) < 20, "note": float("nan")})

    return score


CROWS = Sample(id="crows", input="What is a group of crows called?", target="murder")
GEESE = Sample(id="geese", input="What is a group of geese called?", target="gaggle")
BIRDS = ["penguin", "crow", "pig"]
OPTIONS = [
    Sample(id=1, input="Which can fly?", choices=BIRDS, target="B"),
    Sample(id=2, input="Which swims?", choices=BIRDS, target="A"),
    Sample(id=3, input="Which is a bird?", choices=BIRDS, target=["A", "B"]),
    Sample(id=4, input="Which is pink?", choices=BIRDS, target="C"),
]
WITHHELD = reply("I can't say.", "content_filter")


def run(name, samples, replies, *, epochs=1, scorers=includes, solver=None):
    more = {"solver": solver} if solver else {}
    eval(
        Task(dataset=MemoryDataset(samples), scorer=scorers(), name=name, **more),
        model=get_model("mockllm/model", custom_outputs=replies, memoize=False),
        log_dir=sys.argv[1],
        log_format="eval",
        epochs=epochs,
        max_connections=1,
        max_samples=1,
        display="none",
    )


run("often", [CROWS], [reply("A murder.")] * 3, epochs=3)
run("once", [GEESE], [reply("A gaggle.")])
run("withheld", [CROWS, GEESE], [WITHHELD, reply("A gaggle.")])
run(
    "options",
    OPTIONS,
    [reply("ANSWER: B"), reply("ANSWER: C"), reply("ANSWER: B, A"), reply("I do not know.")],
    scorers=choice,
    solver=multiple_choice(multiple_correct=True),
)
run("several", [CROWS], [reply("A murder.")], scorers=several)
