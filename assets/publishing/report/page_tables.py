"""The tables of a benchmark's page, from facts to what its template shows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from assets.publishing.report import templates_env
from assets.publishing.report.charts.images import NONE, matrices
from assets.publishing.report.templates_env import count, moment, percent, plural, short

if TYPE_CHECKING:
    from assets.publishing.report.page_data import Facts

Row = dict[str, Any]

OUTCOMES = (
    *("passes", "failures", "retrieval_failures", "generation_failures"),
    "parse_failures",
)

MOST_SENTENCES = 8


def isolated(name: str) -> str:
    """A name from outside that cannot turn the direction of the sentence around it."""
    return f"\u2068{name}\u2069"


def standings(facts: Facts) -> list[str]:
    """A sentence for each primary metric: who is best, by how much, and how surely."""
    return [_standing(facts, *metric) for metric in facts.primaries[:MOST_SENTENCES]]


def _standing(facts: Facts, evaluator: str, metric: str) -> str:
    rows = (
        facts.whole.filter(pl.col("evaluator") == evaluator, pl.col("metric") == metric)
        .drop_nulls("mean")
        .sort("rank", "system")
        .to_dicts()
    )
    first = rows[0]
    ends = "" if first["ci_low"] is None else f", {first['ci_low']:.3f} to {first['ci_high']:.3f}"
    value = f"{first['mean']:.3f}{ends}"
    named = f"{evaluator}.{metric}"
    leaders = [isolated(row["system"]) for row in rows if row["rank"] == first["rank"]]
    tied = [
        isolated(row["system"])
        for row in rows
        if row["tied_with_best"] == 1 and row["rank"] != first["rank"]
    ]
    if len(rows) == 1:
        return f"{named}: {leaders[0]} has {value}."
    if len(leaders) > 1:
        lead = f"{named}: {listed(leaders)} share the first place ({value})"
    else:
        lead = f"{named}: {leaders[0]} comes first ({value})"
    if tied:
        return f"{lead}, but {listed(tied)} cannot be told apart from the best."
    if any(row["tied_with_best"] is None for row in rows):
        return f"{lead}."
    return f"{lead}, distinguishable from all others." if len(leaders) == 1 else f"{lead}."


def listed(names: list[str], most: int = 4) -> str:
    """Some names in one line, the first few of them by name."""
    rest = len(names) - most
    shown = names if rest <= 0 else [*names[:most], f"{rest:,} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def boolean(facts: Facts) -> list[tuple[str, list[Row]]]:
    """By evaluator that lets answers pass or fail: each system's shares."""
    rows = facts.whole.filter(pl.col("metric").is_in(OUTCOMES))
    names = rows.filter(pl.col("metric") == "passes", pl.col("mean").is_not_null())["evaluator"]
    found = []
    for evaluator in names.unique().sort().to_list():
        cells = {
            (row["system"], row["metric"]): row
            for row in rows.filter(pl.col("evaluator") == evaluator).iter_rows(named=True)
        }
        lines = [
            {
                "system": system,
                "shares": [
                    percent(cells[system, outcome]["mean"])
                    if (system, outcome) in cells
                    else templates_env.NONE
                    for outcome in OUTCOMES
                ],
                "scored": f"{cells[system, 'passes']['n_scored']:,} of "
                f"{cells[system, 'passes']['n']:,}",
            }
            for system in facts.order
            if (system, "passes") in cells
        ]
        found.append((evaluator, lines))
    return found


def classes(facts: Facts) -> list[Row]:
    """The confusion matrix of each system: rows of counts, each with its kind and share."""
    found = []
    for system, matrix in matrices(facts).items():
        labels = [*matrix["labels"], *(each or NONE for each in matrix["unexpected"])]
        rows = [
            (
                label,
                [
                    (n, _kind(at, place, n), short(n / max(1, sum(line)), 2))
                    for place, n in enumerate(line)
                ],
            )
            for at, (label, line) in enumerate(zip(labels, matrix["confusion_matrix"], strict=True))
        ]
        found.append({"system": system, "labels": labels, "rows": rows})
    return found


def _kind(row: int, column: int, n: int) -> str:
    if n == 0:
        return "zero"
    return "hit" if row == column else ""


def class_rows(facts: Facts) -> tuple[list[str], list[Row]]:
    """The classification leaderboard: the names of its metrics, and a row for each system."""
    rows = facts.whole.filter(pl.col("evaluator") == "classification")
    metrics = rows.sort("is_primary", descending=True)["metric"].unique(maintain_order=True)
    cells = {(row["system"], row["metric"]): row["mean"] for row in rows.iter_rows(named=True)}
    lines = [
        {"system": system, "cells": [short(cells.get((system, metric))) for metric in metrics]}
        for system in facts.order
    ]
    return [metric.replace("_", " ") for metric in metrics], lines


def noise(facts: Facts) -> tuple[list[str], list[Row]]:
    """Accuracy by noise level: the levels, and a row for each system."""
    levels = facts.noise["noise_ratio"].unique().sort().to_list()
    cells = {
        (row["system"], row["noise_ratio"]): row["mean"]
        for row in facts.noise.iter_rows(named=True)
    }
    lines = [
        {"system": system, "cells": [percent(cells.get((system, level))) for level in levels]}
        for system in facts.order
    ]
    return [f"{level:g}" for level in levels], lines


def noise_caption(facts: Facts) -> str:
    """What the chart of accuracy by noise shows, and how it gets intervals where it has none."""
    what = "Accuracy by the share of irrelevant passages"
    sliced = facts.board["slice"].str.starts_with("noise_ratio=").any()
    return (
        f"{what}, with 95 % intervals."
        if sliced
        else f"{what}; slices: [noise_ratio] in the configuration adds intervals."
    )


def accuracies(facts: Facts) -> str:
    """What the curves of delta say at 0, for the first few systems: their accuracy."""
    found = []
    for system in facts.order[:4]:
        own = facts.curves.filter(pl.col("metric") == "delta", pl.col("system") == system)
        if own.is_empty():
            continue
        points = [(-2.0, 1.0), *own.select("threshold", "share_above").iter_rows(), (2.0, 0.0)]
        share = next(low[1] for low, high in pairwise(points) if low[0] <= 0 < high[0])
        found.append(f"{isolated(system)} {percent(share)}")
    return listed(found) if found else ""


def evaluators(facts: Facts) -> list[Row]:
    """How each evaluator was configured and when it scored."""
    rows = facts.evaluators.to_dicts()
    judged = {row["evaluator"] for row in rows if "|judge:" in row["signature"]}
    return [_evaluator(row, judged) for row in rows]


def _evaluator(row: Row, judged: set[str]) -> Row:
    parts = [part.partition(":") for part in row["signature"].split("|")]
    judges = [value for key, _, value in parts if key == "judge"]
    through = [key for key, _, _ in parts[1:] if key in judged]
    runs = [run[:8] for run in row["run_ids"] or [] if run]
    first, last = moment(row["first_at"]), moment(row["last_at"])
    return {
        "name": row["evaluator"],
        "signature": row["signature"],
        "judge": ", ".join(judges) or (f"that of {listed(through)}" if through else "none needed"),
        "prompts": ", ".join(value for key, _, value in parts if key == "prompt") or "none",
        "scored": last if first == last else f"{first} to {last}",
        "runs": listed(runs, 3) if runs else templates_env.NONE,
    }


def judging(facts: Facts) -> list[Row]:
    """The calls of judge models, by evaluator and model."""
    return [
        {
            **row,
            "parameters": row["parameters"] or "{}",
            "tokens": None
            if row["tokens_in"] is None
            else int(row["tokens_in"]) + int(row["tokens_out"] or 0),
            "when": moment(row["last_at"]),
        }
        for row in facts.judging.iter_rows(named=True)
    ]


def shown_note(facts: Facts) -> str:
    """Which questions are shown one by one."""
    shown = facts.questions.height
    if shown == facts.n_questions:
        return f"All {plural(shown, 'question')}."
    return (
        f"{count(shown)} of {count(facts.n_questions)} questions: those that systems did worst on. "
        "All of them are in the table scores."
    )
