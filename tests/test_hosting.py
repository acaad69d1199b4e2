"""The scripts of the templates for static hosts, run on real files and repositories."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.support.documents import ROOT
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

WORKFLOW = yaml.safe_load((ROOT / "deploy/github-pages/report.yml").read_text(encoding="utf-8"))
STEPS = WORKFLOW["jobs"]["report"]["steps"]
(PUBLISH,) = (step for step in STEPS if step.get("name") == "Publish")


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """A repository with one commit on `main`, and no branch for Pages."""
    work = tmp_path / "first"
    work.mkdir()
    git(work, "init", "--quiet", "--initial-branch=main")
    (work / "scoreline.yaml").write_text("benchmarks: {}\n")
    git(work, "add", ".")
    git(work, "commit", "--quiet", "--message", "A project")
    git(tmp_path, "clone", "--quiet", "--bare", str(work), "remote.git")
    return tmp_path / "remote.git"


def publish(remote: Path, job: Path, report: dict[str, str], keep: str = "30") -> Any:
    """Run the step in a fresh, shallow checkout, as `actions/checkout` makes it."""
    git(remote.parent, "clone", "--quiet", "--depth=1", "--branch=main", remote.as_uri(), str(job))
    for name, text in report.items():
        file = job / "published" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", PUBLISH["run"]],
        cwd=job,
        env={**os.environ, **PUBLISH["env"], "KEEP": keep, "GITHUB_SHA": "0123abc"},
        capture_output=True,
        text=True,
        check=False,
    )


def files(remote: Path) -> list[str]:
    return git(remote, "ls-tree", "-r", "--name-only", "gh-pages").splitlines()


def content(remote: Path, name: str) -> str:
    return git(remote, "show", f"gh-pages:{name}")


@takes_minutes
def test_the_latest_report_is_the_first_page_and_earlier_ones_stay(
    remote: Path, tmp_path: Path
) -> None:
    runs: list[set[str]] = []
    for number in range(3):
        report = {
            "index.html": f"report {number}",
            f"report/faq-{number}/index.html": "a benchmark",
            "scoreline.duckdb": "rows",
        }
        done = publish(remote, tmp_path / f"job{number}", report, keep="2")
        assert done.returncode == 0, done.stderr
        assert content(remote, "index.html") == f"report {number}"
        found = {name.split("/")[1] for name in files(remote) if name.startswith("runs/")}
        runs.append(found - {"index.html"})
        subprocess.run(["sleep", "1.1"], check=True)  # addresses of runs differ by the second
    assert [len(each) for each in runs] == [1, 2, 2]
    assert not runs[0] & runs[2]
    assert {content(remote, f"runs/{run}/index.html") for run in runs[2]} == {
        "report 1",
        "report 2",
    }
    assert [name for name in files(remote) if name.startswith("report/")] == [
        "report/faq-2/index.html"
    ]
    assert not [name for name in files(remote) if name.endswith((".duckdb", ".yaml"))]
    assert ".nojekyll" in files(remote)
    listed = content(remote, "runs/index.html")
    newest, older = sorted(runs[2], reverse=True)
    assert listed.index(f'href="{newest}/index.html"') < listed.index(f'href="{older}/index.html"')
    assert git(remote, "rev-list", "--count", "gh-pages").strip() == "1"
    assert git(remote, "log", "-1", "--format=%s", "gh-pages").strip() == "Report of 0123abc"


def test_nothing_is_published_without_a_report(remote: Path, tmp_path: Path) -> None:
    assert publish(remote, tmp_path / "job", {"other.txt": ""}).returncode != 0
    assert "gh-pages" not in git(remote, "branch", "--list")


GITLAB = yaml.safe_load((ROOT / "deploy/gitlab/pages.yml").read_text(encoding="utf-8"))


def deploy(job: Path, report: dict[str, str], keep: str = "30") -> Any:
    """Run the script of the GitLab job in a folder, with what its cache and its needs have left."""
    for name, text in report.items():
        file = job / "published" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (script,) = GITLAB["pages"]["script"]
    return subprocess.run(
        ["sh", "-c", script],
        cwd=job,
        env={**os.environ, **GITLAB["pages"]["variables"], "KEEP": keep},
        capture_output=True,
        text=True,
        check=False,
    )


@takes_minutes
def test_gitlab_deploys_the_latest_report_and_those_in_the_cache(tmp_path: Path) -> None:
    for number in range(3):
        job = tmp_path / f"job{number}"
        job.mkdir()
        if number:
            (tmp_path / f"job{number - 1}" / "runs").rename(job / "runs")
        report = {
            "index.html": f"report {number}",
            f"report/faq-{number}/index.html": "a benchmark",
            "scoreline.duckdb": "rows",
        }
        done = deploy(job, report, keep="2")
        assert done.returncode == 0, done.stderr
        subprocess.run(["sleep", "1.1"], check=True)  # addresses of runs differ by the second
    public = job / "public"
    assert (public / "index.html").read_text() == "report 2"
    assert [path.name for path in (public / "report").iterdir()] == ["faq-2"]
    assert not list(public.rglob("*.duckdb"))
    runs = sorted(path.name for path in (public / "runs").iterdir() if path.is_dir())
    texts = [(public / "runs" / run / "index.html").read_text() for run in runs]
    assert texts == ["report 1", "report 2"]
    listed = (public / "runs" / "index.html").read_text()
    older, newest = (listed.index(f'href="{run}/index.html"') for run in runs)
    assert newest < older


def test_gitlab_deploys_nothing_without_a_report(tmp_path: Path) -> None:
    assert deploy(tmp_path, {"other.txt": ""}).returncode != 0
    assert not (tmp_path / "public").exists()


def test_gitlab_deploys_what_the_evaluation_left_and_keeps_the_runs() -> None:
    pages, evaluate = GITLAB["pages"], GITLAB["evaluate"]
    (included,) = GITLAB["include"]
    path = included["remote"].partition("/scoreline/main/")[2]
    template = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))[evaluate["extends"]]
    assert pages["needs"] == ["evaluate"]
    assert template["artifacts"]["when"] == "always"
    assert f"**/{pages['variables']['PUBLISHED']}/" in template["artifacts"]["paths"]
    assert pages["cache"]["paths"] == ["runs/"]
    assert pages["artifacts"]["paths"] == ["public"]


def test_the_workflow_may_write_to_the_branch_and_uses_the_action() -> None:
    assert WORKFLOW["permissions"] == {"contents": "write"}
    used = [step["uses"].split("@")[0] for step in STEPS if "uses" in step]
    assert used[-1] == "your-organisation/scoreline/deploy/github-action"
    assert (ROOT / "deploy" / "github-action" / "action.yml").is_file()
