"""The report is replaced in one step, keeps unchanged folders, and forbids network access."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from assets.publishing.report import benchmark_page, templates_env, write
from assets.publishing.report.write import write_report
from tests.support.services import takes_minutes
from warehouse.publish.snapshot import FILE_NAME, Snapshot

if TYPE_CHECKING:
    from tests.assets.conftest import Workshop


def linked(publish: Path) -> str:
    """Return the folder that the first page links to."""
    page = (publish / "index.html").read_text(encoding="utf-8")
    (found,) = set(re.findall(r'href="report/([^"/]+)/index.html"', page))
    return str(found)


def content(script: Path) -> bytes:
    """Return the content of a data file."""
    packed = re.fullmatch(
        rb'scoreline\.give\("[a-z0-9_-]+","([A-Za-z0-9+/=]+)"\);\n', script.read_bytes()
    )
    assert packed
    return gzip.decompress(base64.b64decode(packed[1]))


def test_each_benchmark_has_a_page_with_data_and_no_images(published: Workshop) -> None:
    publish = published.project.publish
    whole = publish / "report" / linked(publish)
    assert (whole / "index.html").is_file()
    # The list of files shows later runs whether the folder is complete.
    files = {path for path in whole.rglob("*") if path.is_file()} - {whole / ".files.json"}
    assert {path.suffix for path in files} == {".html", ".js"}
    asked = json.loads(content(whole / "data" / "questions.js"))
    assert [row[0] for row in asked] == [f"q{i}" for i in range(6)]
    tables = json.loads(content(whole / "data" / "answers-0.js"))
    assert tables["known"][0]["id"] == "q0"
    assert tables["answers"]["question"][:2] == [0, 0]
    assert tables["answers"]["system"][:2] == ["good", "poor"]
    docs = tables["answers"]["docs"]
    first = docs["lengths"][0]
    assert docs["values"][first : first + docs["lengths"][1]] == ["d9", "d8"]


@takes_minutes
def test_unchanged_folders_stay_and_outdated_ones_are_removed(published: Workshop) -> None:
    publish = published.project.publish
    copy = Snapshot(publish / FILE_NAME)
    before = linked(publish)
    made = (publish / "report" / before / "index.html").stat().st_mtime_ns
    write_report(copy, publish)
    assert linked(publish) == before
    assert (publish / "report" / before / "index.html").stat().st_mtime_ns == made

    found = [before]
    for at in range(2):
        published.with_prediction("poor", at, answer="something else", cited_sentence_ids=["S2"])
        published.run()
        found.append(linked(publish))
    assert len(set(found)) == 3
    # Readers of the previous report may still follow its links.
    kept = {path.name for path in (publish / "report").iterdir() if path.is_dir()}
    assert kept == set(found[1:])


def test_a_failed_report_leaves_the_old_one(
    published: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = published.project.publish
    before = (publish / "index.html").read_bytes()
    folder = linked(publish)
    (publish / "report" / folder).rename(publish / "elsewhere")

    def broken(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(benchmark_page, "render_page", broken)
    with pytest.raises(OSError, match="No space"):
        write_report(Snapshot(publish / FILE_NAME), publish)
    assert (publish / "index.html").read_bytes() == before
    assert not [path for path in (publish / "report").iterdir() if path.is_dir()]


def test_pages_contain_no_address_and_allow_none(published: Workshop) -> None:
    publish = published.project.publish
    folder = publish / "report" / linked(publish)
    sources = {
        publish / "index.html": "script-src &#39;sha256-",
        folder / "index.html": "script-src &#39;self&#39;; style-src &#39;self&#39; ",
    }
    for page, start in sources.items():
        text = page.read_text(encoding="utf-8")
        (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
        assert policy.startswith(f"default-src &#39;none&#39;; {start}")
        assert policy.count("sha256-") == text.count("<script>")
        assert "unsafe-eval" not in policy
        assert "http" not in policy
        assert not re.findall(r'(?:src|href)="(?:https?:)?//', text)
        assert not re.findall(r"\son[a-z]+=", re.sub(r"(?s)<script.*?</script>", "", text))


def test_all_pages_share_scripts_and_style(published: Workshop) -> None:
    publish = published.project.publish
    page = (publish / "report" / linked(publish) / "index.html").read_text(encoding="utf-8")
    names = re.findall(r'(?:<script src|<link rel="stylesheet" href)="\.\./([^"]+)">', page)
    assert [re.sub("[0-9a-f]{12}", "*", name) for name in names] == [
        *("page-*.css", "vega-*.js", "page-*.js"),
    ]
    shared = {path.name: path for path in (publish / "report").glob("*.*s")}
    assert sorted(shared) == sorted(names)
    assert "vegaEmbed" in shared[names[1]].read_text(encoding="utf-8")
    assert len(page) < 40_000
    assert "<script>" not in page
    assert "<style>" not in page


def test_scripts_of_earlier_reports_are_removed(
    published: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = published.project.publish
    copy = Snapshot(publish / FILE_NAME)
    files = benchmark_page.shared_files()
    names = [next(name for name in files if name.startswith("vega-"))]
    folders = [linked(publish)]
    for at in range(2):
        names.append(f"vega-{at}.js")
        changed = {names[-1] if name == names[0] else name: make for name, make in files.items()}
        for module in (write, benchmark_page):
            monkeypatch.setattr(module, "shared_files", lambda changed=changed: changed)
        write_report(copy, publish)
        folders.append(linked(publish))
    # Another script gives other pages. Those of the previous report keep theirs.
    assert len(set(folders)) == 3
    assert {path.name for path in (publish / "report").glob("vega-*.js")} == set(names[1:])


def test_no_script_creates_markup_from_text() -> None:
    files = list(Path(str(templates_env.PAGE)).rglob("*.js"))
    assert len(files) > 10
    ours = "".join(file.read_text(encoding="utf-8") for file in files)
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in ours
