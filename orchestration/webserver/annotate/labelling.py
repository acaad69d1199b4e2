"""The labelling of one metric: whose turn is which sample, and what was said about it."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from assets.analysis.agreement import measure_annotators
from assets.analysis.label_queue import SampleId, label_choices, make_queue
from assets.project import threshold_of
from evaluators import catalog
from orchestration.errors import OrchestrationError
from warehouse.ingest.labels import DRAWN, UNCERTAIN, Draw, LabelledMetric
from warehouse.queries.human_labels import samples_to_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from assets.analysis.label_queue import LabelQueue, Order
    from assets.project import Benchmark, Project
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric

PATIENCE_S = 10.0
"""How long a label waits for other processes that write the warehouse."""


class InvalidLabel(OrchestrationError):  # noqa: N818
    """A label, or what it is about, is not valid."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A label that can be taken back.

    Attributes:
        sample: The sample.
        value: The annotator's label before it; None if there was none.
        draw: How the sample had been drawn then.
    """

    sample: SampleId
    value: float | None
    draw: Draw


@dataclass(frozen=True)
class Labelling:
    """The labelling of one metric by several people.

    Samples have numbers in an order of their own, so that a number tells nothing about the system.

    Attributes:
        benchmark: The benchmark.
        evaluator: The evaluator.
        metric: The metric.
        queue: The samples.
        stored: Its labels in the warehouse.
        order: How samples are chosen.
        numbered: The samples by number.
        choices: The values from which people choose.
    """

    benchmark: Benchmark
    evaluator: Evaluator
    metric: Metric
    queue: LabelQueue
    stored: LabelledMetric
    order: Order
    numbered: tuple[SampleId, ...]
    choices: Sequence[float]
    _numbers: Mapping[SampleId, int]
    _labels: list[pl.DataFrame]
    _skipped: dict[str, set[SampleId]] = field(default_factory=dict)
    _saved: dict[str, list[Saved]] = field(default_factory=dict)
    _writing: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        """The full name of the metric."""
        return f"{self.evaluator.name}.{self.metric.name}"

    @property
    def labels(self) -> pl.DataFrame:
        """All labels as they were after the last label that was saved here."""
        return self._labels[-1]

    def describe(self) -> dict[str, Any]:
        """Describe the metric and the values from which people choose."""
        low, high = self.metric.bounds
        return {
            "benchmark": self.benchmark.name,
            "metric": self.name,
            "question": catalog.describe(self.evaluator).question,
            # What the judge is asked, where users write it themselves: people answer the same.
            "criterion": getattr(self.evaluator, "prompt_template", None),
            "summary": self.metric.summary,
            "best": self.metric.best,
            "bounds": [_finite(low), _finite(high)],
            "threshold": threshold_of(self.benchmark, self.evaluator, self.metric),
            "choices": self.choices,
        }

    def next(self, annotator: str) -> SampleId | None:
        """Return the next sample for an annotator; None if none is left."""
        skipped = self._skipped.get(annotator, set())
        chosen = self.queue.next(self._labelled_by(annotator), skipped, self.order)
        return None if chosen is None else chosen.sample

    def number_of(self, sample: SampleId) -> int:
        """Return the number of a sample."""
        return self._numbers[sample]

    def progress(self, annotator: str) -> dict[str, Any]:
        """Return how many samples are labelled, and how far annotators agree."""
        return {
            "samples": len(self.numbered),
            "labelled": self.labels.select("system", "question_id").n_unique(),
            "own": len(self._labelled_by(annotator)),
            "skipped": len(self._skipped.get(annotator, ())),
            "can_undo": bool(self._saved.get(annotator)),
            **measure_annotators(self.labels),
        }

    def save(self, annotator: str, number: int, value: float) -> None:
        """Save a label in one transaction.

        Raises:
            InvalidLabel: There is no such sample, or the value is out of bounds.
            WarehouseError: The label cannot be saved, for example because a run holds the warehouse
                for too long.
        """
        sample = self.sample(number)
        low, high = self.metric.bounds
        if not low <= value <= high:
            raise InvalidLabel(f"{value:g} is outside the metric's bounds, {low:g} to {high:g}")
        with self._writing:
            before = self._label_of(sample, annotator)
            skipped = self._skipped.get(annotator, set())
            chosen = self.queue.next(self._labelled_by(annotator), skipped - {sample}, self.order)
            draw = before.draw
            if chosen is not None and chosen.sample == sample:
                draw = self.queue.draw(chosen)
            elif before.value is None:
                draw = Draw(UNCERTAIN)  # another tab of the same person, say
            self._labels[:] = [self.stored.save(sample, annotator, value, draw)]
            self._saved.setdefault(annotator, []).append(before)
            skipped.discard(sample)

    def skip(self, annotator: str, number: int) -> None:
        """Leave out a sample for an annotator, until the server ends."""
        self._skipped.setdefault(annotator, set()).add(self.sample(number))

    def undo(self, annotator: str) -> SampleId | None:
        """Take back the annotator's last label, and return its sample; None if there is none."""
        with self._writing:
            saved = self._saved.get(annotator)
            if not saved:
                return None
            last = saved[-1]
            if last.value is None:
                found = self.stored.remove(last.sample, annotator)
            else:
                found = self.stored.save(last.sample, annotator, last.value, last.draw)
            self._labels[:] = [found]
            saved.pop()
            return last.sample

    def sample(self, number: int) -> SampleId:
        """Return a sample by its number.

        Raises:
            InvalidLabel: There is none.
        """
        if not 0 <= number < len(self.numbered):
            raise InvalidLabel(f"there is no sample {number}")
        return self.numbered[number]

    def _labelled_by(self, annotator: str) -> set[SampleId]:
        own = self.labels.filter(annotator=annotator).select("system", "question_id")
        return {SampleId(*row) for row in own.iter_rows()} & self._numbers.keys()

    def _label_of(self, sample: SampleId, annotator: str) -> Saved:
        found = self.labels.filter(
            annotator=annotator, system=sample.system, question_id=sample.question_id
        )
        for value, *drawn in found.select("value", *DRAWN).iter_rows():
            draw = Draw(*drawn)
            # That of a stratum follows from all of its labels.
            kept = draw if draw.stratum is None else replace(draw, probability=None)
            return Saved(sample, value, kept)
        return Saved(sample, None, Draw(None))


def open_labelling(
    project: Project, benchmark: Benchmark, evaluator: Evaluator, metric: Metric, order: Order
) -> Labelling:
    """Return the labelling of a metric, with its published samples and its labels so far.

    Raises:
        WarehouseError: The published copy or the warehouse cannot be read.
    """
    is_judge = project.engines.uses_human_labels
    rows = project.open_copy().fetch(*samples_to_label(benchmark.name, evaluator.name, metric.name))
    queue = make_queue(rows, benchmark, evaluator, metric, with_unscored=is_judge)
    stored = LabelledMetric(
        project.open_warehouse(PATIENCE_S), benchmark.name, evaluator.name, metric.name, is_judge
    )
    numbered = sorted(queue.samples)
    random.SystemRandom().shuffle(numbered)
    return Labelling(
        benchmark=benchmark,
        evaluator=evaluator,
        metric=metric,
        queue=queue,
        stored=stored,
        order=order,
        numbered=tuple(numbered),
        choices=label_choices(evaluator, metric, queue.values.values()),
        _numbers={sample: number for number, sample in enumerate(numbered)},
        _labels=[stored.fetch()],
    )


def _finite(value: float) -> float | None:
    return value if abs(value) != float("inf") else None
