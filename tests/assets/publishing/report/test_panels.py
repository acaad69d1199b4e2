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
    assert len({panel.position for panel in found}) == len(found)
    names = {panel.name for panel in found}
    assert len(names) == len(found)
    report = files("assets.publishing.report")
    templates = (report / "templates" / "panels").iterdir()
    assert {path.name for path in templates} == {f"{name}.html.j2" for name in names}
    scripts = (report / "page" / "panels").iterdir()
    assert {path.name for path in scripts} < {f"{name}.js" for name in names}
