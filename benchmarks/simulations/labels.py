"""How labels are drawn, and annotators who disagree: corrected means and kappa."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assets.analysis.label_queue import LabelQueue, SampleId
from benchmarks.simulations.result import Table, rate
from evaluators.statistics.judges.agreement import (
    confusion,
    count_labels_needed,
    kappa_of_tables,
    kappas,
)
from evaluators.statistics.judges.corrected_means import prediction_powered, rogan_gladen
from evaluators.statistics.judges.few_labels import scale_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluators.statistics.arrays import Booleans, Floats, Integers
    from evaluators.statistics.judges.corrected_means import Corrected

SAMPLES, DOCUMENTS, LABELS = 500, 50, 100

DRAWS = ("at random", "by verdict", "half uncertain", "annotate")
PEOPLE = ("one", "two who err independently", "two, low is best")


class Answers(NamedTuple):
    """The answers of one system, judged.

    Attributes:
        verdicts: The judge's verdicts, 0 or 1.
        votes: What each of two annotators would say, shape (samples, 2).
        uncertainty: How uncertain the judge is, from 0 to 1.
        clusters: The document of each.
    """

    verdicts: Floats
    votes: Floats
    uncertainty: Floats
    clusters: Integers


class Drawn(NamedTuple):
    """Labelled samples, and the weight of each sample by the former and by the present rule."""

    former: Booleans
    former_random: Booleans
    now: Booleans
    weights: Floats


def answer(
    generator: np.random.Generator, samples: int, error: float, *, clustered: bool = False
) -> Answers:
    """Draw answers of which 65 % are right, a quarter of them hard to judge.

    Args:
        generator: Draws them.
        samples: The number of answers.
        error: How often an annotator errs.
        clustered: Whether documents differ in how many answers are right and hard.
    """
    clusters = np.arange(samples)
    share, hard = np.full(samples, 0.65), np.full(samples, 0.25)
    if clustered:
        clusters = clusters // (SAMPLES // DOCUMENTS)
        count = int(clusters.max()) + 1
        share = generator.beta(1.95, 1.05, count)[clusters]
        hard = generator.beta(0.5, 1.5, count)[clusters]
    truth = generator.random(samples) < share
    is_hard = generator.random(samples) < hard
    is_right = generator.random(samples) < np.where(is_hard, 0.6, 0.95)
    # The judge knows of nine in ten hard answers that they are.
    shows = is_hard & (generator.random(samples) < 0.9)
    uncertainty = generator.uniform(0, 0.5, samples) + np.where(shows, 0.5, 0.0)
    votes = truth[:, None] ^ (generator.random((samples, 2)) < error)
    verdicts = (truth == is_right).astype(np.float64)
    return Answers(verdicts, votes.astype(np.float64), uncertainty, clusters)


def draw(generator: np.random.Generator, design: str, answers: Answers) -> Drawn:
    """Draw the samples that get labels."""
    n = len(answers.verdicts)
    order = generator.permutation(n)
    ones = np.ones(n)
    if design == "at random":
        chosen = np.isin(np.arange(n), order[:LABELS])
        return Drawn(chosen, chosen, chosen, ones)
    if design == "by verdict":
        chosen, weights = np.zeros(n, dtype=bool), ones.copy()
        for verdict in (0, 1):
            own = order[answers.verdicts[order] == verdict]
            chosen[own[: LABELS // 2]] = True
            weights[own] = len(own) / min(len(own), LABELS // 2)
        return Drawn(chosen, chosen, chosen, weights)
    # The former queue: random samples, and the most uncertain ones of the others.
    at_random = np.isin(np.arange(n), order[: LABELS // 2])
    rest = np.argsort(-answers.uncertainty, kind="stable")
    rest = rest[~at_random[rest]][: LABELS // 2]
    former = at_random.copy()
    former[rest] = True
    if design == "half uncertain":
        return Drawn(former, at_random, at_random, ones)
    most = set(np.argsort(-answers.uncertainty, kind="stable")[: n // 4].tolist())
    ids = {int(at): SampleId("s", str(at)) for at in order}
    queue = LabelQueue({"s": list(ids.values())}, {"s": [ids[at] for at in ids if at in most]}, {})
    labelled: set[SampleId] = set()
    for _ in range(LABELS):
        found = queue.next(labelled, (), "mixed")
        if found is not None:
            labelled.add(found.sample)
    now = np.isin(np.arange(n), [int(each.question_id) for each in labelled])
    is_uncertain = np.isin(np.arange(n), list(most))
    weights = ones.copy()
    for stratum in (is_uncertain, ~is_uncertain):
        weights[stratum] = stratum.sum() / max(1, (now & stratum).sum())
    return Drawn(former, at_random, now, weights)


class Counts:
    """Sums over the simulated systems."""

    def __init__(self) -> None:
        self.bias: list[float] = []
        self.hits = self.trials = 0

    def add(self, found: Corrected, truth: float) -> None:
        """Count an estimate and its interval."""
        self.bias += [] if found.mean is None else [found.mean - truth]
        if found.low is not None and found.high is not None:
            self.trials += 1
            self.hits += found.low <= truth <= found.high

    @property
    def cell(self) -> str:
        """Bias and coverage."""
        return f"{np.mean(self.bias):+.3f}; {rate(self.hits, self.trials)}"


def tables(repeats: int) -> Iterator[Table]:
    """Yield the tables, with a quarter of the repeats."""
    repeats = max(1, repeats // 4)
    means, agreements = [], []
    for clustered in (False, True):
        for people in PEOPLE:
            for design in DRAWS:
                head = [design, people, "documents" if clustered else "independent"]
                one, other = simulate(repeats, design, people, clustered=clustered)
                means.append([*head, *one])
                agreements.append([*head, *other])
    who = f"{LABELS} labelled of {SAMPLES} samples of one system, {repeats:,} repeats"
    heads = ["labels drawn", "annotators", "samples"]
    yield Table(
        f"Corrected pass rates: bias; coverage of 95 % intervals before and now; {who}",
        [
            *heads,
            *("Rogan-Gladen before", "Rogan-Gladen now"),
            *("prediction-powered before", "prediction-powered now"),
        ],
        means,
    )
    yield Table(
        f"Kappa and whether the judge counts as calibrated (kappa > 0.4); {who}",
        [
            *heads,
            *("true kappa", "kappa before", "calibrated before"),
            *("kappa now", "coverage now", "calibrated now"),
        ],
        agreements,
    )


def simulate(
    repeats: int, design: str, people: str, *, clustered: bool
) -> tuple[list[str], list[str]]:
    """Return the cells of both tables."""
    generator = np.random.default_rng(6)
    error, raters = (0.0, 1) if people == "one" else (0.15, 2)
    low_is_best = "low" in people
    every = answer(np.random.default_rng(7), 1_000_000, error, clustered=clustered)
    truth = float(every.votes.mean())
    share = every.votes.mean(axis=1)
    true_kappa = float(kappas(_tables(every.verdicts, share, np.ones(len(share))).sum(0)[None])[0])
    if low_is_best:
        truth = 1 - truth
    rogan_before, rogan, powered_before, powered = (Counts() for _ in range(4))
    kappas_before, kappas_now, covered, was, now = [], [], 0, 0, 0
    for _ in range(repeats):
        answers = answer(generator, SAMPLES, error, clustered=clustered)
        drawn = draw(generator, design, answers)
        verdicts, label = answers.verdicts, answers.votes[:, :raters].mean(axis=1)
        if low_is_best:
            verdicts, label = 1 - verdicts, 1 - label
        clusters = answers.clusters
        rounded = (label >= 0.5).astype(np.float64)
        before = np.where(drawn.former_random, rounded, np.nan)
        rogan_before.add(rogan_gladen(verdicts, before, clusters), truth)
        before = np.where(drawn.former_random, label, np.nan)
        powered_before.add(prediction_powered(verdicts, before, clusters), truth)
        labels = np.where(drawn.now, label, np.nan)
        rogan.add(rogan_gladen(verdicts, labels, clusters, drawn.weights), truth)
        found = prediction_powered(verdicts, labels, clusters, weights=drawn.weights)
        powered.add(found, truth)
        passes = (rounded >= 0.5) if not low_is_best else (label <= 0.5)
        judged = verdicts == (0 if low_is_best else 1)
        value, is_calibrated = _agreement(
            judged, passes.astype(np.float64), clusters, drawn.former, np.ones(SAMPLES)
        )[::3]
        kappas_before.append(value)
        was += is_calibrated
        passed = 1 - label if low_is_best else label
        value, low, high, is_calibrated = _agreement(
            judged, passed, clusters, drawn.now, drawn.weights
        )
        kappas_now.append(value)
        covered += low <= true_kappa <= high
        now += is_calibrated
    return (
        [rogan_before.cell, rogan.cell, powered_before.cell, powered.cell],
        [
            f"{true_kappa:.2f}",
            f"{np.mean(kappas_before):.2f}",
            rate(was, repeats),
            f"{np.mean(kappas_now):.2f}",
            rate(covered, repeats),
            rate(now, repeats),
        ],
    )


def _tables(judged: Floats | Booleans, passed: Floats, weights: Floats) -> Floats:
    """Return the table of each sample: rows for the judge, columns for the shares of people."""
    found = np.zeros((len(passed), 2, 2))
    cells = np.stack([1 - passed, passed], axis=1) * weights[:, None]
    found[np.arange(len(passed)), judged.astype(np.int64)] = cells
    return found


def _agreement(
    judged: Booleans, passed: Floats, clusters: Integers, chosen: Booleans, weights: Floats
) -> tuple[float, float, float, bool]:
    """Return kappa with its interval, and whether the judge counts as calibrated."""
    scaled = scale_weights(weights[chosen])
    counts = confusion(judged[chosen], passed[chosen], scaled)
    tables = _tables(judged[chosen], passed[chosen], scaled)
    found = kappa_of_tables(tables, clusters=clusters[chosen])
    return found.value, found.low, found.high, count_labels_needed(counts, found) == 0
