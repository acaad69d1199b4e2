"""The script that draws charts in reports is the one of the installed vl-convert."""

from __future__ import annotations

from assets.charts.vega import bundle_name, vega_bundle
from docs.generators.vega import LICENCE, bundle


def test_the_script_is_up_to_date() -> None:
    assert vega_bundle() == bundle(), "run `python -m docs.generators.vega`"


def test_the_script_names_its_licence_and_exports_one_name() -> None:
    assert vega_bundle().startswith(LICENCE)
    assert (
        vega_bundle().rstrip().endswith("window.vegaEmbed=$;")
        or "window.vegaEmbed" in vega_bundle()
    )


def test_a_report_links_it_by_its_content() -> None:
    assert bundle_name().startswith("vega-")
    assert bundle_name().endswith(".js")
