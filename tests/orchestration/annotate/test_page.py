"""The page of `scoreline annotate` in a real browser: by keyboard only, accessible, safe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.orchestration.annotate.served import HOSTILE, Client, annotating, make_project
from tests.support.browser import Browser, started
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [takes_minutes, pytest.mark.browser, pytest.mark.xdist_group("annotate")]
OWN = "#progress dd:nth-of-type(1)"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    home = make_project(tmp_path_factory.mktemp("project") / "home")
    with annotating(home, "--show-verdicts") as (found, _):
        yield found


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield from started(tmp_path_factory.mktemp("profile"))


def press(browser: Browser, *keys: str) -> None:
    for key in keys:
        ActionChains(browser.driver).send_keys(key).perform()


def start(browser: Browser, client: Client, name: str, *, dark: bool = False) -> None:
    """Open the address, and begin as somebody, with the keyboard."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.driver.get(client.address)
    browser.until(lambda: browser.run("return document.documentElement.dataset.ready") == "yes")
    browser.run("localStorage.clear()")
    browser.driver.refresh()
    browser.until(lambda: browser.run("return document.documentElement.dataset.ready") == "yes")
    # The cursor is in the field of the name.
    press(browser, name, Keys.ENTER)
    browser.until(lambda: browser.texts("#sample h3"))


def own_labels(browser: Browser) -> int:
    (text,) = browser.texts(OWN)
    return int(text.partition(" ")[0])


def test_keys_are_enough(browser: Browser, client: Client) -> None:
    start(browser, client, "ann")
    assert browser.driver.current_url == client.root  # the token is not in the address any more
    for count, key in enumerate(("1", "5", "3"), start=1):
        press(browser, key)
        browser.until(lambda count=count: own_labels(browser) == count)
    browser.reads("#status", ["Saved: 0.5."])
    press(browser, "u")
    browser.until(lambda: own_labels(browser) == 2)
    before = browser.texts("#sample .text")
    press(browser, "s")
    browser.reads("#status", ["Skipped."])
    assert browser.texts("#sample .text") != before
    # Another value: the field is reached and left with the keyboard, too.
    browser.run("document.getElementById('asked').focus()")
    for _ in range(20):
        if browser.run("return document.activeElement.id") == "value":
            break
        press(browser, Keys.TAB)
    press(browser, "0.6", Keys.ENTER)
    browser.until(lambda: own_labels(browser) == 3)
    query = "SELECT value FROM labels WHERE annotator = 'ann' ORDER BY value"
    browser.until(lambda: client.published(query) == [(0.0,), (0.6,), (1.0,)])
    assert browser.complaints(client.root) == []


def test_agreement_is_live(browser: Browser, client: Client) -> None:
    start(browser, client, "ben")
    for count in (1, 2, 3):
        press(browser, "1")
        browser.until(lambda count=count: own_labels(browser) == count)
    # Another person labels elsewhere; this page learns of it without a key.
    client.open_page()
    names = {"benchmark": "harbour", "metric": "document_retrieval.recall_at_5"}
    names["annotator"] = "cat"
    _, found = client.ask("next?" + "&".join(f"{k}={v}" for k, v in names.items()))
    for value in (0.0, 0.0, 1.0):
        sent = {**names, "sample": found["sample"]["number"], "value": value}
        _, found = client.ask("labels", sent)
    expected = f"Krippendorff's alpha {found['progress']['alpha']:.3f} "
    browser.until(lambda: expected in browser.texts("#progress")[0])


def test_hostile_texts_are_texts(browser: Browser, client: Client) -> None:
    start(browser, client, "<b>dan</b>")
    assert any(HOSTILE[:40] in text for text in browser.texts("#sample .text"))
    systems = set()
    for count in (1, 2, 3):
        systems.add(browser.texts("#sample details .text")[0])
        press(browser, "1")
        browser.until(lambda count=count: own_labels(browser) == count)
    assert "System: <b>evil<b>" in systems
    assert browser.all("#sample b, #sample img, #sample script, #progress b") == []
    assert browser.driver.title == "Label answers"
    query = "SELECT DISTINCT annotator FROM labels WHERE annotator LIKE '%dan%'"
    browser.until(lambda: client.published(query) == [("<b>dan</b>",)])


def test_what_cannot_be_saved_stays_on_the_screen(browser: Browser, client: Client) -> None:
    start(browser, client, "eva")
    before = browser.texts("#sample .text")
    value = browser.find("#value")
    value.send_keys("7")
    browser.run("document.getElementById('labels').noValidate = true")
    value.send_keys(Keys.ENTER)
    browser.until(lambda: "outside the metric's bounds" in browser.texts("#error")[0])
    assert browser.texts("#sample .text") == before
    assert own_labels(browser) == 0
    browser.complaints(client.root)  # the browser reports the refused request


@pytest.mark.parametrize("width", [1300, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_accessible_and_fits(
    browser: Browser, client: Client, width: int, dark: bool
) -> None:
    browser.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 850, "deviceScaleFactor": 1, "mobile": False},
    )
    browser.driver.get(client.address)
    browser.run("localStorage.clear()")
    browser.driver.get(client.address)
    browser.until(lambda: browser.run("return document.documentElement.dataset.ready") == "yes")
    assert browser.barriers(ignored=()) == []  # before the start
    start(browser, client, "fay", dark=dark)
    assert browser.barriers(ignored=()) == []
    assert browser.run("return document.documentElement.scrollWidth") <= width
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_end_of_the_queue_is_said(browser: Browser, client: Client) -> None:
    start(browser, client, "gus")
    total = int(browser.texts(OWN)[0].split(" ")[2])
    for count in range(1, total + 1):
        press(browser, "1")
        browser.until(lambda count=count: own_labels(browser) == count)
    browser.until(lambda: browser.find("#done").is_displayed())
    assert browser.barriers(ignored=()) == []
    assert browser.texts("#sample .text") == []
    press(browser, "u")
    browser.until(lambda: own_labels(browser) == total - 1)
