"""Parts of NLTK are those of NLTK, load little, and leave nothing behind."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evaluators.text.nltk_parts import import_part
from tests.services import takes_minutes

ALONE = """
import random, sys
from evaluators.text.nltk_parts import import_part
stem = import_part("nltk.stem.porter").PorterStemmer().stem
tokenize = import_part("nltk.tokenize.destructive").NLTKWordTokenizer().tokenize
print(stem("relational"), tokenize("It's done."))
print(sorted({"nltk", "pandas", "scipy", "sklearn"} & set(sys.modules)))
# All of it, from now on.
import nltk
from nltk.stem.porter import PorterStemmer
from nltk.tokenize.destructive import NLTKWordTokenizer
draw = random.Random(7)
words = ["".join(draw.choices("aeiouylsbdtgn", k=draw.randint(1, 12))) for _ in range(5_000)]
print([word for word in words if stem(word) != PorterStemmer().stem(word)])
texts = ["".join(draw.choices("ab .,'\\"()%$-!\\n", k=30)) for _ in range(500)]
print([text for text in texts if tokenize(text) != NLTKWordTokenizer().tokenize(text)])
print(nltk.edit_distance("ab", "ac"), nltk.word_tokenize.__module__)
"""


@takes_minutes
def test_parts_are_equal_and_light_and_leave_nothing_behind() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.splitlines() == [
        "relat ['It', \"'s\", 'done', '.']",
        *("[]", "[]", "[]"),
        "1 nltk.tokenize",
    ], done.stderr


def test_a_module_that_does_not_exist() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"nltk\.nothing"):
        import_part("nltk.nothing.here")
