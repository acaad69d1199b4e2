"""Intervals, rank sets and every pair of systems, against a plain loop over scipy.

`python -m benchmarks.uncertainty` makes up the scores of 100 systems on 10,000 questions by 10
metrics (half of them passes and failures) and measures a process of its own for each size. The loop
calls `scipy.stats.bootstrap` for each mean and `scipy.stats.permutation_test` for each pair; it is
measured on one of each and multiplied, for the whole of it takes days.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from assets.leaderboard.metric_slice import MetricSlice
from assets.leaderboard.slice_statistics import SliceStatistics
from benchmarks.measure import cost_of, table
from evaluators.metric import Metric
from evaluators.statistics.arrays import DRAWS
from evaluators.statistics.clusters import Groups

SIZES = ((10, 1_000, 10), (100, 1_000, 10), (100, 10_000, 10), (200, 10_000, 10))
"""Systems, questions, metrics."""

ROOT = Path(__file__).parents[1]
PROGRAM = """\
import sys
sys.path.insert(0, {root!r})
sys.argv[1:] = ["--one", *{one!r}]
from benchmarks.uncertainty import main
main()
"""

SAMPLE = 1
"""The means and pairs that the plain loop is measured on."""


def scores(systems: int, questions: int, seed: int, *, passes: bool) -> np.ndarray:
    """Scores of systems that share the difficulty of the questions: (questions, systems)."""
    draw = np.random.default_rng(seed)
    level = draw.beta(2, 1, size=(questions, 1)) * np.linspace(0.8, 1, systems)
    if passes:
        return (draw.random((questions, systems)) < level).astype(np.float64)
    return np.clip(level + draw.normal(0, 0.2, size=(questions, systems)), 0, 1)


def ours(systems: int, questions: int, metrics: int, cluster: int) -> None:
    """Do what a leaderboard does for one slice."""
    names = [f"system-{at:03d}" for at in range(systems)]
    groups = Groups() if cluster == 1 else Groups(np.arange(questions) // cluster)
    rows = 0
    for at in range(metrics):
        passes = at % 2 == 0
        slice_ = MetricSlice(
            benchmark="made_up",
            name="all",
            evaluator="made_up",
            metric=Metric(name=f"metric_{at}", summary="Made up.", primary=True),
            systems=names,
        )
        block = SliceStatistics(
            slices=[slice_],
            values=scores(systems, questions, at, passes=passes),
            groups=groups,
            pass_fail=np.full(systems, passes),
        )
        rows += block.uncertainty("skew_adjusted_t").height + block.comparisons().height
    if rows != metrics * (systems + math.comb(systems, 2)):
        raise SystemExit(f"{rows} rows are missing some")


def plain(questions: int) -> tuple[float, float]:
    """The seconds that the loop takes for one mean and for one pair."""
    from scipy import stats

    values = scores(2 * SAMPLE, questions, 1, passes=False)
    start = time.perf_counter()
    for at in range(SAMPLE):
        stats.bootstrap(
            (values[:, at],), np.mean, n_resamples=DRAWS, method="percentile", batch=100
        )
    mean = (time.perf_counter() - start) / SAMPLE
    start = time.perf_counter()
    for at in range(SAMPLE):
        difference = values[:, at] - values[:, -at - 1]
        stats.permutation_test(
            (difference,),
            lambda x, axis: x.sum(axis=axis),
            permutation_type="samples",
            n_resamples=9_999,
            batch=100,
            vectorized=True,
        )
    return mean, (time.perf_counter() - start) / SAMPLE


def main() -> None:
    """Measure every size; `--one` does the work of one, for a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", type=int, nargs=4, help="systems, questions, metrics, cluster")
    arguments = parser.parse_args()
    if arguments.one:
        ours(*arguments.one)
        return
    lines = []
    for systems, questions, metrics in SIZES:
        mean, pair = plain(questions)
        loop = metrics * (systems * mean + math.comb(systems, 2) * pair)
        for cluster in (1, 5):
            with tempfile.TemporaryDirectory() as folder:
                one = [str(each) for each in (systems, questions, metrics, cluster)]
                command = [sys.executable, "-c", PROGRAM.format(root=str(ROOT), one=one)]
                cost = cost_of(command, folder=Path(folder))
            lines.append(
                [
                    f"{systems:,}",
                    f"{questions:,}",
                    str(metrics),
                    str(cluster),
                    f"{metrics * math.comb(systems, 2):,}",
                    f"{cost.wall_s:.1f}",
                    f"{cost.cpu_s:.1f}",
                    f"{cost.peak_mb:.0f}",
                    f"{loop:,.0f}" if cluster == 1 else "",
                    f"{loop / cost.wall_s:,.0f}" if cluster == 1 else "",
                ]
            )
    heads = ["systems", "questions", "metrics", "cluster", "pairs", "s", "CPU s", "peak MB"]
    print(table([*heads, "scipy loop s", "times faster"], lines))


if __name__ == "__main__":
    main()
