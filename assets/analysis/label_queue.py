"""Which samples people label next: of each system in turn, at random and by uncertainty in turn."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from assets.project import threshold_of
from evaluators.kinds.pass_fail import PassFailEvaluator
from evaluators.statistics.intervals import is_pass_fail
from warehouse.ingest.labels import CERTAIN, RANDOM, UNCERTAIN, Draw

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import polars as pl

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric

Order = Literal["mixed", "random"]

_MAX_CHOICES = 10
_UNCERTAIN_SHARE = 0.25
"""At most so many of a system's samples are uncertain ones, the most uncertain first."""

_QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


class SampleId(NamedTuple):
    """A system's answer to a question."""

    system: str
    question_id: str


class Chosen(NamedTuple):
    """A sample to label.

    Attributes:
        sample: The sample.
        selection: Whether it was chosen at random, or from the uncertain samples.
    """

    sample: SampleId
    selection: str


@dataclass(frozen=True, slots=True)
class LabelQueue:
    """The samples of one metric in the order in which they may be labelled.

    A judge is most likely wrong where its verdict is uncertain. The queue takes the system with the
    fewest labels of the annotator, and there the next sample of all and the next one of the
    uncertain samples in turn. Both have the same random order. So the labelled samples are a random
    choice of the uncertain ones and a random choice of the others (two strata), whatever the number
    of labels and of annotators.

    Attributes:
        at_random: The samples of each system in a random order.
        uncertain: The samples of each system whose verdict is uncertain, in the same order.
        values: The scores, by sample; without those that have none.
    """

    at_random: Mapping[str, Sequence[SampleId]]
    uncertain: Mapping[str, Sequence[SampleId]]
    values: Mapping[SampleId, float]

    def draw(self, chosen: Chosen) -> Draw:
        """Return how a sample is drawn."""
        system = chosen.sample.system
        size = len(self.uncertain.get(system, ()))
        if chosen.sample in self.uncertain.get(system, ()):
            return Draw(chosen.selection, UNCERTAIN, size)
        return Draw(chosen.selection, CERTAIN, len(self.at_random[system]) - size)

    @property
    def samples(self) -> set[SampleId]:
        """All samples."""
        return {sample for samples in self.at_random.values() for sample in samples}

    def next(
        self, labelled: Collection[SampleId], skipped: Collection[SampleId], order: Order
    ) -> Chosen | None:
        """Return the next sample for an annotator; None if none is left.

        Args:
            labelled: What the annotator has labelled.
            skipped: What the annotator does not want to label.
            order: `random` leaves out the choice of uncertain samples.
        """
        counts = dict.fromkeys(self.at_random, 0)
        for sample in labelled:
            if sample.system in counts:
                counts[sample.system] += 1
        done = {*labelled, *skipped}
        for system in sorted(counts, key=lambda name: counts[name]):
            if order == "mixed" and counts[system] % 2:
                for sample in self.uncertain.get(system, ()):
                    if sample not in done:
                        return Chosen(sample, UNCERTAIN)
            for sample in self.at_random[system]:
                if sample not in done:
                    return Chosen(sample, RANDOM)
        return None


def make_queue(
    rows: pl.DataFrame,
    benchmark: Benchmark,
    evaluator: Evaluator,
    metric: Metric,
    *,
    with_unscored: bool,
) -> LabelQueue:
    """Return the queue of a metric.

    Args:
        rows: The result of `samples_to_label`.
        benchmark: The benchmark.
        evaluator: The evaluator.
        metric: The metric.
        with_unscored: Whether samples without a score are labelled, because people are the judge.
    """
    threshold = threshold_of(benchmark, evaluator, metric)
    at_random: dict[str, list[SampleId]] = defaultdict(list)
    found: dict[str, list[tuple[float, SampleId]]] = defaultdict(list)
    values = {}
    for system, question, value, replicates, members in rows.iter_rows():
        sample = SampleId(system, question)
        if value is not None:
            values[sample] = float(value)
            verdicts = list(_single_verdicts(replicates, members, metric))
            how_much = uncertainty(value, verdicts, metric, threshold)
            if how_much > 0:
                found[system].append((how_much, sample))
        elif not with_unscored:
            continue
        at_random[system].append(sample)
    uncertain = {}
    for system, rated in found.items():
        # A stable sort takes equally uncertain samples in their random order.
        most = sorted(rated, key=lambda each: -each[0])
        chosen = {
            sample for _, sample in most[: math.ceil(_UNCERTAIN_SHARE * len(at_random[system]))]
        }
        uncertain[system] = [sample for sample in at_random[system] if sample in chosen]
    return LabelQueue(at_random, uncertain, values)


def uncertainty(
    value: float, verdicts: Sequence[float], metric: Metric, threshold: float | None
) -> float:
    """Return how uncertain a verdict is, from 0 (not at all) to 1.

    The larger of two: how much repeated judgments, or the members of a panel, differ (their range
    as a share of the metric's), and how close the value is to the threshold, by default the middle
    of the scale, as a share of the largest distance on its side. A metric without bounds only has
    the first, relative to the range of the values themselves: 1 if they differ at all.
    """
    low, high = metric.bounds
    spread = max(verdicts) - min(verdicts) if len(verdicts) > 1 else 0.0
    if not math.isfinite(high - low):
        return float(spread > 0)
    limit = (low + high) / 2 if threshold is None else min(max(threshold, low), high)
    side = high - limit if value >= limit else limit - low
    closeness = 1 - abs(value - limit) / side if side > 0 else 1.0
    return max(spread / (high - low), closeness)


def _single_verdicts(
    replicates: str | None, members: str | None, metric: Metric
) -> Iterator[float]:
    """Yield the values behind a score; replicates are those of the primary metric."""
    given = []
    if replicates is not None and metric.primary:
        given += json.loads(replicates)
    if members is not None:
        given += [each.get(metric.name) for each in json.loads(members).values()]
    yield from (float(each) for each in given if isinstance(each, int | float))


def label_choices(evaluator: Evaluator, metric: Metric, values: Collection[float]) -> list[float]:
    """Return the values that people choose from: few, on the scale of the metric.

    Passes and failures have two, a scale of whole numbers all of them, a share its quarters. For
    other scales the list is empty, and people write a number.
    """
    low, high = metric.bounds
    if (low, high) == (0.0, 1.0):
        scores = np.fromiter(values, dtype=np.float64)
        is_binary = isinstance(evaluator, PassFailEvaluator) or is_pass_fail(scores)
        return [0.0, 1.0] if is_binary else list(_QUARTERS)
    if low.is_integer() and high.is_integer() and high - low < _MAX_CHOICES:
        return [float(value) for value in range(int(low), int(high) + 1)]
    return []
