"""Retrieval metrics on 200,000 queries x 10 documents: Scoreline, ranx and pytrec_eval.

All three compute the same measures for every query and must agree to 1e-9. Each is measured twice:
from plain Python dictionaries, and from the form that it works on (a frame; ranx's Qrels and Run;
those dictionaries are pytrec_eval's own form). ranx compiles on first use: it is warmed up before.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import time
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl
import pyarrow as pa

from benchmarks.measure import table
from evaluators import catalog
from evaluators.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from evaluators.score_grid import ScoreGrid

Judgements = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
Result = TypeVar("Result")

TOLERANCE = 1e-9
CUTOFFS = (1, 5, 10)
# Our name: pytrec_eval's, ranx's.
MEASURES = {
    **{f"recall_at_{k}": (f"recall_{k}", f"recall@{k}") for k in CUTOFFS},
    **{f"hit_at_{k}": (f"success_{k}", f"hit_rate@{k}") for k in CUTOFFS},
    **{f"precision_at_{k}": (f"P_{k}", f"precision@{k}") for k in CUTOFFS},
    "ndcg_at_10": ("ndcg_cut_10", "ndcg@10"),
    "mrr": ("recip_rank", "mrr"),
    "map": ("map", "map"),
    "r_precision": ("Rprec", "r-precision"),
}
EVALUATOR = catalog.build("document_retrieval", {"cutoffs": list(CUTOFFS), "ndcg_cutoffs": [10]})


def data(queries: int, seed: int = 20) -> tuple[Judgements, Run]:
    """Judgements (one to four relevant documents of grade 1 to 3) and a run without ties."""
    draw = random.Random(seed)
    judgements: Judgements = {}
    run: Run = {}
    for number in range(queries):
        ids = [f"d{n}" for n in draw.sample(range(100_000), 13)]
        query = f"q{number:06d}"
        relevant = draw.sample(ids, draw.randint(1, 4))
        judgements[query] = {doc: draw.randint(1, 3) for doc in relevant}
        run[query] = {doc: 1 - rank / 16 for rank, doc in enumerate(ids[:10])}
    return judgements, run


def frame(judgements: Judgements, run: Run) -> pl.DataFrame:
    """The samples that `document_retrieval` reads: what the warehouse hands over."""
    gold = [judgements.get(query, {}) for query in run]
    ids = pl.Series(list(chain.from_iterable(gold)), dtype=pl.String)
    grades = list(chain.from_iterable(each.values() for each in gold))
    relevance = pl.DataFrame({"doc_id": ids, "grade": pl.Series(grades, dtype=pl.Int32)})
    retrieved = pl.Series(list(chain.from_iterable(run.values())), dtype=pl.String)
    return pl.DataFrame(
        {
            "question_id": list(run),
            "retrieved_doc_ids": lists(retrieved, run.values()),
            "gold_doc_ids": lists(ids, gold),
            "gold_relevance": lists(relevance.to_struct(), gold),
        }
    ).with_columns(
        benchmark=pl.lit("retrieval"), system=pl.lit("run"), error=pl.lit(None, pl.String)
    )


def lists(values: pl.Series, groups: Collection[Collection[str]]) -> pl.Series:
    """One list for each group, of the values that are its turn."""
    ends = pa.array(accumulate(map(len, groups), initial=0), pa.int64())
    return pl.Series(pl.from_arrow(pa.LargeListArray.from_arrays(ends, values.to_arrow())))


def of_scoreline(grades: ScoreGrid) -> pl.DataFrame:
    """Scoreline's values: one column a measure, one row a query."""
    fields = [pl.col("values").list.get(i).alias(name) for i, name in enumerate(grades.metrics)]
    return grades.frame.select("question_id", *fields)


def pytrec_eval_values(judgements: Judgements, run: Run) -> Any:
    """What pytrec_eval says: query, measure, value."""
    import pytrec_eval

    names = {theirs for theirs, _ in MEASURES.values()}
    return pytrec_eval.RelevanceEvaluator(judgements, names).evaluate(run)


def of_pytrec_eval(values: Any) -> pl.DataFrame:
    """The values of pytrec_eval in the form of `of_scoreline`."""
    columns = {
        name: [row[theirs] for row in values.values()] for name, (theirs, _) in MEASURES.items()
    }
    return pl.DataFrame({"question_id": list(values), **columns})


def ranx_forms(judgements: Judgements, run: Run) -> tuple[Any, Any]:
    """The input in the form that ranx works on."""
    import ranx

    return ranx.Qrels(judgements), ranx.Run(run)


def ranx_values(forms: tuple[Any, Any]) -> Any:
    """What ranx says: measure, array of values in the order of its run's queries."""
    import ranx

    qrels, run = forms
    names = [theirs for _, theirs in MEASURES.values()]
    return ranx.evaluate(qrels, run, names, return_mean=False)


def of_ranx(values: Any, forms: tuple[Any, Any]) -> pl.DataFrame:
    """The values of ranx in the form of `of_scoreline`."""
    columns = {name: values[theirs] for name, (_, theirs) in MEASURES.items()}
    return pl.DataFrame({"question_id": list(forms[1].keys()), **columns})


def largest_difference(one: pl.DataFrame, other: pl.DataFrame) -> float:
    """The largest absolute difference of any measure of any query."""
    one, other = one.sort("question_id"), other.sort("question_id")
    if not one["question_id"].equals(other["question_id"]):
        raise SystemExit("the two did not score the same queries")
    gaps = [(one[name] - other[name]).abs().max() for name in MEASURES]
    return max(float(gap) for gap in gaps if isinstance(gap, float))


def best(call: Callable[[], Result], repeats: int) -> tuple[float, Result]:
    """The shortest of some times in seconds, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return min(times), result


def main() -> None:
    """Measure whatever is installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    judgements, run = data(arguments.queries)
    repeats = arguments.repeats
    samples = frame(judgements, run)
    score(EVALUATOR, samples.head(100))
    plain, _ = best(lambda: score(EVALUATOR, frame(judgements, run)), repeats)
    prepared, grades = best(lambda: score(EVALUATOR, samples), repeats)
    values = of_scoreline(grades)
    rows = [["Scoreline", f"{plain:.2f}", "1.0", f"{prepared:.2f}", "1.0", "-"]]
    measured: Mapping[str, Callable[[], tuple[float, float, pl.DataFrame]]] = {
        "pytrec_eval": lambda: _pytrec(judgements, run, repeats),
        "ranx": lambda: _ranx(judgements, run, repeats),
    }
    for name, measure in measured.items():
        if importlib.util.find_spec(name) is None:
            print(f"skipped {name}: it is not installed (extra `bench`)")
            continue
        from_plain, from_own, theirs = measure()
        gap = largest_difference(values, theirs)
        if not gap <= TOLERANCE:
            raise SystemExit(f"{name} differs from Scoreline by {gap:g}")
        own = [f"{from_own:.2f}", f"{from_own / prepared:.1f}"]
        rows.append([name, f"{from_plain:.2f}", f"{from_plain / plain:.1f}", *own, f"{gap:.0e}"])
    print(f"{arguments.queries:,} queries x 10 documents, {len(MEASURES)} measures for each query")
    heads = ["", "from dictionaries s", "ratio", "native s", "ratio", "largest gap"]
    print(table(heads, rows))


def _pytrec(judgements: Judgements, run: Run, repeats: int) -> tuple[float, float, pl.DataFrame]:
    seconds, values = best(lambda: pytrec_eval_values(judgements, run), repeats)
    return seconds, seconds, of_pytrec_eval(values)


def _ranx(judgements: Judgements, run: Run, repeats: int) -> tuple[float, float, pl.DataFrame]:
    few = list(run)[:10]
    ranx_values(ranx_forms({q: judgements[q] for q in few}, {q: run[q] for q in few}))
    plain, _ = best(lambda: ranx_values(ranx_forms(judgements, run)), repeats)
    forms = ranx_forms(judgements, run)
    prepared, values = best(lambda: ranx_values(forms), repeats)
    return plain, prepared, of_ranx(values, forms)


if __name__ == "__main__":
    main()
