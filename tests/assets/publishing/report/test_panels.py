"""Panels are found by their modules and describe themselves completely."""

from __future__ import annotations

from importlib.resources import files

from assets.publishing.report import panels
from assets.publishing.report.panel import load_panels


def test_every_module_declares_a_panel_with_its_own_name_place_and_template() -> None:
    found = load_panels()
    folder = files(panels)
    modules = [path for path in folder.iterdir() if path.name.endswith(".py")]
    assert len(found) == len(modules) - 1  # without __init__.py
    for values in (
        [panel.name for panel in found],
        [panel.position for panel in found],
        [panel.template for panel in found],
    ):
        assert len(set(values)) == len(found)
    templates = files("assets.publishing.report") / "templates" / "panels"
    assert {path.name for path in templates.iterdir()} == {panel.template for panel in found}
