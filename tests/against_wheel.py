"""Runs the everyday tests against the installed wheel.

In the wheel all packages are below `scoreline`. The tests are copied, with their imports rewritten
like those of the wheel, beside no package of the repository. Arguments of
`python -m tests.against_wheel` go to pytest.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from hatch_build import PACKAGES

ROOT = Path(__file__).parents[1]

_ANY = "|".join(PACKAGES)
FROM = re.compile(rf"\bfrom ({_ANY})(?=(?:\.\w+)* import )")
"""Imports, also in programs that tests start."""
WHOLE = re.compile(rf"^import ({_ANY})$", re.MULTILINE)
NAMED = re.compile(rf"""(?<=["'])({_ANY})\.(\w+)(?=[\w.]*["'])""")
"""The beginning of a text that may be the name of a module."""

OF_THE_TREE = (
    "tests/against_wheel.py",
    "tests/docs",
    "tests/test_architecture.py",
    "tests/test_new_fields.py",
    "tests/test_packaging.py",
    "tests/test_wheel.py",
)
"""Tests of the source tree."""


def rewritten(text: str) -> str:
    """Return the source of a test with the names that modules have in the wheel."""

    def relocated(found: re.Match[str]) -> str:
        path = ROOT.joinpath(*found.groups())
        is_module = path.is_dir() or path.with_suffix(".py").is_file()
        return f"scoreline.{found[0]}" if is_module else found[0]

    whole = WHOLE.sub(r"from scoreline import \1", text)
    return NAMED.sub(relocated, FROM.sub(r"from scoreline.\1", whole))


def copy_tests(target: Path) -> None:
    """Copy all files under version control but the packages and the tests of the source tree."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in listed.stdout.splitlines():
        if name.startswith((*(f"{each}/" for each in (*PACKAGES, "scoreline")), *OF_THE_TREE)):
            continue
        copy = target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy)
        if copy.suffix == ".py":
            copy.write_text(rewritten(copy.read_text("utf-8")), "utf-8")


def install(folder: Path) -> Path:
    """Install the wheel without the packages of this environment, which it shares; its Python."""
    build = ["-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run([sys.executable, *build], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    pip = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    subprocess.run([str(python), *pip, str(wheel)], check=True)
    (site,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    # Files *.pth in a folder that is added so are not read: the packages here stay unknown.
    (site / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return python


def main() -> int:
    """Run the tests; return pytest's exit code."""
    with tempfile.TemporaryDirectory(prefix="scoreline-wheel-") as folder:
        tree = Path(folder) / "tree"
        copy_tests(tree)
        python = install(Path(folder))
        arguments = sys.argv[1:] or ["-n", "2", "--dist", "loadfile"]
        tests = [str(python), "-m", "pytest", *arguments]
        return subprocess.run(tests, cwd=tree, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
