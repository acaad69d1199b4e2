"""What a fresh clone relies on: pins, the Makefile, the wheel, and that nothing names a machine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.test_architecture import imports
from tests.test_wheel import required_by

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = ("orchestration", "assets", "evaluators", "systems", "calls", "warehouse", "records")
TARGETS = ("demo", "test", "lint", "types", "bench", "docs", "dev", "help")
HEAVY_EXTRAS = {"base": ("models", "lake", "bench"), "dev": ("models", "bench")}


def pins(text: str) -> dict[str, Version]:
    """The versions by name; every line must be a comment or `name==version`."""
    found: dict[str, Version] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        matched = re.fullmatch(r"([a-z0-9][a-z0-9.-]*)==([0-9][0-9a-z.]*)", line)
        assert matched, f"not a pin: {line!r}"
        name = canonicalize_name(matched[1])
        assert name not in found, f"pinned twice: {name}"
        found[name] = Version(matched[2])
    return found


PINS = pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))


def requirements() -> list[Requirement]:
    extras = PROJECT["project"]["optional-dependencies"].values()
    listed = [*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"]]
    return [Requirement(text) for text in [*listed, *(text for extra in extras for text in extra)]]


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_every_requirement_is_pinned_within_its_range(requirement: Requirement) -> None:
    pin = PINS[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(pin, prereleases=True)


def test_what_the_requirements_need_is_pinned_too() -> None:
    """Walks the installed distributions from ours; extras that are not installed are left out."""
    waiting, seen, lacking = [Requirement("scoreline[dev]")], set(), set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        key = (name, frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        if name != "scoreline" and name not in PINS:
            lacking.add(name)
        try:
            needed = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        for text in needed:
            need = Requirement(text)
            environments = [{"extra": extra} for extra in requirement.extras or {""}]
            if need.marker is None or any(need.marker.evaluate(e) for e in environments):
                waiting.append(need)
    assert lacking == set()
    assert len(seen) > len(PROJECT["project"]["dependencies"])


def test_torch_has_no_local_version() -> None:
    assert str(PINS["torch"]) == "2.13.0"


@pytest.mark.parametrize("wrong", ["torch>=2", "torch==2.13.0+cpu", "x @ file:///x", "a==1\nA==2"])
def test_a_wrong_pin_is_found(wrong: str) -> None:
    with pytest.raises(AssertionError):
        pins(wrong)


def test_demo_and_test_need_no_heavy_extra() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipes = {
        stamp: makefile.partition(f"$(VENV)/.{stamp}: ")[2].partition("\n\n")[0]
        for stamp in HEAVY_EXTRAS
    }
    assert all(recipes.values())
    assert not [
        (stamp, extra)
        for stamp, recipe in recipes.items()
        for extra in HEAVY_EXTRAS[stamp]
        if extra in recipe
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_make_knows(target: str) -> None:
    subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)


def test_make_refuses_a_python_that_is_too_old(tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "demo", "PYTHON=", f"VENV={tmp_path / 'venv'}"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "needs Python 3.11, 3.12 or 3.13" in done.stderr


def test_the_wheel_holds_one_package_with_all_files(tmp_path: Path) -> None:
    command = ["-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run([sys.executable, *command], cwd=ROOT, check=True, capture_output=True)
    (path,) = tmp_path.glob("scoreline-*.whl")
    with ZipFile(path) as wheel:
        inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
        code = {name: wheel.read(name).decode() for name in inside if name.endswith(".py")}
    expected = {
        f"scoreline/{each.relative_to(ROOT).as_posix()}".replace(
            "scoreline/scoreline/", "scoreline/"
        )
        for package in ("scoreline", *PACKAGES)
        for each in (ROOT / package).rglob("*")
        if each.is_file() and "__pycache__" not in each.parts
    }
    assert inside == expected
    moved = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(PACKAGES)})\b", re.MULTILINE)
    assert [name for name, text in code.items() if moved.search(text)] == []


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_no_file_names_a_mirror_or_a_home() -> None:
    named = re.compile(
        rb"--(?:extra-)?index-url|--find-links|PIP_INDEX_URL|file:///(?!x\b)|/home/|/root/"
    )
    wrong = [
        path.relative_to(ROOT).as_posix()
        for path in tracked()
        if path != Path(__file__) and named.search(path.read_bytes())
    ]
    assert wrong == []


def test_every_link_between_pages_leads_somewhere() -> None:
    pages = [path for path in tracked() if path.suffix == ".md"]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert pages
    assert broken == []


def test_modules_import_only_what_every_installation_has() -> None:
    """What an extra installs is imported inside functions."""
    found = required_by(distribution("scoreline"))
    everyday = {canonicalize_name(each.metadata["Name"]) for each in found}
    owners = packages_distributions()
    wrong = {
        f"{path.relative_to(ROOT)}: {each.module}"
        for package in ("scoreline", *PACKAGES)
        for path in (ROOT / package).rglob("*.py")
        for each in imports(ast.parse(path.read_text(encoding="utf-8")))
        if each.at_import
        and (top := each.module.partition(".")[0]) not in sys.stdlib_module_names
        and top not in ("scoreline", *PACKAGES)
        and not everyday & {canonicalize_name(name) for name in owners.get(top, [])}
    }
    assert wrong == set()
