"""Everything that a reader can see of published pages, checked in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.browser import Browser

DRAWN = "return [...document.querySelectorAll('[data-chart]')].every((e) => e.dataset.drawn)"
LOADED = "return !document.querySelector('main').textContent.includes('Loads when you scroll')"
OPENED = "for (const each of document.querySelectorAll('details:not(.asked)')) each.open = true"
OUTSIDE = """
const root = document.documentElement;
if (root.scrollWidth <= root.clientWidth) return [];
const isInBox = (e) => {
  for (e = e.parentElement; e && e !== root; e = e.parentElement)
    if (getComputedStyle(e).overflowX !== 'visible') return true;
  return false;
};
const isOutside = (e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !isInBox(e);
const found = [...document.querySelectorAll('body *')].filter(isOutside).at(-1);
return [`wider than the page: ${found?.outerHTML.slice(0, 200)}`];
"""
WITHOUT_CUE = """
const style = (e) => getComputedStyle(e);
const isCut = (e) => e.checkVisibility() && style(e).overflowX !== 'visible'
  && e.scrollWidth > e.clientWidth + 1;
const isShown = (e) => style(e).maskImage !== 'none'
  || style(e).backgroundAttachment.includes('local');
const isReached = (e) => e.matches('nav > ul') || (e.tabIndex === 0 && e.role && e.ariaLabel);
return [...document.querySelectorAll('.wide, nav.parts > ul, .chart')]
  .filter((e) => isCut(e) && !(isShown(e) && isReached(e)))
  .map((e) => `cut without a cue: ${e.outerHTML.slice(0, 120)}`);
"""
CUT_TEXTS = """
const meant = '.snippet, .slanted *, [role=status], .asked';
const isClipped = (e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1
  && ['hidden', 'clip'].includes(getComputedStyle(e).overflowX) && !e.matches(meant);
return [...document.querySelectorAll('main *')].filter(isClipped)
  .map((e) => `clipped: ${e.outerHTML.slice(0, 120)}`);
"""
PHONE = 500
"""Pixels: narrower screens are those of phones."""


def find_faults(
    browser: Browser, publish: Path, width: int, *, dark: bool, own: str = "file:"
) -> list[str]:
    """Return what is wrong with the pages of a folder, in all that they fold and load.

    Faults are violations of accessibility of any impact, messages in the console, requests to
    remote addresses, pages wider than the screen, and tables cut off without a cue.
    """
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < PHONE}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        return [
            f"{page.relative_to(publish)} at {width}{', dark' if dark else ''}: {fault}"
            for page in published_pages(publish)
            for fault in _faults_of(browser, page, dark=dark, own=own)
        ]
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def published_pages(publish: Path) -> list[Path]:
    """Return all pages of a folder, without those of the publication before."""
    first = (publish / "index.html").read_text(encoding="utf-8")
    pages = sorted(publish.rglob("*.html"))
    return [page for page in pages if page.parent == publish or page.parent.name in first]


def _faults_of(browser: Browser, page: Path, *, dark: bool, own: str) -> Iterator[str]:
    browser.open(page, dark=dark)
    browser.run(OPENED)
    for each in browser.all("main > section"):
        browser.run("arguments[0].scrollIntoView()", each)
    for each in browser.all("[data-chart]"):
        browser.run("arguments[0].scrollIntoView()", each)
    browser.until(lambda: browser.run(DRAWN) and browser.run(LOADED))
    browser.run("document.getElementById('cmp-only')?.click()")  # all questions, in pages
    if browser.all("#label-start"):
        browser.run(
            "document.getElementById('label-annotator').value = 'ann';"
            "document.getElementById('label-start').requestSubmit()"
        )
        browser.find("#label-sample h3")
    for script in (OUTSIDE, WITHOUT_CUE, CUT_TEXTS):
        yield from browser.run(script)
    yield from browser.barriers(ignored=())
    if browser.all("#heat-table .cell"):
        browser.run("document.querySelector('#heat-table .cell').click()")
        browser.find("#answers tbody")
        browser.run(OPENED)
        for script in (OUTSIDE, WITHOUT_CUE):
            yield from browser.run(script)
        yield from browser.barriers(ignored=())
    yield from browser.complaints(own)
