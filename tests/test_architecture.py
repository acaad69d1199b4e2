"""The rules of the architecture, read off the syntax trees of the four rooms.

Each rule is a function from source files to complaints; each is also shown a small wrong example,
so that a rule that has stopped looking is noticed.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("orchestration", "assets", "evaluators", "warehouse")
LONGEST = 400
VAGUE = frozenset({"utils", "util", "helpers", "helper", "common", "base", "misc"})
HEAVY = frozenset(
    tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"][
        "flake8-tidy-imports"
    ]["banned-module-level-imports"]
)


@dataclass(frozen=True, slots=True)
class Arrow:
    """What the files below a folder may not import."""

    folder: str
    banned: frozenset[str]


# DESIGN 2: evaluators and warehouse do not know each other; nothing imports orchestration.
ARROWS = (
    Arrow(
        "evaluators",
        frozenset({"orchestration", "assets", "warehouse", "dagster", "duckdb"})
        | {"great_expectations"},
    ),
    Arrow(
        "warehouse",
        frozenset({"orchestration", "assets", "evaluators", "dagster", "litellm", "torch"}),
    ),
    Arrow("assets", frozenset({"orchestration", "litellm", "duckdb"})),
)


@dataclass(frozen=True, slots=True)
class Source:
    """A Python file: its path from the root of the repository, and its text."""

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text, filename=self.path)


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module: where it stands, and whether it runs when the file is imported."""

    module: str
    line: int
    relative: bool
    at_import: bool


Rule = Callable[[list[Source]], list[str]]


def imports(tree: ast.Module) -> list[Import]:
    """Every import of a file, also those inside functions and under TYPE_CHECKING."""
    return list(_imports(tree, at_import=True))


def _imports(node: ast.AST, *, at_import: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, node.lineno, relative=False, at_import=at_import)
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        yield Import(module, node.lineno, relative=node.level > 0, at_import=at_import)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, at_import=False)
    elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        for child in node.body:
            yield from _imports(child, at_import=False)
        for child in node.orelse:
            yield from _imports(child, at_import=at_import)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, at_import=at_import)


def _top(module: str) -> str:
    return module.partition(".")[0]


def arrows(sources: list[Source]) -> list[str]:
    """A room imports only what its arrows allow, wherever in the file the import stands."""
    return [
        f"{source.path}:{found.line} imports {found.module}; {arrow.folder} must not know it"
        for arrow in ARROWS
        for source in sources
        if source.path.startswith(f"{arrow.folder}/")
        for found in imports(source.tree)
        if _top(found.module) in arrow.banned
    ]


def heavy_imports(sources: list[Source]) -> list[str]:
    """What takes seconds to import stands inside functions; tests and benchmarks may import it."""
    return [
        f"{source.path}:{found.line} imports {found.module} at import; do it inside a function"
        for source in sources
        if not source.path.startswith(("tests/", "benchmarks/"))
        for found in imports(source.tree)
        if found.at_import and _top(found.module) in HEAVY
    ]


def relative_imports(sources: list[Source]) -> list[str]:
    """Imports name their room."""
    return [
        f"{source.path}:{found.line} imports relatively; name the room"
        for source in sources
        for found in imports(source.tree)
        if found.relative
    ]


def lengths(sources: list[Source]) -> list[str]:
    """A file holds one idea: at most 400 lines."""
    counted = [(source.path, len(source.text.splitlines())) for source in sources]
    return [f"{path} has {n} lines; at most {LONGEST}" for path, n in counted if n > LONGEST]


def names(sources: list[Source]) -> list[str]:
    """Folders and files say what is in them."""
    return [
        f"{source.path}: {part!r} says nothing about what is in it"
        for source in sources
        for part in Path(source.path).with_suffix("").parts
        if part.lstrip("_") in VAGUE
    ]


def docstrings(sources: list[Source]) -> list[str]:
    """A module opens with one sentence."""
    return [
        f"{source.path} has no docstring"
        for source in sources
        if not (ast.get_docstring(source.tree) or "").strip()
    ]


def evaluator_tests(sources: list[Source]) -> list[str]:
    """Every evaluator has a test file of its name in a folder of its family's name."""
    paths = {source.path for source in sources}
    complaints = []
    for path in sorted(paths):
        parts = Path(path).parts
        if parts[:2] != ("evaluators", "library") or Path(path).name == "__init__.py":
            continue
        expected = Path("tests", "evaluators", *parts[2:-1], f"test_{parts[-1]}").as_posix()
        if expected not in paths:
            complaints.append(f"{path} has no test {expected}")
    return complaints


def noisy_connections(sources: list[Source]) -> list[str]:
    """DuckDB is opened in one place, where it is told to draw no progress bars."""
    return [
        f"{source.path}:{node.lineno} opens DuckDB; warehouse.storage.connection_pool does"
        for source in sources
        if source.path.startswith(tuple(f"{room}/" for room in ROOMS))
        and source.path != "warehouse/storage/connection_pool.py"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "duckdb.connect"
    ]


WRONG: list[tuple[Rule, list[Source], str]] = [
    (arrows, [Source("evaluators/x.py", "import warehouse.store")], "evaluators/x.py:1"),
    (arrows, [Source("evaluators/x.py", "def f():\n    import duckdb")], "evaluators/x.py:2"),
    (
        arrows,
        [Source("warehouse/x.py", "if TYPE_CHECKING:\n    from evaluators import metric")],
        "warehouse/x.py:2",
    ),
    (arrows, [Source("warehouse/x.py", "from dagster import asset")], "imports dagster"),
    (
        arrows,
        [Source("assets/x.py", "from orchestration import instance")],
        "assets/x.py:1",
    ),
    (arrows, [Source("assets/report/x.py", "import duckdb")], "assets must not know it"),
    (heavy_imports, [Source("warehouse/x.py", "try:\n    import sklearn\nfinally: ...")], ":2"),
    (heavy_imports, [Source("assets/x.py", "class A:\n    import torch.nn")], "torch.nn at import"),
    (
        heavy_imports,
        [Source("assets/x.py", "if TYPE_CHECKING: ...\nelse:\n    import litellm")],
        "assets/x.py:3",
    ),
    (relative_imports, [Source("warehouse/x.py", "from . import store")], "warehouse/x.py:1"),
    (lengths, [Source("warehouse/x.py", "\n" * 401)], "401 lines"),
    (names, [Source("assets/common/x.py", "")], "'common'"),
    (names, [Source("assets/_utils.py", "")], "'_utils'"),
    (docstrings, [Source("assets/x.py", "import json")], "assets/x.py"),
    (docstrings, [Source("assets/x.py", '"""  """')], "assets/x.py"),
    (
        evaluator_tests,
        [Source("evaluators/library/f/e.py", ""), Source("tests/evaluators/g/test_e.py", "")],
        "tests/evaluators/f/test_e.py",
    ),
    (noisy_connections, [Source("warehouse/x.py", "with duckdb.connect() as c: ...")], "x.py:1"),
]

RIGHT: list[tuple[Rule, list[Source]]] = [
    (arrows, [Source("assets/x.py", "from evaluators.metric import Metric\nimport warehouse")]),
    (arrows, [Source("orchestration/x.py", "import duckdb, assets.keys, warehouse, evaluators")]),
    (arrows, [Source("warehouse/x.py", "import evaluatorsque")]),
    (heavy_imports, [Source("assets/x.py", "def f():\n    import torch")]),
    (heavy_imports, [Source("assets/x.py", "if TYPE_CHECKING:\n    import torch")]),
    (lengths, [Source("warehouse/x.py", "\n" * 400)]),
    (names, [Source("warehouse/database.py", "")]),
    (evaluator_tests, [Source("evaluators/library/f/__init__.py", "")]),
    (noisy_connections, [Source("warehouse/storage/connection_pool.py", "duckdb.connect()")]),
]

RULES = (
    arrows,
    heavy_imports,
    relative_imports,
    lengths,
    names,
    docstrings,
    evaluator_tests,
    noisy_connections,
)


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    folders = [ROOT / folder for folder in (*ROOMS, "tests/evaluators", "benchmarks")]
    paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
    assert len(paths) > len(folders)
    return [
        Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in paths
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_repository_keeps(rule: Rule, sources: list[Source]) -> None:
    complaints = rule(sources)
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(("rule", "wrong", "expected"), WRONG)
def test_a_wrong_example_is_found(rule: Rule, wrong: list[Source], expected: str) -> None:
    complaints = rule(wrong)
    assert len(complaints) == 1
    assert expected in complaints[0]


@pytest.mark.parametrize(("rule", "right"), RIGHT)
def test_a_right_example_passes(rule: Rule, right: list[Source]) -> None:
    assert rule(right) == []


def test_every_rule_has_a_wrong_example() -> None:
    assert {rule for rule, _, _ in WRONG} == set(RULES)


def test_heavy_imports_are_listed() -> None:
    assert {"litellm", "torch"} <= HEAVY


def test_every_room_stands_at_the_root() -> None:
    assert all((ROOT / room / "__init__.py").is_file() for room in ROOMS)
