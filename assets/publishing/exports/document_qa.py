"""Export results in the JSON format of document-grounded QA evaluation scripts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assets.publishing.exports.document_qa_rows import SystemResults
from warehouse.storage.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assets.project import Benchmark
    from warehouse.publish.snapshot import OpenSnapshot

Row = dict[str, Any]

_SCORES = """
SELECT s.system, s.question_id, s.evaluator, s.metric, s.value
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
SELECT p.system, p.question_id, p.retrieved_doc_ids[1] AS top,
    list_sort(list_distinct(coalesce(p.cited_sentence_ids, []))) AS cited,
    p.error IS DISTINCT FROM 'no prediction' AND p.not_asked IS NULL AS given,
    coalesce(nullif(s.detail ->> '$.reasoning', ''), s.reason, '') AS rationale
FROM predictions AS p
LEFT JOIN (
    SELECT * FROM answer_scores
    WHERE benchmark = $benchmark AND evaluator = 'rubric_judge' AND metric = 'raw_score'
        AND signature IN (
            SELECT signature FROM leaderboard
            WHERE benchmark = $benchmark AND evaluator = 'rubric_judge'
        )
) AS s USING (benchmark, system, question_id, repeat)
WHERE p.benchmark = $benchmark
ORDER BY p.system, p.question_id, p.repeat
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
        split: The name of the split, such as `train`.
        questions: The number of questions.
        results: The sections `retrieval`, `citation` and `llm_judge` of each system; a section is
            missing if its metrics were not evaluated.
        loaded: The number of questions with a prediction in the files of each system.
    """

    split: str
    questions: int
    results: dict[str, Row]
    loaded: dict[str, int]

    @property
    def file_name(self) -> str:
        """The name of the results file."""
        return f"{self.split}_evaluation.json"

    def write(self, folder: Path) -> Path:
        """Write the results file into a folder and return its path."""
        target = folder / self.file_name
        text = json.dumps(self.results, indent=2, ensure_ascii=False, allow_nan=False)
        with replace_file(target) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")
        return target


def split_name(benchmark: Benchmark) -> str:
    """Return the split in the names of a benchmark's files, or else the benchmark's name.

    `train_final_jsonl.txt` and `train_{system}_output.json` belong to the split `train`.
    """
    paths = (benchmark.questions, benchmark.predictions)
    names = [path.name for path in paths if isinstance(path, Path)]
    patterns = (r"(\w+)_final_jsonl\.txt", r"(\w+?)_\{system\}_output\.json")
    for pattern, name in zip(patterns, reversed(names) if len(names) == 1 else names, strict=False):
        found = re.fullmatch(pattern, name)
        if found:
            return found[1]
    return benchmark.name


def distinct_split(benchmark: Benchmark, benchmarks: Iterable[Benchmark]) -> str:
    """Return the split of a benchmark, or its name if its file could be taken for another's.

    So no two benchmarks of a project share a file, also where case does not distinguish files.
    """
    split = split_name(benchmark)
    others = [each for each in benchmarks if each.name != benchmark.name]
    taken = {name.lower() for each in others for name in (each.name, split_name(each))}
    return benchmark.name if split.lower() in taken else split


def gather_results(snapshot: OpenSnapshot, benchmark: Benchmark, split: str) -> DocumentQaResults:
    """Collect the results of a benchmark, for a file that is named after a split.

    A missing score is null and does not count in sums and averages; the original scripts write 0.
    """
    where = {"benchmark": benchmark.name}
    questions = snapshot.fetch(_QUESTIONS, where).to_dicts()
    scores: dict[str, dict[tuple[str, str], Row]] = {}
    for row in snapshot.fetch(_SCORES, where).iter_rows(named=True):
        key = row["question_id"], f"{row['evaluator']}.{row['metric']}"
        scores.setdefault(row["system"], {})[key] = row
    answers: dict[str, dict[str, list[Row]]] = {}
    for row in snapshot.fetch(_PREDICTIONS, where).iter_rows(named=True):
        answers.setdefault(row["system"], {}).setdefault(row["question_id"], []).append(row)
    weight = snapshot.fetch(_WEIGHT, where).item()
    results = {}
    # The systems of the original scripts come first.
    for system in sorted(scores, key=lambda name: (name not in ("simple", "strong"), name)):
        sheet = SystemResults(questions, answers.get(system, {}), scores[system])
        parts = {
            "retrieval": sheet.retrieval(),
            "citation": sheet.citation(),
            "llm_judge": sheet.llm_judge(weight),
        }
        results[system] = {name: part for name, part in parts.items() if part is not None}
    loaded = {
        system: sum(any(row["given"] for row in rows) for rows in answers.get(system, {}).values())
        for system in results
    }
    return DocumentQaResults(split, len(questions), results, loaded)
