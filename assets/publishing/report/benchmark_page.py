"""Write the folder of one benchmark: its page and the data files beside it."""

from __future__ import annotations

import json
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from assets.charts.vega import bundle_name, vega_bundle
from assets.publishing.report.answer_files import answer_files, questions_per_file
from assets.publishing.report.data_files import json_for_script, write_data_file
from assets.publishing.report.formatting import format_time
from assets.publishing.report.index_page import change_card
from assets.publishing.report.panel import load_panels
from assets.publishing.report.templates_env import page_files, render, render_page
from assets.publishing.report.verdicts import describe_verdicts, summarise_changes
from warehouse.queries.report import STATUSES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from markupsafe import Markup

    from assets.publishing.report.panel import BenchmarkData, Content, Panel


CARD_FILE = "card.json"
"""What panels found for the first page, which is written more often than the folder."""


def write_folder(data: BenchmarkData, folder: Path) -> None:
    """Write everything about one benchmark into a new folder."""
    shown = build_panels(data)
    (folder / "data").mkdir(parents=True)
    data_files = chain(answer_files(data), *(content.files for _, content in shown))
    for name, file_content in data_files:
        write_data_file(folder / "data", name, file_content)
    card = _card(shown)
    if card:
        (folder / CARD_FILE).write_text(json.dumps(card), encoding="utf-8")
    (folder / "index.html").write_text(benchmark_page(data, shown), encoding="utf-8")


def _card(shown: Sequence[tuple[Panel, Content]]) -> dict[str, Any]:
    return {name: value for _, content in shown for name, value in content.card.items()}


def shared_files() -> dict[str, Callable[[], str]]:
    """Return the files that all pages of benchmarks load, as functions that make their text."""
    own = page_files(tuple(panel.name for panel in load_panels()))
    texts: dict[str, Callable[[], str]] = {name: partial(own.__getitem__, name) for name in own}
    return {bundle_name(): vega_bundle, **texts}


def build_panels(data: BenchmarkData) -> list[tuple[Panel, Content]]:
    """Return the panels that have content, with that content, in their order in the page."""
    built = [
        (panel, panel.build(data, **{name: data.fetch(sql) for name, sql in panel.queries.items()}))
        for panel in load_panels()
    ]
    return [(panel, content) for panel, content in built if content is not None]


def benchmark_page(data: BenchmarkData, shown: Sequence[tuple[Panel, Content]]) -> str:
    """Return the page of a benchmark, given its panels with their contents."""
    page_data = {
        "benchmark": data.benchmark,
        "systems": data.systems,
        "order": data.ranked_systems,
        "metrics": data.metrics,
        "evaluators": [
            {"name": name, "metrics": row["metrics"]} for name, row in data.evaluators.items()
        ],
        "n_shown": data.questions.height,
        "per_file": questions_per_file(data),
        "statuses": STATUSES,
    }
    charts: dict[str, Markup] = {}
    for _, content in shown:
        page_data |= content.page_data
        charts |= {
            name: json_for_script(spec)
            for name, spec in chain(content.charts.items(), content.images.items())
            if spec is not None
        }
    panels = [
        {
            "name": panel.name,
            "title": panel.title,
            "html": render(
                f"panels/{panel.name}.html.j2",
                charts=content.charts,
                **content.values,
            ),
        }
        for panel, content in shown
    ]
    (style_file,) = (name for name in shared_files() if name.endswith(".css"))
    return render_page(
        "benchmark.html.j2",
        style_file=f"../{style_file}",
        script_files=[f"../{name}" for name in shared_files() if name.endswith(".js")],
        name=data.benchmark,
        n_questions=data.totals["questions"],
        n_systems=len(data.systems),
        published_at=format_time(data.published_at),
        verdicts=describe_verdicts(data),
        changes=summarise_changes([change_card(data, **_card(shown))]),
        panels=panels,
        page_data=json_for_script(page_data),
        charts=charts,
    )
