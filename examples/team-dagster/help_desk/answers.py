"""The team's own asset: what two versions of its search answer to each question."""

import re
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import polars as pl

HOME = Path(__file__).parents[1]
LONG = 5


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def _by_words(question: str, text: str) -> float:
    """Return how many words of the question the article has."""
    return len(_words(question) & _words(text))


def _by_long_words(question: str, text: str) -> float:
    """Return the same for words of at least `LONG` letters."""
    return len({word for word in _words(question) & _words(text) if len(word) >= LONG})


SYSTEMS: dict[str, Callable[[str, str], float]] = {"words": _by_words, "long-words": _by_long_words}


@dg.asset(key=["help_desk", "answers"], group_name="help_desk", kinds={"polars", "parquet"})
def answers() -> dg.MaterializeResult[None]:
    """Answer each question with the article that suits it best; one file for each system."""
    articles = pl.read_ndjson(HOME / "data" / "articles.jsonl").rows()
    questions = pl.read_ndjson(HOME / "data" / "questions.jsonl").select("question_id", "question")
    folder = HOME / "answers"
    folder.mkdir(exist_ok=True)
    for system, similarity in SYSTEMS.items():
        rows = []
        for question_id, question in questions.iter_rows():
            doc_id, text = max(articles, key=lambda each: similarity(question, each[1]))
            retrieved = [{"doc_id": doc_id, "rank": 1}]
            rows.append({"question_id": question_id, "answer": text, "retrieved": retrieved})
        pl.DataFrame(rows).write_parquet(folder / f"{system}.parquet")
    return dg.MaterializeResult(metadata={"questions": questions.height, "systems": len(SYSTEMS)})
