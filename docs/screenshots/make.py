"""Make the screenshots of the documentation: the report of the example project, and Dagster.

`python docs/screenshots/make.py` runs the example project and takes the screenshots in Chromium. It
needs Chromium, chromedriver and selenium (which `make test` installs). `--project DIR` uses a copy
of the example that has already been run.
"""

from __future__ import annotations

import argparse
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
    from collections.abc import Iterator

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "handbook"
PATIENCE_S = 60
SIZE = (1200, 800)

SHOTS = {
    "report": ("handbook-answers", "#leaderboard"),
    "curves": ("deck-hand-exam", "[data-chart=phi]"),
}
"""The benchmark of each screenshot of the report, and the element to scroll to."""


def main() -> None:
    """Take all screenshots."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--project", type=Path, help="a copy of the example that has been run")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = given.project or run_example(Path(folder) / "handbook")
        with browser() as driver:
            for name, (benchmark, element) in SHOTS.items():
                shoot_report(driver, project / "published", name, benchmark, element)
            shoot_answers(driver, project / "published")
            shoot_first_page(driver, project / "published")
            with interface(project) as address:
                shoot_graph(driver, address)
                shoot_backfill(driver, address)


def run_example(folder: Path) -> Path:
    """Copy the example project and run it."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".scoreline", "published"))
    subprocess.run([sys.executable, "-m", "orchestration.cli", "run"], cwd=folder, check=True)
    return folder


@contextmanager
def browser() -> Iterator[webdriver.Chrome]:
    """Start headless Chromium."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (
        "--headless",
        "--no-sandbox",
        "--hide-scrollbars",
        f"--window-size={SIZE[0]},{SIZE[1]}",
    ):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or ""))
    try:
        yield driver
    finally:
        driver.quit()


def open_page(driver: webdriver.Chrome, publish: Path, benchmark: str) -> None:
    """Open the page of a benchmark and wait until it is ready."""
    (page,) = (publish / "report").glob(f"{benchmark}-*/index.html")
    driver.get(page.absolute().as_uri())
    WebDriverWait(driver, PATIENCE_S).until(
        lambda d: d.execute_script("return document.documentElement.dataset.ready")
    )


def shoot_report(
    driver: webdriver.Chrome, publish: Path, name: str, benchmark: str, element: str
) -> None:
    """Take a screenshot of one part of a page."""
    open_page(driver, publish, benchmark)
    driver.execute_script(f"document.querySelector('{element}').scrollIntoView()")
    time.sleep(2)  # charts are drawn when they come into view
    driver.execute_script(f"document.querySelector('{element}').scrollIntoView()")
    driver.save_screenshot(str(HERE / f"{name}.png"))


def shoot_answers(driver: webdriver.Chrome, publish: Path) -> None:
    """Take a screenshot of two answers to one question."""
    open_page(driver, publish, "handbook-answers")
    driver.execute_script("document.querySelector('#questions').scrollIntoView()")
    cells = WebDriverWait(driver, PATIENCE_S).until(
        lambda d: d.find_elements(By.CSS_SELECTOR, "#heat-table .cell")
    )
    driver.execute_script("arguments[0].click()", cells[4])
    WebDriverWait(driver, PATIENCE_S).until(
        lambda d: d.find_elements(By.CSS_SELECTOR, "#answers tbody")
    )
    driver.save_screenshot(str(HERE / "answers.png"))


def shoot_first_page(driver: webdriver.Chrome, publish: Path) -> None:
    """Take a screenshot of the first page."""
    driver.set_window_size(1360, 1300)
    driver.get((publish / "index.html").as_uri())
    driver.save_screenshot(str(HERE / "index.png"))
    driver.set_window_size(*SIZE)


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


def shoot_graph(driver: webdriver.Chrome, address: str) -> None:
    """Take screenshots of the asset graph, and of the leaderboard of one benchmark."""
    driver.get(f"{address}/asset-groups")
    WebDriverWait(driver, PATIENCE_S).until(
        lambda d: d.find_elements(By.XPATH, "//*[@title='results']")
    )
    time.sleep(3)
    driver.save_screenshot(str(HERE / "graph.png"))
    driver.set_window_size(1700, 1000)
    driver.get(f"{address}/assets/leaderboard?view=partitions&partition=handbook-answers")
    WebDriverWait(driver, PATIENCE_S).until(
        lambda d: d.find_elements(By.XPATH, "//th[normalize-space()='citation.f1']")
    )
    heading = driver.find_element(By.XPATH, "//th[normalize-space()='citation.f1']")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", heading)
    time.sleep(1)
    driver.save_screenshot(str(HERE / "leaderboard.png"))
    driver.set_window_size(*SIZE)


def shoot_backfill(driver: webdriver.Chrome, address: str) -> None:
    """Take a screenshot of the dialog that selects benchmarks for a backfill."""

    def press(text: str) -> None:
        place = f"//button[contains(normalize-space(), '{text}')][not(@disabled)]"
        WebDriverWait(driver, PATIENCE_S).until(lambda d: d.find_elements(By.XPATH, place))
        driver.find_elements(By.XPATH, place)[-1].click()

    driver.get(f"{address}/asset-groups")
    press("Materialize all")
    WebDriverWait(driver, PATIENCE_S).until(
        lambda d: d.find_elements(By.XPATH, "//*[normalize-space()='Partition selection']")
    )
    driver.find_element(By.XPATH, "//*[contains(text(), 'Select a partition')]").click()
    for benchmark in ("handbook-answers", "notices"):
        label = f"//label/following-sibling::*//*[normalize-space(text())='{benchmark}']"
        WebDriverWait(driver, PATIENCE_S).until(lambda d, at=label: d.find_elements(By.XPATH, at))
        driver.find_element(By.XPATH, label).click()
    driver.find_element(By.XPATH, "//*[contains(text(), 'Launch runs to materialize')]").click()
    time.sleep(1)
    driver.save_screenshot(str(HERE / "backfill.png"))


if __name__ == "__main__":
    main()
