# ruff: noqa: ANN001, ANN003, ANN201, ANN204, D102

"""Writes sample logs of lm_eval 0.4.13: a task with `repeats: 3`, one of perplexity, and options.

Run in an environment with lm_eval: python lm_eval_repeats.py FOLDER
"""

import json
import sys
from pathlib import Path

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

OUT = Path(sys.argv[1])
SUMS = [{"question": "2 + 3?", "answer": "5"}, {"question": "3 + 4?", "answer": "7"}]
BIRDS = [
    {"question": "Which can fly?", "choices": ["a penguin", "a crow", "a pig"], "gold": 1},
    {"question": "Which can swim?", "choices": ["a cod", "a stone in the grass"], "gold": 1},
    {"question": "Which is an egg?", "choices": ["œuf", "poisson"], "gold": 0},
]
REPLIES = {"2 + 3?": ["It is 5.", "It is 6.", "It is 5."], "3 + 4?": ["It is 8.", "7.", "It is 7."]}
LIKELIHOODS = {
    " a penguin": -4.5,
    " a crow": -4.0,
    " a pig": -3.9,
    " a cod": -5.0,
    " a stone in the grass": -9.0,
    " œuf": -2.0,
    " poisson": -3.6,
}


class Scripted(LM):
    """A model that has the replies above."""

    def __init__(self):
        super().__init__()
        self.asked = {}

    def loglikelihood(self, requests):
        return [(LIKELIHOODS[each.args[1]], False) for each in requests]

    def loglikelihood_rolling(self, requests):
        return [-float(len(each.args[0])) for each in requests]

    def generate_until(self, requests):
        replies = []
        for each in requests:
            question = next(name for name in REPLIES if name in each.args[0])
            number = self.asked[question] = self.asked.get(question, -1) + 1
            replies.append(REPLIES[question][number % 3])
        return replies


def task(folder, name, rows, **config):
    data = folder / f"{name}.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        **config,
    }


OUT.mkdir(parents=True, exist_ok=True)
data = OUT / "data"
data.mkdir(exist_ok=True)
number = {"function": "regex", "regex_pattern": r"(\d+)"}
tasks = [
    task(
        data,
        "sums_rep",
        SUMS,
        output_type="generate_until",
        doc_to_text="Q: {{question}}\nA:",
        doc_to_target="{{answer}}",
        generation_kwargs={"until": ["Q:"], "do_sample": True},
        repeats=3,
        filter_list=[
            {"name": "first", "filter": [number, {"function": "take_first"}]},
            {
                "name": "majority",
                "filter": [number, {"function": "majority_vote"}, {"function": "take_first"}],
            },
        ],
        metric_list=[{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    ),
    task(
        data,
        "texts",
        SUMS,
        output_type="loglikelihood_rolling",
        doc_to_text="",
        doc_to_target="{{question}}",
        metric_list=[{"metric": "word_perplexity"}, {"metric": "bits_per_byte"}],
    ),
    task(
        data,
        "lengths",
        BIRDS,
        output_type="multiple_choice",
        doc_to_text="{{question}}",
        doc_to_choice="{{choices}}",
        doc_to_target="gold",
        metric_list=[{"metric": each} for each in ("acc", "acc_norm", "acc_bytes")],
    ),
]
tracker = EvaluationTracker(output_path=str(OUT))
found = simple_evaluate(
    Scripted(),
    tasks=tasks,
    log_samples=True,
    task_manager=TaskManager(),
    evaluation_tracker=tracker,
)
samples = found.pop("samples")
tracker.save_results_aggregated(results=found, samples=samples)
for name, rows in samples.items():
    tracker.save_results_samples(task_name=name, samples=rows)
