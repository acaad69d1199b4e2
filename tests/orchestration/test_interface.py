"""The interface of a project: its API, and in a browser the graph and the leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.orchestration.daemon import LOADED, Interface, interface
from tests.orchestration.interface_page import Page
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium import webdriver

pytestmark = takes_minutes

SHOWN = """{
  runsOrError { ... on Runs { results { jobName status tags { key } } } }
  assetsOrError { ... on AssetConnection { nodes { key { path } definition { partitionKeys } } } }
}"""


@pytest.fixture(scope="module")
def running(done_project: Path) -> Iterator[Interface]:
    """`scoreline dev` on a project that has been run once."""
    with interface(done_project) as started:
        yield started


@pytest.fixture
def page(browser: webdriver.Chrome, running: Interface) -> Page:
    """What it shows."""
    return Page(browser, running)


def test_the_interface_shows_the_project_and_its_runs(running: Interface) -> None:
    assert running.query(LOADED)["workspaceOrError"]["locationEntries"] == [
        {"name": "scoreline", "locationOrLoadError": {"__typename": "RepositoryLocation"}}
    ]
    data = running.query(SHOWN)
    (run,) = data["runsOrError"]["results"]
    assert (run["jobName"], run["status"]) == ("evaluate", "SUCCESS")
    assert not [tag["key"] for tag in run["tags"] if "process" in tag["key"]]
    partitions = {
        "/".join(node["key"]["path"]): node["definition"]["partitionKeys"]
        for node in data["assetsOrError"]["nodes"]
    }
    assert partitions["scores/citation"] == ["harbour"]


@pytest.mark.browser
def test_the_graph_and_the_leaderboard(page: Page) -> None:
    page.open("asset-groups")
    groups = {
        "inputs": ["questions", "predictions"],
        "citations": ["citation", "evidence_overlap"],
        "retrieval": ["document_retrieval"],
        "results": ["leaderboard", "published"],
    }
    for group, assets in groups.items():
        # The button before the name opens the group.
        beside = f"//*[@title='{group}']/ancestor::*[preceding-sibling::button][1]"
        page.find(beside)
        page.click(f"{beside}/preceding-sibling::button[1]")
        for asset in assets:
            assert page.find(f"//*[@title='{asset}']").is_displayed()

    standings = page.standings("harbour")
    assert set(standings) == {"keyword", "reader"}
    assert standings["reader"]["citation.f1"] == "0.833 (0.436 to 0.970)"
    # The picture and the verdict show without a click, before the numbers.
    picture = page.find("//img[@alt='means and 95 % intervals']")
    assert int(picture.get_attribute("naturalWidth") or 0) == 400
    number = page.find("//td[normalize-space()='failed answers']")
    for first in (picture, page.find("//*[starts-with(normalize-space(text()), 'No winner on ')]")):
        assert first.rect["y"] < number.rect["y"]


@pytest.mark.browser
def test_the_report_opens_from_its_asset(page: Page) -> None:
    page.open("assets/published?view=events")
    address = page.find("//a[contains(@href, '/report/')]").get_attribute("href")
    assert address == f"{page.dev.address}/report/"
    page.browser.get(address)
    page.click("//a[normalize-space()='harbour']")
    page.find("//h1[normalize-space()='harbour']")

    page.open("runs")
    assert page.find("//*[normalize-space()='Success']").is_displayed()
