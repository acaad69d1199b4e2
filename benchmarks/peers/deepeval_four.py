"""DeepEval's metrics of the same four names; runs in an environment of its own.

`python deepeval_four.py ADDRESS ROWS.json WORKERS` prints the seconds that scoring took, imports
left out, and how many values there are. Reasons, which cost another call each, are switched off.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_RETRY_MAX_ATTEMPTS": "2"}

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import (
    AnswerRelevancyMetric,
    ContextualPrecisionMetric,
    ContextualRecallMetric,
    FaithfulnessMetric,
)
from deepeval.models import GPTModel
from deepeval.test_case import LLMTestCase

METRICS = (
    FaithfulnessMetric,
    AnswerRelevancyMetric,
    ContextualPrecisionMetric,
    ContextualRecallMetric,
)


def main() -> None:
    """Score and print."""
    address, file, workers = sys.argv[1:]
    rows = json.loads(Path(file).read_text(encoding="utf-8"))
    judge = GPTModel(model="gpt-4o", base_url=address, api_key="none", temperature=0)
    cases = [
        LLMTestCase(
            input=row["question"],
            actual_output=row["answer"],
            expected_output=row["expected"],
            retrieval_context=row["contexts"],
        )
        for row in rows
    ]
    started = time.perf_counter()
    result = evaluate(
        cases,
        [metric(model=judge, include_reason=False) for metric in METRICS],
        async_config=AsyncConfig(max_concurrent=int(workers)),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        cache_config=CacheConfig(write_cache=False),
        error_config=ErrorConfig(ignore_errors=True),
    )
    took = time.perf_counter() - started
    given = [
        each.score
        for case in result.test_results
        for each in case.metrics_data or []
        if each.score is not None and not each.error
    ]
    print(json.dumps([took, len(given)]))


if __name__ == "__main__":
    main()
