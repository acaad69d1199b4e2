"""The documentation as a site: complete, strict, and searchable from a folder in a real browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from docs.site.hooks import PLACED, with_site_links
from tests.support.browser import Browser, started
from tests.support.documents import ROOT, text
from tests.support.handbook import OFFLINE
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REPOSITORY = "https://github.com/scoreline/scoreline"
pytestmark = pytest.mark.xdist_group("site")


def test_links_lead_to_pages_of_the_site_or_to_the_repository() -> None:
    page = (
        "[a](docs/trust.md#ranks) ![b](docs/screenshots/report.png) [c](docs/README.md) "
        "[d](LICENSE)"
    )
    assert with_site_links(page, "index.md") == (
        "[a](trust.md#ranks) ![b](screenshots/report.png) [c](pages.md) "
        f"[d]({REPOSITORY}/blob/main/LICENSE)"
    )
    page = (
        "[a](../../docs/trust.md) [b](../live-rag/README.md) [c](search) "
        "[d](#here) [e](https://f.g)"
    )
    assert with_site_links(page, "examples/handbook.md") == (
        f"[a](../trust.md) [b](live-rag.md) [c]({REPOSITORY}/tree/main/examples/handbook/search) "
        "[d](#here) [e](https://f.g)"
    )


def test_a_link_to_a_missing_file_is_left_to_the_strict_check() -> None:
    assert with_site_links("[a](missing.md)", "trust.md") == "[a](missing.md)"


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"^ +- .+: (\S+\.md)$", text("mkdocs.yml"), re.MULTILINE)
    own = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert own | set(PLACED.values()) == set(listed)


def build(target: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(target), *options],
        cwd=ROOT,
        env={**os.environ, **OFFLINE, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield from started(tmp_path_factory.mktemp("profile"))


@takes_minutes
def test_every_page_and_picture_is_in_the_site(site: Path) -> None:
    sources = [path.name for path in (ROOT / "docs").glob("*.md") if path.name != "README.md"]
    pages = [*sources, *PLACED.values()]
    assert [page for page in pages if not (site / page).with_suffix(".html").is_file()] == []
    assert {path.name for path in (ROOT / "docs" / "screenshots").glob("*.png")} == {
        path.name for path in (site / "screenshots").iterdir()
    }
    assert not [path for path in site.rglob("*") if path.suffix in (".py", ".yaml")]
    # The notebook has been run: its tables and its chart are there.
    notebook = (site / "examples" / "compare-rag.html").read_text(encoding="utf-8")
    assert notebook.count("<table") >= 4
    assert list((site / "examples" / "compare-rag").glob("*.svg"))


@takes_minutes
def test_the_site_opens_from_a_folder_and_finds_words(site: Path, browser: Browser) -> None:
    browser.driver.get((site / "index.html").as_uri())
    browser.find("[data-md-component=search-query]").send_keys("Krippendorff")
    browser.until(lambda: browser.all(".md-search-result__item"))
    found = browser.texts(".md-search-result__item h1")
    assert "Judges" in found
    places = [each.get_attribute("href") for each in browser.all(".md-search-result__link")]
    assert all(str(place).startswith(site.as_uri()) for place in places)
    browser.driver.get((site / "judges.html").as_uri())
    browser.find("h1")
    assert browser.barriers() == []
    assert browser.complaints() == []


@takes_minutes
@pytest.mark.parametrize("fault", ["link", "heading", "stray"])
def test_a_fault_fails_the_build(fault: str, tmp_path: Path) -> None:
    added, named = {
        "link": ("[a](nowhere.md)", "'nowhere.md'"),
        "heading": ("[a](trust.md#nowhere)", "#nowhere"),
        "stray": ("", "stray.md"),
    }[fault]
    docs = shutil.copytree(ROOT / "docs", tmp_path / "pages")
    page = docs / ("stray.md" if fault == "stray" else "ci.md")
    page.write_text(f"# A page\n\n{added}\n", encoding="utf-8")
    file = tmp_path / "mkdocs.yml"
    hooks = tmp_path / "hooks.py"
    # The pages from outside `docs/`, without running the notebook.
    hooks.write_text(
        "from docs.site import hooks\n"
        "hooks.convert_notebook = lambda source, place: [(place, '# Notebook')]\n"
        "on_files, on_page_markdown = hooks.on_files, hooks.on_page_markdown\n",
        encoding="utf-8",
    )
    file.write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: {docs}\nhooks: [{hooks}]\n", encoding="utf-8"
    )
    done = build(tmp_path / "site", "--config-file", str(file))
    assert done.returncode == 1
    assert named in done.stdout + done.stderr
