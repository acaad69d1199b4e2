"""Make the screenshots of the documentation: the report of the example project, and Dagster.

`make screenshots` runs the example project and takes the screenshots in Chromium. It needs Chromium
and chromedriver. Beside each picture is a file with the text that it shows. A test compares the
report with these texts, so that no picture is outdated. `--project DIR` uses a copy of the example
that has already been run.
"""

from __future__ import annotations

import argparse
import base64
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "handbook"
PATIENCE_S = 180
SIZE = (1200, 800)
OVERVIEW_ROWS = 10
"""The questions of the heat map in the picture of the README."""

SECTIONS = {
    "report": ("handbook-answers", "#leaderboard"),
    "heatmap": ("handbook-answers", "#questions"),
    "history": ("handbook-answers", "#history"),
    "curves": ("deck-hand-exam", "[data-chart=phi]"),
}
"""The benchmark and the element of screenshots of one part of a page."""

VOLATILE = {
    r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?": "DATE",
    r"\b[A-Z][a-z]{2} \d{1,2}, \d{1,2}:\d\d(:\d\d)?\s?[AP]M\b": "DATE",
    r"\d\d:\d\d(:\d\d)?|:\d\d\b": "TIME",
    r"\b\d+(\.\d+)? (ms|s|seconds?|minutes?|min)( ago)?\b": "DURATION",
    r"\b(?=[0-9a-f]*[a-f])(?=[a-f]*\d)[0-9a-f]{8,}\b": "DIGEST",
    r"\b\d+\.\d+\.\d+\b": "VERSION",
}
"""What differs from run to run without a change of the page, as patterns."""

Shot = tuple[str, str]
"""The name of a screenshot, and the CSS selector of what it shows."""


def main() -> None:
    """Take all screenshots."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--project", type=Path, help="a copy of the example that has been run")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, browser() as driver:
        project = given.project or run_example(Path(folder) / "handbook")
        for name, css in show_report(driver, project / "published"):
            save(driver, name, css)
        save_overview(driver, project / "published")
        with interface(project) as address:
            for name, css in show_interface(driver, address):
                save(driver, name, css)


def run_example(folder: Path) -> Path:
    """Copy the example project and run the first commands of its README."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".scoreline", "published"))
    for arguments in (
        ["run", "--quiet", "--config", "earlier.yaml"],
        ["tag", "v1"],
        ["run"],
        ["labels", "import", "counter/labels.jsonl"],
    ):
        subprocess.run(
            [sys.executable, "-m", "orchestration.cli", *arguments], cwd=folder, check=True
        )
    return folder


@contextmanager
def browser() -> Iterator[webdriver.Chrome]:
    """Start headless Chromium."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or ""))
    try:
        yield driver
    finally:
        driver.quit()


def resize(driver: webdriver.Chrome, width: int, height: int, scale: int = 1) -> None:
    """Set the size of the page in CSS pixels, and how many pixels of the picture each has."""
    size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def wait(driver: webdriver.Chrome, holds: Callable[[webdriver.Chrome], object]) -> None:
    """Wait until a condition holds."""
    WebDriverWait(driver, PATIENCE_S).until(holds)


def wait_for(driver: webdriver.Chrome, css: str) -> None:
    """Wait until an element is in the page."""
    wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, css))


def save(driver: webdriver.Chrome, name: str, css: str) -> None:
    """Save what the window shows, and the text of an element beside it."""
    driver.save_screenshot(str(HERE / f"{name}.png"))
    (HERE / f"{name}.txt").write_text(read_text(driver, css), encoding="utf-8")


def read_text(driver: webdriver.Chrome, css: str) -> str:
    """Return the visible text of an element, normalized."""
    script = "return document.querySelector(arguments[0]).innerText"
    return normalize(str(driver.execute_script(script, css)))


def normalize(text: str) -> str:
    """Return a text without what differs from run to run, and without blank lines."""
    for pattern, name in VOLATILE.items():
        text = re.sub(pattern, name, text)
    lines = (" ".join(line.split()) for line in text.splitlines())
    # A line with nothing but a time labels a chart of times, which has other ticks after each run.
    return "".join(f"{line}\n" for line in lines if line not in ("", "TIME"))


def show_report(driver: webdriver.Chrome, publish: Path) -> Iterator[Shot]:
    """Bring each part of the report into view, and yield it."""
    resize(driver, 1360, 1300)
    driver.get((publish / "index.html").absolute().as_uri())
    wait_for(driver, "html[data-ready]")
    yield "index", "main"
    resize(driver, *SIZE)
    for name, (benchmark, css) in SECTIONS.items():
        open_page(driver, publish, benchmark)
        scroll_to(driver, css)
        yield name, css
    open_page(driver, publish, "handbook-answers")
    scroll_to(driver, "#questions")
    # The second question, on which the systems differ.
    driver.execute_script("document.querySelectorAll('#heat-table .cell')[4].click()")
    wait_for(driver, "#answers tbody")
    yield "answers", "#sample"


def open_page(driver: webdriver.Chrome, publish: Path, benchmark: str) -> None:
    """Open the page of a benchmark, that of the last publication, and wait until it is ready."""
    driver.get(f"{(publish / 'index.html').absolute().as_uri()}")
    wait_for(driver, "html[data-ready]")
    address = driver.execute_script(
        "return document.getElementById(arguments[0]).querySelector('h3 a').href", benchmark
    )
    driver.get(address)
    wait_for(driver, "html[data-ready]")


def scroll_to(driver: webdriver.Chrome, css: str) -> None:
    """Scroll to an element and wait until its charts are drawn."""
    element = driver.find_element(By.CSS_SELECTOR, css)
    driver.execute_script("arguments[0].scrollIntoView()", element)
    # Charts and tables are made when they come into view, which moves what is below.
    time.sleep(2)
    driver.execute_script("arguments[0].scrollIntoView()", element)
    time.sleep(0.5)


def save_overview(driver: webdriver.Chrome, publish: Path) -> None:
    """Put the matrix and the head of the heat map side by side, for the README."""
    resize(driver, 1360, 3000, scale=2)
    driver.get((publish / "index.html").absolute().as_uri())
    wait_for(driver, "html[data-ready]")
    matrix = driver.find_element(By.CSS_SELECTOR, "#matrix table").screenshot_as_base64
    texts = [read_text(driver, "#matrix table")]
    resize(driver, 700, 3000, scale=2)
    open_page(driver, publish, "handbook-answers")
    scroll_to(driver, "#questions")
    driver.execute_script(
        "document.querySelectorAll('#heat-table tbody tr').forEach("
        "(row, at) => { row.hidden = at >= arguments[0] })",
        OVERVIEW_ROWS,
    )
    heat_map = driver.find_element(By.CSS_SELECTOR, "#heat-table table").screenshot_as_base64
    texts.append(read_text(driver, "#heat-table table"))
    images = "".join(
        f'<img style="height: 600px; margin: 12px" src="data:image/png;base64,{each}">'
        for each in (matrix, heat_map)
    )
    page = f'<body style="margin: 0"><div id="both" style="display: inline-flex">{images}</div>'
    resize(driver, 1600, 1000)
    driver.get("data:text/html;base64," + base64.b64encode(page.encode()).decode())
    picture = driver.find_element(By.ID, "both").screenshot_as_png
    (HERE / "overview.png").write_bytes(picture)
    (HERE / "overview.txt").write_text("".join(texts), encoding="utf-8")


@contextmanager
def interface(project: Path) -> Iterator[str]:
    """Start the Dagster interface of a project and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "orchestration.cli", "dev", "--port", str(port)]
    process = subprocess.Popen(command, cwd=project, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                urllib.request.urlopen(f"{address}/server_info", timeout=5)  # noqa: S310 - a local address
                break
            except (urllib.error.URLError, OSError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)
        yield address
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=PATIENCE_S)


def show_interface(driver: webdriver.Chrome, address: str) -> Iterator[Shot]:
    """Show the asset graph, the leaderboard of a benchmark and the dialog of backfills."""
    resize(driver, *SIZE)
    driver.get(f"{address}/asset-groups")
    wait(driver, lambda d: d.find_elements(By.XPATH, "//*[@title='results']"))
    time.sleep(3)
    yield "graph", "body"
    resize(driver, 1700, 1000)
    driver.get(f"{address}/assets/leaderboard?view=partitions&partition=handbook-answers")
    heading = "//th[normalize-space()='citation.f1']"
    wait(driver, lambda d: d.find_elements(By.XPATH, heading))
    element = driver.find_element(By.XPATH, heading)
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    time.sleep(1)
    yield "leaderboard", "body"
    resize(driver, *SIZE)
    driver.get(f"{address}/asset-groups")
    press(driver, "//button[contains(normalize-space(), 'Materialize all')][not(@disabled)]", -1)
    wait(
        driver, lambda d: d.find_elements(By.XPATH, "//*[normalize-space()='Partition selection']")
    )
    press(driver, "//*[contains(text(), 'Select a partition')]")
    for benchmark in ("handbook-answers", "notices"):
        press(driver, f"//label/following-sibling::*//*[normalize-space(text())='{benchmark}']")
    press(driver, "//*[contains(text(), 'Launch runs to materialize')]")
    time.sleep(1)
    yield "backfill", "body"


def press(driver: webdriver.Chrome, xpath: str, which: int = 0) -> None:
    """Wait for elements, and click one of them."""
    wait(driver, lambda d: d.find_elements(By.XPATH, xpath))
    driver.find_elements(By.XPATH, xpath)[which].click()


if __name__ == "__main__":
    main()
