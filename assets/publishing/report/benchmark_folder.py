"""The folder of one benchmark's report: its page, its data in chunks, its charts as pictures."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import orjson
from markupsafe import Markup

from assets.charts.leaderboard import standings
from assets.charts.vega import draw, library
from assets.publishing.report import page_bundle, page_tables, templates_env
from assets.publishing.report.answers import write_answers
from assets.publishing.report.charts import confidence_curves, specs
from assets.publishing.report.charts.images import confusion, heat_map
from assets.publishing.report.heatmap import Grid, read_grid
from assets.publishing.report.page_data import gather
from assets.publishing.report.script_data import embedded, pack

if TYPE_CHECKING:
    from pathlib import Path

    from assets.charts.leaderboard import Spec
    from assets.publishing.report.page_data import Facts
    from warehouse.publish.snapshot import OpenSnapshot

PARTS = (
    *(("overview", "At a glance"), ("leaderboard", "Leaderboard"), ("boolean", "Passes")),
    *(("classes", "Classification"), ("curves", "Φ and Δ"), ("noise", "Noise")),
    *(("heat", "Questions"), ("compare", "Comparison"), ("problems", "Problems")),
    *(("spending", "Cost and time"), ("provenance", "Provenance")),
)


def write_folder(copy: OpenSnapshot, benchmark: str, digest: str, folder: Path) -> None:
    """Write everything about one benchmark into an empty folder.

    Args:
        copy: The published copy.
        benchmark: The benchmark.
        digest: What `facts.digest` says about it.
        folder: The folder.
    """
    for name in ("data", "charts"):
        (folder / name).mkdir(parents=True)
    facts = gather(copy, benchmark, digest)
    write_answers(copy, facts, folder / "data")
    drawn = write_grids(copy, facts, folder)
    for at, slice_ in enumerate(page_bundle.slices(facts)):
        if at:
            rows = orjson.dumps(page_bundle.board(facts, slice_))
            pack(folder / "data" / f"slice-{at}.js", f"slice-{at}", rows)
    charts = interactive(facts)
    for name, spec in (charts | {"confusion": confusion(facts)}).items():
        if spec is not None:
            draw(spec, folder / "charts", name)
    page = write_page(facts, charts, library(), drawn_hardest=drawn)
    (folder / "index.html").write_text(page, encoding="utf-8")


def interactive(facts: Facts) -> dict[str, Spec | None]:
    """The charts that stand in the page; null where there is nothing to draw."""
    return {
        "leaderboard": standings(facts.board),
        "failures": specs.failures(facts),
        "phi": confidence_curves.curve(facts, "phi"),
        "delta": confidence_curves.curve(facts, "delta"),
        "noise": specs.noise(facts),
        "mean_cost": specs.spending(facts, "mean_cost"),
        "median_latency": specs.spending(facts, "median_latency"),
    }


def write_grids(copy: OpenSnapshot, facts: Facts, folder: Path) -> bool:
    """Write the numbers of every evaluator, and draw the hardest questions by the first metric.

    Returns:
        Whether there was anything to draw.
    """
    wanted = next(iter(_sample_primaries(facts)), None)
    drawn = False
    for row in facts.evaluators.iter_rows(named=True):
        name = row["evaluator"]
        grid = read_grid(copy, facts, name, row["signature"], row["metrics"])
        pack(folder / "data" / f"grid-{name}.js", f"grid-{name}", grid.content())
        if wanted is not None and wanted[0] == name:
            drawn = _draw_hardest(facts, grid, wanted[1], folder, low_is_best=wanted[2])
    return drawn


def write_page(
    facts: Facts, charts: dict[str, Spec | None], charting: str, *, drawn_hardest: bool
) -> str:
    """The page itself.

    Args:
        facts: About the benchmark.
        charts: Their Vega-Lite specifications by name.
        charting: The scripts that draw them.
        drawn_hardest: Whether there is a picture of the hardest questions.
    """
    class_heads, class_rows = page_tables.class_rows(facts)
    noise_ratios, noise_rows = page_tables.noise(facts)
    chance = confidence_curves.guide(facts, "phi")
    lost = facts.whole.filter(facts.whole["is_primary"] == 1)
    values: dict[str, Any] = {
        "name": facts.benchmark,
        "digest": facts.digest,
        "version": version("scoreline"),
        "published_at": templates_env.moment(facts.board["published_at"].max()),  # type: ignore[arg-type]
        "systems": facts.systems,
        "totals": facts.totals,
        "lost": int((lost["n_parse_failure"] + lost["n_judge_error"]).sum()),
        "standings": page_tables.standings(facts),
        "insights": facts.insights.to_dicts(),
        "boolean": page_tables.boolean(facts),
        "boolean_heads": [each.replace("_", " ") for each in page_tables.OUTCOMES],
        "classes": page_tables.classes(facts),
        "class_heads": class_heads,
        "class_rows": class_rows,
        "chance": None if chance is None else f"{chance:.3g}",
        "accuracies": page_tables.accuracies(facts),
        "noise_ratios": noise_ratios,
        "noise_rows": noise_rows,
        "noise_caption": page_tables.noise_caption(facts),
        "shown_note": page_tables.shown_note(facts),
        "drawn_hardest": drawn_hardest,
        "problems": facts.problems.to_dicts(),
        "spending": facts.spending.to_dicts(),
        "evaluators": page_tables.evaluators(facts),
        "judging": page_tables.judging(facts),
        "marks": facts.marks.to_dicts(),
        "rejects": facts.rejects.to_dicts(),
        "facts": Markup(embedded(page_bundle.contents(facts))),  # noqa: S704 - escaped for a script
        "charts": {
            name: None if spec is None else Markup(embedded(spec))  # noqa: S704
            for name, spec in charts.items()
        },
    }
    values["parts"] = [part for part in PARTS if _present(part[0], values)]
    scripts = [charting, templates_env.script(templates_env.SCRIPTS)]
    return templates_env.render("benchmark.html.j2", scripts, **values)


def _present(part: str, values: dict[str, Any]) -> bool:
    found = {
        "boolean": values["boolean"],
        "classes": values["classes"],
        "curves": values["charts"]["phi"] or values["charts"]["delta"],
        "noise": values["charts"]["noise"],
        "compare": len(values["systems"]) > 1,
        "problems": values["problems"],
        "spending": values["spending"],
    }
    return bool(found.get(part, True))


def _sample_primaries(facts: Facts) -> list[tuple[str, str, bool]]:
    found = {(each["e"], each["m"]): each for each in page_bundle.metrics(facts)}
    return [
        (*name, found[name]["best"] == "low")
        for name in facts.primaries
        if found[name]["level"] == "sample"
    ]


def _draw_hardest(
    facts: Facts,
    grid: Grid,
    metric: str,
    folder: Path,
    *,
    low_is_best: bool,
) -> bool:
    spec = heat_map(facts, grid, metric, low_is_best=low_is_best)
    if spec is not None:
        draw(spec, folder / "charts", "hardest")
    return spec is not None
