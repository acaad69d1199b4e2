"""What a person does in the interface, done in a real browser: select, launch, watch, terminate."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from selenium.common.exceptions import (
    ElementClickInterceptedException,
    StaleElementReferenceException,
)
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.orchestration.daemon import until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from selenium import webdriver
    from selenium.webdriver.remote.webelement import WebElement

    from tests.orchestration.daemon import Interface

PATIENCE_S = 90
MATERIALIZE = "//button[contains(., 'Materialize all')]"
ENDED = ("Success", "Failed", "Failure", "Canceled")
REDRAWN = (ElementClickInterceptedException, StaleElementReferenceException)


@dataclass
class Page:
    """The interface in a browser.

    Attributes:
        browser: The browser.
        dev: The running interface.
    """

    browser: webdriver.Chrome
    dev: Interface

    def open(self, path: str) -> None:
        """Open a page of the interface."""
        self.browser.get(f"{self.dev.address}/{path}")

    def find(self, xpath: str, patience_s: float = PATIENCE_S) -> WebElement:
        """The first visible element of an XPath."""

        def visible() -> WebElement | None:
            found = self.browser.find_elements(By.XPATH, xpath)
            return next((each for each in found if each.is_displayed()), None)

        element: WebElement = self.until(visible, patience_s)
        return element

    def until(self, look: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
        """What a look at the page brings, once it brings something; a page is often redrawn."""
        wait = WebDriverWait(self.browser, patience_s, ignored_exceptions=REDRAWN)
        return wait.until(lambda _: look())

    def click(self, xpath: str) -> None:
        """Click on the first visible element of an XPath."""

        def clicked() -> bool:
            self.find(xpath).click()
            return True

        self.until(clicked)

    def press(self, text: str) -> None:
        """Press the last button that says so, once it can be pressed."""
        self.click(f"(//button[normalize-space()='{text}'][not(@disabled)])[last()]")

    def reload(self) -> None:
        """Have the definitions made again, as after a change of the configuration."""
        self.open("asset-groups")
        self.press("Reload definitions")
        self.find("//*[contains(normalize-space(), 'reloaded')]")

    def select(self, assets: str) -> None:
        """Type a selection of assets into the search field of the graph."""
        self.open("asset-groups")
        self.click("//*[@class='CodeMirror-lines']")
        typing = ActionChains(self.browser)
        typing.send_keys(assets).send_keys(Keys.ESCAPE).send_keys(Keys.ENTER).perform()
        self.find(MATERIALIZE)

    def backfill(self, assets: str, benchmarks: Sequence[str] = ()) -> str:
        """Launch a backfill of a selection and wait for its end.

        Args:
            assets: The selection, as the search field takes it.
            benchmarks: The partitions; all of them unless given. One is a run of its own.

        Returns:
            What the page of backfills, or of the run, says of it: one of `ENDED`.
        """
        self.launch(assets, benchmarks)
        if len(benchmarks) == 1:
            identity = self.dev.runs()[0]["runId"]
            self.open(f"runs/{identity}")
            return self.ended(f"//*[normalize-space()='{identity[:8]}']/ancestor::*[3]")
        self.open("runs?view=backfills")
        identity = self.dev.backfills()[0]["id"]
        return self.ended(
            f"//*[normalize-space()='{identity}']/ancestor::*[contains(., 'Manually')][1]"
        )

    def launch(self, assets: str, benchmarks: Sequence[str] = ()) -> None:
        """Launch a backfill of a selection; see `backfill`."""

        def launched() -> int:
            return len(self.dev.backfills()) + len(self.dev.runs())

        known = launched()
        self.select(assets)
        self.click(MATERIALIZE)
        self.find("//*[normalize-space()='Partition selection']")
        if benchmarks:
            self.choose(benchmarks)
        else:
            self.press("All")
        self.press("Launch 1 run" if len(benchmarks) == 1 else "Launch backfill")
        until("the launch", lambda: launched() > known)

    def choose(self, benchmarks: Sequence[str]) -> None:
        """Choose partitions by name in the dialog."""
        self.click("//*[contains(text(), 'Select a partition')]")
        for name in benchmarks:
            self.click(f"//label/following-sibling::*//*[normalize-space(text())='{name}']")
        self.click("//*[contains(text(), 'Launch runs to materialize')]")

    def ended(self, place: str) -> str:
        """The status that an element comes to show when all is over."""
        deadline = time.monotonic() + 6 * PATIENCE_S
        text = ""
        while time.monotonic() < deadline:
            text = self.until(lambda: self.find(place).text)
            found = [status for status in ENDED if status in text]
            if found:
                return found[0]
            time.sleep(1)
        raise TimeoutError(f"this does not end: {text}")

    def terminate(self, *, by_force: bool = False) -> None:
        """Terminate the run that is under way.

        Args:
            by_force: Have it called canceled at once, whether or not its process has heard of it.
        """
        self.open(f"runs/{self.dev.runs()[0]['runId']}")
        self.press("Terminate")
        if by_force:
            self.click("//label[contains(., 'Force termination immediately')]")
        self.press(f"{'Force termination for' if by_force else 'Terminate'} 1 run")

    def standings(self, benchmark: str) -> dict[str, dict[str, str]]:
        """The standings that the interface shows for a benchmark: numbers by system and metric."""
        self.open(f"assets/leaderboard?view=partitions&partition={benchmark}")
        shown: dict[str, dict[str, str]] = self.until(self._standings)
        return shown

    def _standings(self) -> dict[str, dict[str, str]]:
        table = self.find("//th[normalize-space()='system']/ancestor::table[1]")
        heads = [each.text for each in table.find_elements(By.XPATH, ".//th")]
        rows: list[list[Any]] = [
            [cell.text for cell in row.find_elements(By.XPATH, "./td")]
            for row in table.find_elements(By.XPATH, ".//tbody/tr")
        ]
        return {row[0]: dict(zip(heads[1:], row[1:], strict=True)) for row in rows}
