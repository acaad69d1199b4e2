"""Generate the page of simulations from the tables that `benchmarks.coverage` stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from benchmarks.simulations.result import RESULTS, read_tables

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.simulations.result import Table

_HEAD = """\
# Simulations

How often the statistics of [trust](trust.md) are right, in simulated benchmarks whose truth is
known.

`python -m benchmarks.coverage [PART]... [--repeats N] --write` runs the simulations and stores
their tables, from which `make docs` generates this page. `PART` is the name below each heading.
Titles say how often each row was simulated. A number after ± is the simulation error (one
standard error). All random numbers have fixed seeds.

Columns called "before" show the method that an earlier version used.
"""


class Section(NamedTuple):
    """A part of the page.

    Attributes:
        part: The simulation.
        heading: The heading.
        notes: What the tables show, in Markdown.
    """

    part: str
    heading: str
    notes: str


SECTIONS = (
    Section(
        "intervals",
        "Intervals of means",
        """\
[Intervals](trust.md#confidence-intervals) should hold the true mean in 95 % of the benchmarks.
Percentiles of the bootstrap do not reach beyond the scores that were seen, and are too short
for few or skewed scores; the correction for skewness is wider there and costs little elsewhere.
Widths are in the order of the three methods.

Scores near 0 and near 1 (a judge that is nearly always sure) are the worst case: a few of them
may all be on one side. The coverage of pass rates is exact (binomial distribution), beside that
of Clopper and Pearson's `exact` interval, which covers at least 95 % and is wider.
[Clusters](trust.md#clusters) used CR1 errors before, and a bootstrap that did not correct for
unequal clusters.""",
    ),
    Section(
        "slices",
        "Slices",
        """\
A [slice](trust.md#slices) should reverse the order of two equal systems in at most 5 % of the
benchmarks. The last table compares observed means of slices with `shrunken_mean`.""",
    ),
    Section(
        "ranks",
        "Ranks",
        """\
[Rank sets](trust.md#ranks) should hold the true ranks of all systems at once in at least 95 %
of the benchmarks. Before, each of the ten systems had an interval from a bootstrap of its own.
In the second table one of three equal systems loses 0.495 on 1 % of the questions; rank sets
from sign flips held the ranks in 40 %.""",
    ),
    Section(
        "comparisons",
        "Comparisons",
        """\
[Comparisons](trust.md#comparisons) of equal systems should have a verdict in at most 5 % of the
cases. Sign flips, used before, and Student's t assume symmetric differences. The catastrophes
are on a scale from 0 to 1.

Intervals of differences are wider than 95 % needs with few questions, because an unseen
question counts. Before, there was no interval if all differences were equal. "Detectable by t"
is what Student's t would detect, which holds for symmetric differences only.""",
    ),
    Section(
        "gates",
        "Gates",
        """\
[Gates](trust.md#gates) with a tolerance, by the number of clusters or questions. "Before" is a
gate with an interval of Student's t.""",
    ),
    Section(
        "sequential_gates",
        "Gates of many runs",
        """\
[Sequential gates](gates.md#gates-of-many-runs), evaluated every night. The last column of the
first table is a gate without `sequential`, with Student's t, that is evaluated as often.""",
    ),
    Section(
        "pages",
        "Statements of the report",
        """\
[All statements of a page](trust.md#statements-of-the-report) share 5 %. "Before" and "each
alone" test each statement at 5 %.""",
    ),
    Section(
        "labels",
        "How labels are drawn",
        """\
A judge errs on a quarter of the answers more often than on others, and knows of nine in ten of
these that they are difficult. Labels are [drawn](trust.md#how-labels-are-drawn) at random, by
the judge's verdict with known probabilities, "half uncertain" (half random, half the most
uncertain ones), or by `annotate`. "Before" has no weights, counts a sample as passed if half of
its annotators pass it, and computes kappa from all labels.""",
    ),
    Section(
        "human_labels",
        "Corrected means and calibrated judges",
        """\
Documents differ in difficulty and in how lenient the judge is to them. The method before used
z, ignored documents, and gave no interval where the labels did not vary. Coverage is the share
of the intervals that were given.""",
    ),
    Section(
        "calibration_error",
        "Calibration errors",
        """\
Simulated systems state confidences between 0.5 and 1. The [chance
level](trust.md#calibration-errors) is known to about 0.002 with 100 samples, and has the same
draws in all systems. The last table compares two calibrated systems.""",
    ),
    Section(
        "answer_variance",
        "Variance of answers",
        """\
Answers that are equally good, and answers that differ, are [judged several
times](trust.md#several-answers-to-a-question). Before, a mean's share of the judge's variance
was subtracted, although scores were medians.""",
    ),
)


def markdown(folder: Path = RESULTS) -> str:
    """Return the page, from the stored tables."""
    parts = [_HEAD]
    for section in SECTIONS:
        heading = f"## {section.heading}\n\n`{section.part}`\n\n{section.notes}\n"
        parts += [heading, *(_written(each) for each in read_tables(section.part, folder))]
    return "\n".join(parts)


def _written(table: Table) -> str:
    rule = ["---"] * len(table.heads)
    lines = ["| " + " | ".join(row) + " |" for row in (table.heads, rule, *table.rows)]
    return f"**{table.title}**\n\n" + "\n".join(lines) + "\n"
