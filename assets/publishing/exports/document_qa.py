"""Results question by question, in the form of the evaluation of document-grounded answers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assets.publishing.exports.document_qa_rows import SystemResults
from warehouse.storage.atomic import replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from assets.project import Benchmark
    from warehouse.publish.snapshot import OpenSnapshot

Row = dict[str, Any]

_SCORES = """
SELECT s.system, s.question_id, s.evaluator, s.metric, s.value, s.status, s.reason,
    CASE WHEN s.evaluator = 'rubric_judge' THEN s.detail::VARCHAR END AS detail
FROM scores AS s
INNER JOIN (
    SELECT DISTINCT evaluator, signature FROM leaderboard WHERE benchmark = $benchmark
) USING (evaluator, signature)
WHERE s.benchmark = $benchmark AND s.evaluator || '.' || s.metric IN (
    'document_retrieval.recall_at_1', 'document_retrieval.recall_at_5', 'citation.precision',
    'citation.recall', 'citation.f1', 'rubric_judge.raw_score', 'rubric_judge.answer_score',
    'evidence_overlap.evidence_recall', 'rubric_combined.combined'
)
"""

_QUESTIONS = """
SELECT question_id, coalesce(doc_id, gold_doc_ids[1], '') AS gold_doc_id,
    coalesce(gold_sentence_ids, []) AS gold_sentences, rubric IS NOT NULL AS has_rubric
FROM questions
WHERE benchmark = $benchmark
ORDER BY line, question_id
"""

_PREDICTIONS = """
SELECT system, question_id, retrieved_doc_ids[1] AS top,
    coalesce(cited_sentence_ids, []) AS cited, error IS DISTINCT FROM 'no prediction' AS given
FROM predictions
WHERE benchmark = $benchmark
"""

_WEIGHT = """
SELECT any_value(s.parameters->>'answer_weight')::DOUBLE AS weight
FROM leaderboard AS l
INNER JOIN signatures AS s USING (evaluator, signature)
WHERE l.benchmark = $benchmark AND l.evaluator = 'rubric_combined'
"""


@dataclass(frozen=True, slots=True)
class DocumentQaResults:
    """The results of one benchmark.

    Attributes:
        split: What the benchmark's files are named after, such as `train`.
        questions: How many questions there are.
        results: By system: `retrieval`, `citation` and `llm_judge`, as far as they were evaluated.
        loaded: By system: how many predictions its files held.
    """

    split: str
    questions: int
    results: dict[str, Row]
    loaded: dict[str, int]

    @property
    def file_name(self) -> str:
        """The name of the file that holds the results."""
        return f"{self.split}_evaluation.json"

    def write(self, folder: Path) -> Path:
        """Write the results into a folder, in place of those that are there.

        Returns:
            The path of the file.
        """
        target = folder / self.file_name
        text = json.dumps(self.results, indent=2, ensure_ascii=False, allow_nan=False)
        with replace_file(target) as beside:
            beside.write_text(text + "\n", encoding="utf-8")
        return target


def split_of(benchmark: Benchmark) -> str:
    """What the files of a benchmark are named after.

    `train_final_jsonl.txt` and `train_{system}_output.json` are of the split `train`; otherwise it
    is the benchmark's name.
    """
    names = [path.name for path in (benchmark.questions, benchmark.predictions) if path is not None]
    patterns = (r"(\w+)_final_jsonl\.txt", r"(\w+?)_\{system\}_output\.json")
    for pattern, name in zip(patterns, reversed(names) if len(names) == 1 else names, strict=False):
        found = re.fullmatch(pattern, name)
        if found:
            return found[1]
    return benchmark.name


def gather_results(copy: OpenSnapshot, benchmark: Benchmark) -> DocumentQaResults:
    """Gather the results of a benchmark.

    A score that there is none of is null, where the evaluation that the form comes from writes 0;
    it does not count in sums and averages.

    Args:
        copy: The published copy.
        benchmark: The benchmark.
    """
    place = {"benchmark": benchmark.name}
    questions = copy.fetch(_QUESTIONS, place).to_dicts()
    scores: dict[str, dict[tuple[str, str], Row]] = {}
    for row in copy.fetch(_SCORES, place).iter_rows(named=True):
        key = row["question_id"], f"{row['evaluator']}.{row['metric']}"
        scores.setdefault(row["system"], {})[key] = row
    answers: dict[str, dict[str, Row]] = {}
    for row in copy.fetch(_PREDICTIONS, place).iter_rows(named=True):
        answers.setdefault(row["system"], {})[row["question_id"]] = row
    weight = copy.fetch(_WEIGHT, place).item()
    results = {}
    for system in sorted(scores, key=_known_order):
        sheet = SystemResults(questions, answers.get(system, {}), scores[system])
        parts = {
            "retrieval": sheet.retrieval(),
            "citation": sheet.citation(),
            "llm_judge": sheet.judged(weight),
        }
        results[system] = {name: part for name, part in parts.items() if part is not None}
    loaded = {
        system: sum(row["given"] for row in answers.get(system, {}).values()) for system in results
    }
    return DocumentQaResults(split_of(benchmark), len(questions), results, loaded)


def _known_order(system: str) -> tuple[int, str]:
    """The two systems of the form first, in its order; all others by name."""
    known = ("simple", "strong")
    return (known.index(system) if system in known else len(known), system)
