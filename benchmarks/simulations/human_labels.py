"""Human labels: coverage of corrected means and of kappa, and judges that pass by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.simulations.result import Table, rate
from evaluators.statistics.judges.agreement import (
    CALIBRATED,
    confusion,
    count_labels_needed,
    kappa,
    kappas,
)
from evaluators.statistics.judges.corrected_means import prediction_powered, rogan_gladen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluators.statistics.arrays import Booleans, Floats, Integers
    from evaluators.statistics.judges.corrected_means import Corrected

SAMPLES, DOCUMENTS = 500, 50
LABELS = (10, 20, 50, 100)
COUNTS = tuple(f"{labels} labels" for labels in LABELS)
DESIGNS = ("independent", "random samples", "whole documents")
Z = 1.959964


class Judge(NamedTuple):
    """A judge: its error rates, and the share of answers that are right."""

    sensitivity: float
    specificity: float
    share: float


JUDGES = (Judge(0.9, 0.8, 0.65), Judge(0.9, 0.8, 0.9), Judge(0.7, 0.7, 0.65), Judge(1.0, 1.0, 0.95))


def tables(repeats: int) -> Iterator[Table]:
    """Yield the tables of corrected means and of calibration, with a quarter of the repeats."""
    repeats = max(1, repeats // 4)
    yield from _corrected_means(repeats)
    yield _continuous_means(repeats)
    yield _two_systems(4 * repeats)
    yield _chance_calibration(repeats)
    yield _kappa_coverage(repeats)


def _between(generator: np.random.Generator, mean: float, strength: float, n: int) -> Floats:
    """Draw the levels of documents around a mean."""
    if mean in {0.0, 1.0}:
        return np.full(n, mean)
    return generator.beta(strength * mean, strength * (1 - mean), n)


def _choose(
    generator: np.random.Generator, design: str, labels: int, clusters: Integers
) -> Booleans:
    """Choose the samples to label: at random, or whole documents."""
    chosen = np.zeros(len(clusters), dtype=bool)
    if design == "whole documents":
        documents = generator.choice(DOCUMENTS, labels * DOCUMENTS // SAMPLES, replace=False)
        chosen[np.isin(clusters, documents)] = True
    else:
        chosen[generator.choice(len(clusters), labels, replace=False)] = True
    return chosen


def _verdicts(
    generator: np.random.Generator, design: str, labels: int, judge: Judge
) -> tuple[Floats, Floats, Integers]:
    """Draw verdicts, labels (NaN: none) and clusters of a system."""
    if design == "independent":
        clusters = np.arange(SAMPLES)
        share, sensitivity, specificity = (
            np.full(SAMPLES, each) for each in (judge.share, judge.sensitivity, judge.specificity)
        )
    else:
        clusters = np.repeat(np.arange(DOCUMENTS), SAMPLES // DOCUMENTS)
        share, sensitivity, specificity = (
            _between(generator, mean, strength, DOCUMENTS)[clusters]
            for mean, strength in ((judge.share, 3), (judge.sensitivity, 4), (judge.specificity, 4))
        )
    truth = generator.random(SAMPLES) < share
    draw = generator.random(SAMPLES)
    verdicts = np.where(truth, draw < sensitivity, draw >= specificity).astype(np.float64)
    chosen = _choose(generator, design, labels, clusters)
    return verdicts, np.where(chosen, truth, np.nan), clusters


def _former_powered(scores: Floats, labels: Floats) -> tuple[float, float] | None:
    """Return the interval of tuned PPI with z, without clusters."""
    known = np.isfinite(labels)
    own, judged, rest = labels[known], scores[known], scores[~known]
    n = len(own)
    spread = float(scores.var(ddof=1))
    shared = float(np.cov(own, judged, ddof=1)[0, 1])
    weight = min(1.0, max(0.0, shared / ((1 + n / len(rest)) * spread))) if spread else 0.0
    errors = own - weight * judged
    variance = errors.var(ddof=1) / n + weight**2 * rest.var(ddof=1) / len(rest)
    mean = errors.mean() + weight * rest.mean()
    return (mean - Z * variance**0.5, mean + Z * variance**0.5) if variance else None


def _former_rogan_gladen(
    verdicts: Floats, judged: Floats, labels: Floats
) -> tuple[float, float, float] | None:
    """Return the mean and interval of Rogan and Gladen with z, and pooled labels if given so."""
    passed = labels == 1
    if passed.all() or not passed.any():
        return None
    sensitivity, specificity = judged[passed].mean(), 1 - judged[~passed].mean()
    youden = sensitivity + specificity - 1
    if youden <= 0:
        return None
    share = verdicts.mean()
    mean = min(1.0, max(0.0, (share + specificity - 1) / youden))
    variance = (
        share * (1 - share) / len(verdicts)
        + (1 - mean) ** 2 * specificity * (1 - specificity) / (~passed).sum()
        + mean**2 * sensitivity * (1 - sensitivity) / passed.sum()
    ) / youden**2
    return mean, mean - Z * variance**0.5, mean + Z * variance**0.5


class _Tally:
    """Counts how often intervals cover the truth."""

    def __init__(self) -> None:
        self.hits = self.trials = self.all = 0
        self.width = 0.0

    def add(self, ends: tuple[float | None, float | None] | None, truth: float) -> None:
        """Count an interval; None is none."""
        self.all += 1
        if ends is None or ends[0] is None or ends[1] is None:
            return
        low, high = max(0.0, ends[0]), min(1.0, ends[1])
        self.trials += 1
        self.hits += low <= truth <= high
        self.width += high - low

    @property
    def share(self) -> str:
        """The coverage, without its simulation error."""
        return f"{self.hits / self.trials:.2f}"

    @property
    def cell(self) -> str:
        """The coverage and the mean width; the share without an interval if there is any."""
        if not self.trials:
            return "no interval"
        width = f"{rate(self.hits, self.trials)}; {self.width / self.trials:.2f}"
        without = 1 - self.trials / self.all
        return f"{width}; none in {without:.0%}" if without >= 0.005 else width


def _ends(found: Corrected) -> tuple[float | None, float | None]:
    return found.low, found.high


def _corrected_means(repeats: int) -> Iterator[Table]:
    powered, rogan = [], []
    for design in DESIGNS:
        for judge in JUDGES:
            head = [design, f"{judge.sensitivity:g} / {judge.specificity:g} / {judge.share:g}"]
            cells: list[tuple[str, str]] = []
            for labels in LABELS:
                generator = np.random.default_rng(1)
                tallies = [_Tally() for _ in range(4)]
                for _ in range(repeats):
                    drawn = _verdicts(generator, design, labels, judge)
                    verdicts, given, _ = drawn
                    known = np.isfinite(given)
                    old = _former_rogan_gladen(verdicts, verdicts[known], given[known])
                    intervals = (
                        _former_powered(verdicts, given),
                        _ends(prediction_powered(*drawn)),
                        old[1:] if old else None,
                        _ends(rogan_gladen(*drawn)),
                    )
                    for tally, ends in zip(tallies, intervals, strict=True):
                        tally.add(ends, judge.share)
                before, now, before_rogan, now_rogan = tallies
                cells.append(
                    (f"{before.share} → {now.cell}", f"{before_rogan.share} → {now_rogan.cell}")
                )
            powered.append([*head, *(cell for cell, _ in cells)])
            rogan.append([*head, *(cell for _, cell in cells)])
    for name, rows in (("Prediction-powered", powered), ("Rogan-Gladen", rogan)):
        title = (
            f"{name} pass rates: coverage of 95 % intervals before → now, and their mean width; "
            f"{SAMPLES} samples of one system, {DOCUMENTS} documents unless independent, "
            f"{repeats:,} repeats"
        )
        yield Table(title, ["labelled", "sensitivity / specificity / pass rate", *COUNTS], rows)


def _continuous_means(repeats: int) -> Table:
    rows = []
    for design in DESIGNS:
        for kind in ("noisy", "mostly equal", "mostly 1"):
            cells = []
            for labels in LABELS:
                generator = np.random.default_rng(2)
                former, now = _Tally(), _Tally()
                for _ in range(repeats):
                    scores, given, clusters, truth = _numbers(generator, design, labels, kind)
                    former.add(_former_powered(scores, given), truth)
                    now.add(_ends(prediction_powered(scores, given, clusters)), truth)
                cells.append(f"{former.share} → {now.cell}")
            rows.append([design, kind, *cells])
    title = f"Corrected means of scores from 0 to 1: coverage before → now, {repeats:,} repeats"
    return Table(title, ["labelled", "judge", *COUNTS], rows)


def _numbers(
    generator: np.random.Generator, design: str, labels: int, kind: str
) -> tuple[Floats, Floats, Integers, float]:
    """Draw scores, labels, clusters and the true mean of a metric that is not pass/fail.

    A judge is noisy, or equal to the label but for one answer in ten, which gets a random score.
    """
    clusters = np.arange(SAMPLES)
    if design != "independent":
        clusters = np.repeat(np.arange(DOCUMENTS), SAMPLES // DOCUMENTS)
    count = int(clusters.max()) + 1
    level = generator.beta(3.6, 2.4, count)[clusters]
    human = generator.beta(4 * level + 1e-3, 4 * (1 - level) + 1e-3)
    truth = 0.6
    if kind == "mostly 1":
        human, truth = np.where(generator.random(SAMPLES) < 0.75, 1.0, human), 0.9
    if kind == "noisy":
        shift = generator.normal(0.1, 0.1, count)[clusters]
        scores = np.clip(human + shift + generator.normal(0, 0.15, SAMPLES), 0, 1)
    else:
        random = generator.random(SAMPLES)
        scores = np.where(generator.random(SAMPLES) < 0.1, random, human)
    chosen = _choose(generator, design, labels, clusters)
    return scores, np.where(chosen, human, np.nan), clusters, truth


def _two_systems(repeats: int) -> Table:
    """Compare error rates pooled over two systems with those of each system."""
    rows = []
    cases = {
        "verdicts are the truth; the other system has the labels": (
            Judge(1, 1, 0.652),
            Judge(0.66, 0.99, 0.652),
            (0, 100),
        ),
        "lenient to this system, strict to the other": (
            Judge(0.95, 0.65, 0.6),
            Judge(0.7, 0.95, 0.6),
            (100, 100),
        ),
        "strict to this system, lenient to the other": (
            Judge(0.7, 0.95, 0.6),
            Judge(0.95, 0.65, 0.6),
            (100, 100),
        ),
    }
    for name, (own, other, labels) in cases.items():
        generator = np.random.default_rng(3)
        former, now = _Tally(), _Tally()
        biases: dict[str, list[float]] = {"former": [], "now": []}
        for _ in range(repeats):
            (verdicts, given, _), (others, elsewhere, _) = (
                _verdicts(generator, "independent", max(1, count), judge)
                for judge, count in zip((own, other), labels, strict=True)
            )
            if not labels[0]:
                given = np.full(SAMPLES, np.nan)
            judged, known = np.concatenate([verdicts, others]), np.concatenate([given, elsewhere])
            has = np.isfinite(known)
            old = _former_rogan_gladen(verdicts, judged[has], known[has])
            former.add(old[1:] if old else None, own.share)
            found = rogan_gladen(verdicts, given)
            now.add(_ends(found), own.share)
            biases["former"] += [old[0] - own.share] if old else []
            biases["now"] += [] if found.mean is None else [found.mean - own.share]
        bias = [f"{np.mean(each):+.3f}" if each else "no value" for each in biases.values()]
        covered = (rate(each.hits, each.trials) if each.trials else "-" for each in (former, now))
        rows.append([name, *(cell for pair in zip(bias, covered, strict=True) for cell in pair)])
    title = (
        f"Rogan-Gladen for two systems of {SAMPLES} samples: error rates over both systems before, "
        f"of each now, {repeats:,} repeats"
    )
    return Table(title, ["judge", "bias before", "coverage", "bias now", "coverage"], rows)


def _ratings(
    generator: np.random.Generator, size: int, cluster: int, base_rate: float, truth: float
) -> tuple[Booleans, Booleans, Integers]:
    """Draw verdicts and labels with a given kappa: the judge copies some and guesses the others."""
    count = -(-size // cluster)
    clusters = np.repeat(np.arange(count), cluster)[:size]
    level, copies, guess = (np.full(size, each) for each in (base_rate, truth, base_rate))
    if cluster > 1:
        level, copies, guess = (
            _between(generator, mean, 2, count)[clusters] for mean in (base_rate, truth, base_rate)
        )
    human = generator.random(size) < level
    copied = generator.random(size) < copies
    return np.where(copied, human, generator.random(size) < guess), human, clusters


def _is_calibrated(judge: Booleans, human: Booleans, clusters: Integers) -> bool:
    found = kappa(judge.astype(np.float64), human.astype(np.float64), clusters=clusters)
    return count_labels_needed(confusion(judge, human), found) == 0


def _chance_calibration(repeats: int) -> Table:
    rows = []
    for cluster in (1, 5):
        for labels in (2, 5, 10, 20, 50, 100):
            if labels < 2 * cluster:
                continue
            for base_rate in (0.5, 0.9):
                cells = []
                for truth in (0.0, CALIBRATED, 0.7, 0.9):
                    generator = np.random.default_rng(4)
                    former = now = 0
                    for _ in range(repeats):
                        judge, human, clusters = _ratings(
                            generator, labels, cluster, base_rate, truth
                        )
                        table = np.array(
                            [
                                [(judge & human).sum(), (judge & ~human).sum()],
                                [(~judge & human).sum(), (~judge & ~human).sum()],
                            ]
                        )
                        former += bool(kappas(table[None].astype(np.float64))[0] >= CALIBRATED)
                        now += _is_calibrated(judge, human, clusters)
                    cells += [rate(former, repeats)] if truth == 0 else []
                    cells += [rate(now, repeats)]
                rows.append([str(cluster), str(labels), f"{base_rate:g}", *cells])
    title = f"Judges that count as calibrated, by their true kappa, {repeats:,} repeats"
    heads = [
        *("labels per document", "labels", "base rate"),
        *("kappa 0 before (at most .05)", "kappa 0 now", "kappa 0.4 (at most .05)"),
        *("kappa 0.7", "kappa 0.9"),
    ]
    return Table(title, heads, rows)


def _kappa_coverage(repeats: int) -> Table:
    rows = []
    for cluster in (1, 5):
        for labels in (2, 5, 10, 20, 30, 100):
            if labels < 2 * cluster:
                continue
            for base_rate in (0.5, 0.9):
                cells = []
                for truth in (0.0, 0.4, 0.7, 0.9):
                    generator = np.random.default_rng(5)
                    hits = trials = 0
                    for _ in range(repeats):
                        judge, human, clusters = _ratings(
                            generator, labels, cluster, base_rate, truth
                        )
                        ratings = (judge.astype(np.float64), human.astype(np.float64))
                        found = kappa(*ratings, clusters=clusters)
                        trials += bool(np.isfinite(found.low))
                        hits += found.low <= truth <= found.high
                    cells.append(rate(hits, trials))
                rows.append([str(cluster), str(labels), f"{base_rate:g}", *cells])
    title = f"Intervals of kappa: coverage, {repeats:,} repeats"
    heads = ["labels per document", "labels", "base rate"]
    heads += [f"kappa {truth}" for truth in ("0", "0.4", "0.7", "0.9")]
    return Table(title, heads, rows)
