"""The four metrics by ragas; runs in an environment of its own, without Scoreline.

`python ragas_four.py ADDRESS ROWS.json WORKERS` prints the seconds that scoring took, imports left
out, and how many values there are.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from pathlib import Path

os.environ["RAGAS_DO_NOT_TRACK"] = "true"

from langchain_core.embeddings import Embeddings
from langchain_openai import ChatOpenAI
from ragas import EvaluationDataset, RunConfig, evaluate
from ragas.embeddings import LangchainEmbeddingsWrapper
from ragas.llms import LangchainLLMWrapper
from ragas.metrics import answer_relevancy, context_precision, context_recall, faithfulness


class Hashed(Embeddings):
    """Vectors that follow from the text, made at once: no library is to wait for them."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Sixteen numbers between 0 and 1."""
        return [byte / 255 for byte in hashlib.sha256(text.encode()).digest()[:16]]


def main() -> None:
    """Score and print."""
    address, file, workers = sys.argv[1:]
    rows = json.loads(Path(file).read_text(encoding="utf-8"))
    judge = ChatOpenAI(model="judge", base_url=address, api_key="none", temperature=0)
    dataset = EvaluationDataset.from_list(
        [
            {
                "user_input": row["question"],
                "response": row["answer"],
                "retrieved_contexts": row["contexts"],
                "reference": row["expected"],
            }
            for row in rows
        ]
    )
    started = time.perf_counter()
    result = evaluate(
        dataset,
        metrics=[faithfulness, answer_relevancy, context_precision, context_recall],
        llm=LangchainLLMWrapper(judge),
        embeddings=LangchainEmbeddingsWrapper(Hashed()),
        run_config=RunConfig(max_workers=int(workers)),
        show_progress=False,
    )
    took = time.perf_counter() - started
    values = [value for row in result.scores for value in row.values() if value == value]  # noqa: PLR0124 - not NaN
    print(json.dumps([took, len(values)]))


if __name__ == "__main__":
    main()
