"""Charts are drawn in a process of their own; what ends that process costs one image."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl
import psutil
import pytest

from assets.charts import images, style
from assets.charts.images import ImageError, ImageWorker

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTILE = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0xFFFE, 0xFFFF)]


@pytest.fixture
def worker() -> Iterator[ImageWorker]:
    made = ImageWorker(limit_s=30)
    yield made
    made.close()


def bars(*names: str) -> Any:
    """A chart whose data and whose order contain names."""
    rows = pl.DataFrame({"name": names, "value": [1.0] * len(names)})
    return (
        alt.Chart(alt.InlineData(values=rows.to_dicts()))
        .mark_bar()
        .encode(x="value:Q", y=alt.Y("name:N", sort=list(names)))
    )


def raw(*names: str) -> style.Spec:
    """The same as a specification with all characters."""
    spec: style.Spec = bars(*names).to_dict(validate=False)
    return spec


def process_of(worker: ImageWorker) -> psutil.Process:
    """The process of a worker, which has drawn something."""
    worker.draw(raw("a")).result()
    assert worker.process_id is not None
    return psutil.Process(worker.process_id)


def test_a_chart_is_drawn_as_svg_and_png(worker: ImageWorker, tmp_path: Path) -> None:
    worker.draw(raw("a < b", "ü")).result().write(tmp_path, "chart")
    assert "a &lt; b" in (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_a_character_that_aborts_the_library_costs_one_image(worker: ImageWorker) -> None:
    before = process_of(worker)
    drawn = [worker.draw(raw(name)) for name in ("a", "q\u0001", "b")]
    assert drawn[0].result().png
    with pytest.raises(ImageError, match=r"ended: SIGABRT: thread .*NonXmlChar"):
        drawn[1].result()
    assert drawn[2].result().png
    assert process_of(worker).pid != before.pid


def test_what_the_library_refuses_costs_one_image(worker: ImageWorker) -> None:
    before = process_of(worker)
    with pytest.raises(ImageError, match="Unexpected token ILLEGAL") as caught:
        worker.draw(raw("q\u2028", "q")).result()
    assert "\n" not in str(caught.value)
    with pytest.raises(ImageError):
        worker.draw({"mark": "none"}).result()
    assert process_of(worker).pid == before.pid


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGKILL])
def test_a_process_that_is_killed_while_it_draws_costs_one_image(
    worker: ImageWorker, number: signal.Signals
) -> None:
    process = process_of(worker)
    process.suspend()
    drawn = [worker.draw(raw(name)) for name in ("a", "b")]
    process.send_signal(number)
    with suppress(psutil.NoSuchProcess):  # SIGKILL ends a suspended process at once
        process.resume()
    with pytest.raises(ImageError, match=f"ended: {number.name}"):
        drawn[0].result()
    assert drawn[1].result().png


def test_processes_that_hang_are_killed_and_given_up_after_two(worker: ImageWorker) -> None:
    usual = worker.limit_s
    for _ in range(images.MAX_TIMEOUTS):
        process = process_of(worker)
        process.suspend()
        worker.limit_s = 0.2
        with pytest.raises(ImageError, match=r"it took longer than 0\.2 seconds"):
            worker.draw(raw("a")).result()
        psutil.wait_procs([process], timeout=10)
        assert not process.is_running()
        worker.limit_s = usual
    with pytest.raises(ImageError, match="2 images took longer than 30 seconds"):
        worker.draw(raw("a")).result()


def test_a_library_that_cannot_be_loaded_costs_the_images(
    worker: ImageWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vl_convert.py").write_text("raise ImportError('no V8')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ImageError, match="ended: exit code 1: ImportError: no V8"):
        worker.draw(raw("a")).result()


def test_the_process_ends_with_a_killed_parent() -> None:
    program = (
        "import sys, time\n"
        "from assets.charts.images import IMAGES\n"
        "IMAGES.draw({'mark': 'point', 'data': {'values': []}}).result()\n"
        "print(IMAGES.process_id, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[3], stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        process = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    psutil.wait_procs([process], timeout=30)
    assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_an_interrupt_does_not_end_the_process(worker: ImageWorker) -> None:
    process = process_of(worker)
    os.kill(process.pid, signal.SIGINT)
    assert process_of(worker).pid == process.pid


def test_nothing_is_loaded_or_started_until_something_is_drawn() -> None:
    program = (
        "import json, sys, psutil\n"
        "from assets.charts import images\n"
        "from assets.publishing.report import write\n"
        "print(json.dumps([list(sys.modules), len(psutil.Process().children())]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        check=True,
    )
    modules, children = json.loads(done.stdout)
    assert "vl_convert" not in modules
    assert children == 0


def test_control_characters_are_replaced_before_charts_are_drawn(worker: ImageWorker) -> None:
    spec = style.to_spec(raw(*(f"{each}a" for each in HOSTILE), *HOSTILE))
    drawn = worker.draw(spec).result()
    assert "\u2401a" in drawn.svg
    assert "\u2421a" in drawn.svg
    assert "\ufffda" in drawn.svg
    assert not set(HOSTILE) & set(drawn.svg.replace("\n", ""))


def test_other_texts_are_drawn_as_they_are() -> None:
    texts: list[Any] = ["a\\u0001", "ü 🙂 abc", "\ud7ff", "�"]
    assert style.to_spec(raw(*texts)) == raw(*texts)


def test_hidden_characters_are_drawn_as_escapes() -> None:
    (rows,) = style.to_spec(raw("\u202eabc", "\u200b"))["datasets"].values()
    assert [row["name"] for row in rows] == ["\\u202eabc", "\\u200b"]
