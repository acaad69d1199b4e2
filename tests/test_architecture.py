"""The rules of the architecture, checked on the syntax trees of the packages.

Each rule is a function from source files to complaints. Each is also given a small wrong example,
so that a rule that no longer finds anything fails.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("orchestration", "assets", "evaluators", "systems", "calls", "warehouse", "records")
MAX_LINES = 400
MAX_ENTRIES = 16
PEERS = re.compile(r"(^|/)(library/[^/]+|formats|commands|tables|migrations|panels)$")
"""Folders that may hold any number of entries: one for each evaluator, format, command ..."""
VAGUE = frozenset({"utils", "util", "helpers", "helper", "common", "base", "misc"})
HEAVY = frozenset(
    tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"][
        "flake8-tidy-imports"
    ]["banned-module-level-imports"]
)


@dataclass(frozen=True, slots=True)
class Arrow:
    """What the files below a folder may not import.

    Attributes:
        folder: The folder.
        banned: The packages.
        allowed: The modules of these packages that they may import all the same.
    """

    folder: str
    banned: frozenset[str]
    allowed: frozenset[str] = frozenset()

    def forbids(self, module: str) -> bool:
        """Return whether a file below the folder must not import a module."""
        return _top(module) in self.banned and module not in self.allowed


SYSTEMS_MAY_IMPORT = frozenset(
    {
        "evaluators.engines.local.next_text",
        "evaluators.engines.local.text_predictor",
        "evaluators.engines.local.weights",
        "evaluators.engines.roles",
    }
)
"""What systems share with evaluators: local models."""

_UPPER = frozenset({"scoreline", "orchestration", "assets"})
_STORAGE = frozenset({"warehouse", "dagster", "duckdb", "great_expectations"})

# Records import nothing of ours. Evaluators, systems and warehouse are independent, but for the
# local models that evaluators and systems share; calls know none of them, and nothing imports
# orchestration or the public API.
ARROWS = (
    Arrow(
        "records",
        _UPPER | _STORAGE | {"evaluators", "systems", "calls", "polars", "litellm"},
    ),
    Arrow("evaluators", _UPPER | _STORAGE | {"systems"}),
    Arrow("systems", _UPPER | _STORAGE | {"evaluators"}, allowed=SYSTEMS_MAY_IMPORT),
    Arrow("calls", _UPPER | _STORAGE | {"evaluators", "systems"}),
    Arrow(
        "warehouse",
        _UPPER | {"evaluators", "systems", "dagster", "litellm", "torch"},
    ),
    Arrow("assets", frozenset({"scoreline", "orchestration", "litellm", "duckdb"})),
    Arrow("orchestration", frozenset({"scoreline"})),
)


@dataclass(frozen=True, slots=True)
class Source:
    """A Python file: its path from the root of the repository, and its text."""

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return _parse(self.text, self.path)


@cache
def _parse(text: str, path: str) -> ast.Module:
    return ast.parse(text, filename=path)


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module: its line, and whether it runs when the file is imported."""

    module: str
    names: tuple[str, ...]
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
            yield Import(alias.name, (), node.lineno, relative=False, at_import=at_import)
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        names = tuple(alias.name for alias in node.names)
        yield Import(module, names, node.lineno, relative=node.level > 0, at_import=at_import)
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
    """A package imports only what its arrows allow, wherever in the file."""
    return [
        f"{source.path}:{found.line} imports {found.module}; {arrow.folder} must not know it"
        for arrow in ARROWS
        for source in sources
        if source.path.startswith(f"{arrow.folder}/")
        for found in imports(source.tree)
        if arrow.forbids(found.module)
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
    """Imports name their package."""
    return [
        f"{source.path}:{found.line} imports relatively; name the package"
        for source in sources
        for found in imports(source.tree)
        if found.relative
    ]


def lengths(sources: list[Source]) -> list[str]:
    """A file holds one idea: at most 400 lines."""
    counted = [(source.path, len(source.text.splitlines())) for source in sources]
    return [f"{path} has {n} lines; at most {MAX_LINES}" for path, n in counted if n > MAX_LINES]


def levels(sources: list[Source]) -> list[str]:
    """A newcomer can take in every level of a package at once: at most 16 entries."""
    entries: dict[str, set[str]] = defaultdict(set)
    for source in sources:
        parts = Path(source.path).parts
        if parts[0] not in PACKAGES:
            continue
        for depth in range(1, len(parts)):
            if not parts[depth].startswith("__"):
                entries["/".join(parts[:depth])].add(parts[depth])
    return [
        f"{folder} has {len(found)} entries; at most {MAX_ENTRIES}"
        for folder, found in sorted(entries.items())
        if len(found) > MAX_ENTRIES and not PEERS.search(folder)
    ]


def cycles(sources: list[Source]) -> list[str]:
    """No module imports itself through others, neither in functions nor for types only."""
    modules = {_module(source.path): source for source in sources}
    targets: dict[str, set[str]] = {}
    for name, source in modules.items():
        found = set()
        for each in imports(source.tree):
            inner = {f"{each.module}.{imported}" for imported in each.names} & modules.keys()
            found |= inner or ({each.module} & modules.keys())
        targets[name] = found - {name}
    waiting = TopologicalSorter(targets)
    try:
        waiting.prepare()
    except CycleError as error:
        return [" -> ".join(error.args[1])]
    return []


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def module_names_in_strings(sources: list[Source]) -> list[str]:
    """A module's name comes from `__name__` or `__package__`: the wheel puts it below another."""
    named = re.compile(rf"({'|'.join(PACKAGES)})(\.[a-z_]+)+\.?(:\w+)?")
    return [
        f"{source.path}:{node.lineno} holds the module name {node.value!r}"
        for source in sources
        if source.path.startswith(tuple(f"{package}/" for package in PACKAGES))
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and named.fullmatch(node.value)
        and not node.value.endswith((".duckdb", ".py"))
    ]


def dotted_imports(sources: list[Source]) -> list[str]:
    """Own modules are imported with `from`: the wheel rewrites these statements only."""
    return [
        f"{source.path}:{node.lineno} imports {alias.name}; write `from ... import`"
        for source in sources
        if not source.path.startswith(("tests/", "benchmarks/"))
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if _top(alias.name) in PACKAGES
    ]


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
    """DuckDB is opened in one place, which disables its progress bars."""
    return [
        f"{source.path}:{node.lineno} opens DuckDB; warehouse.storage.connect does"
        for source in sources
        if source.path.startswith(tuple(f"{package}/" for package in PACKAGES))
        and source.path != "warehouse/storage/connect.py"
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
    (arrows, [Source("calls/x.py", "from warehouse.store import Warehouse")], "calls/x.py:1"),
    (arrows, [Source("systems/x.py", "from evaluators.metric import Metric")], "systems/x.py:1"),
    (arrows, [Source("evaluators/x.py", "from systems.client import Answer")], "evaluators/x.py:1"),
    (arrows, [Source("records/x.py", "from warehouse.errors import Problem")], "records/x.py:1"),
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
    (
        levels,
        [Source(f"assets/leaderboard/x{n}.py", "") for n in range(17)],
        "assets/leaderboard has 17 entries",
    ),
    (
        cycles,
        [
            Source("assets/a.py", "if TYPE_CHECKING:\n    from assets.b import B"),
            Source("assets/b.py", "def f():\n    from assets import a"),
        ],
        "assets.",
    ),
    (
        module_names_in_strings,
        [Source("assets/x.py", "load('orchestration.definitions')")],
        "assets/x.py:1",
    ),
    (dotted_imports, [Source("assets/x.py", "import warehouse.store")], "warehouse.store"),
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
    (levels, [Source(f"warehouse/formats/x{n}.py", "") for n in range(17)]),
    (levels, [Source(f"assets/leaderboard/x{n}.py", "") for n in range(16)]),
    (
        cycles,
        [
            Source("assets/a.py", "from assets import b"),
            Source("assets/b.py", "from assets.c import C"),
            Source("assets/c.py", ""),
        ],
    ),
    (module_names_in_strings, [Source("assets/x.py", "'warehouse.duckdb', 'the warehouse.'")]),
    (dotted_imports, [Source("assets/x.py", "import dagster as dg, orjson")]),
    (names, [Source("warehouse/database.py", "")]),
    (evaluator_tests, [Source("evaluators/library/f/__init__.py", "")]),
    (noisy_connections, [Source("warehouse/storage/connect.py", "duckdb.connect()")]),
]

RULES = (
    arrows,
    heavy_imports,
    relative_imports,
    lengths,
    levels,
    cycles,
    module_names_in_strings,
    dotted_imports,
    names,
    docstrings,
    evaluator_tests,
    noisy_connections,
)


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    folders = [ROOT / each for each in (*PACKAGES, "scoreline", "tests/evaluators", "benchmarks")]
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


def test_every_package_stands_at_the_root() -> None:
    assert all((ROOT / package / "__init__.py").is_file() for package in PACKAGES)
