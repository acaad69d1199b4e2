"""The catalogue finds every evaluator, builds it with checked parameters, and names near names."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evaluators import catalog, library
from evaluators.errors import BadParameters, BrokenPromise, UnknownEvaluator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Library = dict[str, str]

HEAD = """
import polars as pl
from evaluators.kinds.frame import FrameEvaluator
from evaluators.metric import Metric
"""


def _class(name: str, parents: str = "FrameEvaluator") -> str:
    return f"""
class {name}({parents}):
    metrics = (Metric(name="share", summary="A share.", primary=True),)
    reads = frozenset({{"answer"}})

    def expressions(self):
        return {{"share": pl.lit(1.0)}}
"""


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Library], None]]:
    """Puts files in the place of the library: path in it and text."""
    name = f"shelf_{tmp_path.name}"

    def fill(files: Library) -> None:
        folder = tmp_path / name
        for path, text in ({"__init__.py": ""} | files).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        monkeypatch.setattr(catalog, "library", __import__(name))
        catalog.catalogue.cache_clear()
        catalog.families.cache_clear()

    monkeypatch.syspath_prepend(str(tmp_path))
    yield fill
    catalog.catalogue.cache_clear()
    catalog.families.cache_clear()
    for module in [module for module in sys.modules if module.partition(".")[0] == name]:
        del sys.modules[module]


def test_every_file_of_the_library_is_found() -> None:
    folder = Path(library.__path__[0])
    files = {(path.parent.name, path.stem) for path in folder.rglob("*.py")}
    evaluators = {(place, stem) for place, stem in files if stem != "__init__"}
    found = {(catalog.family_of(cls), name) for name, cls in catalog.catalogue().items()}
    assert found == evaluators
    assert evaluators


def test_sorted_by_family_and_name() -> None:
    names = [(catalog.family_of(cls), name) for name, cls in catalog.catalogue().items()]
    assert names == sorted(names)


def test_the_catalogue_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        catalog.catalogue()["x"] = object  # type: ignore[index]


def test_families_hold_every_evaluator_once() -> None:
    members = [name for names in catalog.families().values() for name in names]
    assert members == list(catalog.catalogue())
    assert catalog.families()["citations"] == ("citation", "evidence_overlap")


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ([], []),
        (["citation"], ["citation"]),
        (["document_retrieval", "citation", "citation"], ["citation", "document_retrieval"]),
        (["citations"], ["citation", "evidence_overlap"]),
        (["evidence_overlap", "citations"], ["citation", "evidence_overlap"]),
        (["mcqa", "citation"], ["citation", "option_confidence"]),
    ],
)
def test_names_and_families_are_resolved(asked: list[str], chosen: list[str]) -> None:
    assert catalog.select(asked) == chosen


@pytest.mark.parametrize("asked", [["all"], ["all", "citation"]])
def test_all_is_everything(asked: list[str]) -> None:
    assert catalog.select(asked) == list(catalog.catalogue())


UNKNOWN = [
    ("citatoin", "unknown evaluator 'citatoin' (did you mean 'citation'?)"),
    ("document-retrieval", "(did you mean 'document_retrieval'?)"),
    ("retrievals", "(did you mean 'retrieval'?)"),
    ("al", "(did you mean 'all'?)"),
    ("xyzzy", "unknown evaluator 'xyzzy'"),
    ("", "unknown evaluator ''"),
]


@pytest.mark.parametrize(("name", "told"), UNKNOWN)
@pytest.mark.parametrize("ask", [lambda name: catalog.select([name]), catalog.build])
def test_unknown_names_suggest_the_nearest(
    ask: Callable[[str], object], name: str, told: str
) -> None:
    with pytest.raises(UnknownEvaluator) as error:
        ask(name)
    assert str(error.value).endswith(told)


@pytest.mark.parametrize("name", ["citations", "all"])
def test_only_evaluators_are_built(name: str) -> None:
    with pytest.raises(UnknownEvaluator, match=repr(name)):
        catalog.build(name)


def test_parameters_keep_their_defaults() -> None:
    built = catalog.build("document_retrieval", {"ndcg_cutoffs": [3]})
    assert built.parameters == {"cutoffs": [1, 5, 10], "ndcg_cutoffs": [3]}
    assert catalog.build("document_retrieval") == catalog.build("document_retrieval", {})


BAD: list[tuple[str, Mapping[str, Any], str]] = [
    (
        "document_retrieval",
        {"cutofs": [1]},
        "document_retrieval: unknown parameter 'cutofs' (did you mean 'cutoffs'?)",
    ),
    (
        "document_retrieval",
        {"x": 1},
        "document_retrieval: unknown parameter 'x'; it takes cutoffs, ndcg_cutoffs",
    ),
    ("citation", {"cutoffs": [1]}, "citation: unknown parameter 'cutoffs'; it takes none"),
    ("document_retrieval", {"cutoffs": 5}, "parameter cutoffs: expected a list, got 5"),
    ("document_retrieval", {"cutoffs": "1,5"}, "parameter cutoffs: "),
    ("document_retrieval", {"cutoffs": [1, "5"]}, "cutoffs.1: expected a whole number, got '5'"),
    ("document_retrieval", {"cutoffs": [1.0]}, "parameter cutoffs.0: "),
    ("document_retrieval", {"cutoffs": [True]}, "parameter cutoffs.0: "),
    ("document_retrieval", {"cutoffs": None}, "parameter cutoffs: "),
    ("document_retrieval", {"cutoffs": []}, "different whole numbers from 1 on, got []"),
    ("document_retrieval", {"cutoffs": [0]}, "different whole numbers from 1 on, got [0]"),
    ("document_retrieval", {"ndcg_cutoffs": [3, 3]}, "whole numbers from 1 on, got [3, 3]"),
    ("classification", {"normalize": "yes"}, "parameter normalize: "),
    ("classification", {"normalize": 1}, "normalize: expected true or false, got 1"),
    ("classification", {"labels": ["a", "a"]}, "labels are repeated: ['a', 'a']"),
    (
        "classification",
        {"labels": ["Yes", "yes."], "normalize": True},
        "labels are repeated: ['Yes', 'yes.']",
    ),
    ("classification", {"labels": ["a", "b"], "positive_label": "c"}, "got ['a', 'b']"),
    ("classification", {"labels": ["a"], "positive_label": "a"}, "needs exactly two labels"),
    (
        "answer_correctness",
        {"weights": [math.inf, 1.0]},
        "weights.0: expected a finite number, got inf",
    ),
    ("answer_correctness", {"beta": math.nan}, "parameter beta: expected a finite number, got nan"),
]


@pytest.mark.parametrize(("name", "parameters", "told"), BAD)
def test_bad_parameters_are_named(name: str, parameters: Mapping[str, Any], told: str) -> None:
    with pytest.raises(BadParameters) as error:
        catalog.build(name, parameters)
    assert told in str(error.value)
    assert str(error.value).startswith(f"{name}: ")


def test_a_library_of_ones_own(shelf: Callable[[Library], None]) -> None:
    shelf(
        {
            "words/__init__.py": "",
            "words/word_count.py": HEAD + _class("WordCount"),
            "animals/__init__.py": "",
            "animals/zebra.py": HEAD + _class("Zebra"),
            "animals/ant.py": HEAD + _class("Ant") + "\nfrom evaluators.evaluator import Evaluator",
        }
    )
    assert catalog.families() == {"animals": ("ant", "zebra"), "words": ("word_count",)}
    assert catalog.build("word_count").name == "word_count"


BROKEN = [
    ("nothing in it", {"word_count.py": ""}, BrokenPromise, "words.word_count: expected one"),
    ("another name", {"word_count.py": HEAD + _class("Words")}, BrokenPromise, r"\['words'\]"),
    (
        "two of them",
        {"word_count.py": HEAD + _class("WordCount") + _class("Words")},
        BrokenPromise,
        r"\['word_count', 'words'\]",
    ),
    (
        "an unfinished one",
        {"word_count.py": HEAD + "class WordCount(FrameEvaluator):\n    reads = frozenset()"},
        BrokenPromise,
        r"found \[\]",
    ),
    (
        "one that is defined elsewhere",
        {
            "line_count.py": HEAD + _class("LineCount"),
            "word_count.py": "from evaluators.library.citations.citation import Citation",
        },
        BrokenPromise,
        "word_count: expected one",
    ),
    ("a file that cannot be read", {"word_count.py": "class"}, SyntaxError, "invalid syntax"),
    ("a missing library", {"word_count.py": "import no_such"}, ImportError, "no_such"),
    ("a broken family", {"__init__.py": "import no_such"}, ImportError, "no_such"),
    ("a failing family", {"__init__.py": "1 / 0"}, ZeroDivisionError, "division"),
]


@pytest.mark.parametrize(
    ("files", "kind", "told"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_a_broken_file_is_found(
    shelf: Callable[[Library], None], files: Library, kind: type[Exception], told: str
) -> None:
    inside = {"__init__.py": ""} | files
    shelf({f"words/{path}": text for path, text in inside.items()})
    with pytest.raises(kind, match=told):
        dict(catalog.catalogue())


def test_one_name_in_two_families_is_found(shelf: Callable[[Library], None]) -> None:
    one = {"__init__.py": "", "word_count.py": HEAD + _class("WordCount")}
    shelf({f"{place}/{path}": text for place in ("a", "b") for path, text in one.items()})
    with pytest.raises(BrokenPromise, match="defines 'word_count', too"):
        catalog.catalogue()


def test_only_the_files_of_chosen_evaluators_are_read() -> None:
    code = """
import sys
from evaluators import catalog
catalog.select(["rouge"]), catalog.families(), "bleu" in catalog.catalogue()
catalog.build("rouge")
print([m for m in sys.modules if m.startswith("evaluators.library.") and m.count(".") == 3])
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "['evaluators.library.summarization.rouge']"
