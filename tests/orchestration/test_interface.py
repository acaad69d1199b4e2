"""The interface in a real browser: the graph of the project, and its standings."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support import expected_conditions as expected
from selenium.webdriver.support.wait import WebDriverWait

from tests.orchestration.cli.test_dev import asked, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium.webdriver.remote.webelement import WebElement

pytestmark = pytest.mark.browser

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PATIENCE_S = 30
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--window-size=1600,1000",
)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    """A browser without a history, settings or an account."""
    if BROWSER is None or DRIVER is None:
        missing = "chromium and chromedriver are not installed"
        if os.environ.get("SCORELINE_REQUIRE_SERVICES") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    started = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield started
    finally:
        started.quit()


@pytest.fixture
def address(done_project: Path) -> Iterator[str]:
    """Where `scoreline dev` shows a project that has been run once."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "orchestration.cli", "dev", "--port", str(port)],
        cwd=done_project,
        env={key: value for key, value in os.environ.items() if key != "DAGSTER_HOME"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        asked(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)


def wait_for(browser: webdriver.Chrome, xpath: str) -> WebElement:
    visible = expected.visibility_of_element_located((By.XPATH, xpath))
    found: WebElement = WebDriverWait(browser, PATIENCE_S).until(visible)
    return found


def test_the_graph_and_the_standings(browser: webdriver.Chrome, address: str) -> None:
    browser.get(f"{address}/asset-groups")
    groups = {
        "inputs": ["questions", "predictions"],
        "citations": ["citation", "evidence_overlap"],
        "retrieval": ["document_retrieval"],
        "results": ["leaderboard", "published"],
    }
    for group, assets in groups.items():
        # The button before the name opens the group.
        label = f"//*[@title='{group}']"
        wait_for(browser, f"{label}/ancestor::*[preceding-sibling::button][1]")
        opener = f"{label}/ancestor::*[preceding-sibling::button][1]/preceding-sibling::button[1]"
        wait_for(browser, opener).click()
        for asset in assets:
            assert wait_for(browser, f"//*[@title='{asset}']").is_displayed()

    browser.get(f"{address}/assets/leaderboard?view=partitions&partition=harbour")
    heading = wait_for(browser, "//th[normalize-space()='citation.f1']")
    rows = heading.find_elements(By.XPATH, "ancestor::table[1]//td[1]")
    assert {row.text for row in rows} == {"keyword", "reader"}

    browser.get(f"{address}/runs")
    assert wait_for(browser, "//*[normalize-space()='Success']").is_displayed()
