"""A real browser that records console errors, remote requests and accessibility violations."""

from __future__ import annotations

import json
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.support.services import REQUIRED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from selenium.webdriver.remote.webelement import WebElement

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PATIENCE_S = 60
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--window-size=1300,900",
)
READY = "return document.scripts.length === 0 || document.documentElement.dataset.ready === 'yes'"
LOCAL = ("file:", "data:", "blob:", "about:", "chrome:", "devtools:")


@dataclass
class Browser:
    """A page in Chromium.

    Attributes:
        driver: The Selenium driver.
        fetched: Remote addresses that pages requested.
    """

    driver: webdriver.Chrome
    fetched: list[str] = field(default_factory=list)

    def open(self, page: Path, *, dark: bool = False) -> float:
        """Open a page and wait until it is ready; return the seconds it took."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        start = time.perf_counter()
        self.driver.get(page.absolute().as_uri())
        self.until(lambda: self.run(READY))
        return time.perf_counter() - start

    def processor_seconds(self, page: Path) -> float:
        """Open a page; return the processor time of its main thread, whatever else runs."""
        self.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        self.open(page)
        found = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        self.driver.execute_cdp_cmd("Performance.disable", {})
        # It is counted from the beginning of the page.
        return next(float(each["value"]) for each in found if each["name"] == "TaskDuration")

    def run(self, script: str, *arguments: Any) -> Any:
        """Return the result of a script in the page."""
        return self.driver.execute_script(script, *arguments)

    def find(self, css: str) -> WebElement:
        """Wait for the first element that matches a selector, and return it."""
        found: list[WebElement] = []
        self.until(lambda: bool(found.extend(self.all(css)) or found))
        return found[0]

    def all(self, css: str) -> list[WebElement]:
        """Return the elements that match a selector now."""
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def texts(self, css: str) -> list[str]:
        """Return the stripped texts of the elements that match a selector."""
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        return [str(text).strip("\u2068\u2069 ") for text in self.run(script, css)]

    def reads(self, css: str, expected: list[str]) -> None:
        """Wait until the elements that match a selector have the expected texts.

        Raises:
            AssertionError: They still have others.
        """
        with suppress(TimeoutException):
            self.until(lambda: self.texts(css) == expected)
        assert self.texts(css) == expected

    def see(self, css: str) -> WebElement:
        """Scroll to the first element that matches a selector, and return it."""
        element = self.find(css)
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        return element

    def click(self, css: str) -> None:
        """Click the first element that matches a selector."""
        self.see(css).click()

    def until(self, holds: Callable[[], Any]) -> None:
        """Wait until a condition holds.

        Raises:
            TimeoutException: It does not hold in time.
        """
        WebDriverWait(self.driver, PATIENCE_S, 0.05).until(lambda _: holds())

    def complaints(self, own: str = "file:") -> list[str]:
        """Return the console messages since the last call, and all remote addresses requested.

        Args:
            own: The beginning of the addresses of the server under test.
        """
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                address = message["params"]["request"]["url"]
                if not address.startswith((*LOCAL, own)):
                    self.fetched.append(address)
        written = [entry["message"] for entry in self.driver.get_log("browser")]
        return [*written, *self.fetched]

    def barriers(self, *, ignored: tuple[str, ...] = ("minor", "moderate")) -> list[str]:
        """Return the violations that axe finds in the page, without those of ignored impact."""
        from axe_core_python.base import AXE_FILE_PATH

        self.run(AXE_FILE_PATH.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run().then((r) => done(r.violations), (e) => done([{impact: String(e)}]));"
        )
        return [
            f"{each['impact']} {each.get('id')}: {node['html'][:160]} {node['failureSummary']}"
            for each in found
            if each["impact"] not in ignored
            for node in each.get("nodes", [{"html": "", "failureSummary": ""}])
        ]


def started(profile: Path) -> Iterator[Browser]:
    """Yield a browser with an empty profile.

    Skips the test if no browser is installed, unless services are required.
    """
    if BROWSER is None or DRIVER is None:
        missing = "chromium and chromedriver are not installed"
        if REQUIRED:
            pytest.fail(missing)
        pytest.skip(missing)
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(2 * PATIENCE_S)  # axe reads a long page on a busy machine
    try:
        yield Browser(driver)
    finally:
        driver.quit()
