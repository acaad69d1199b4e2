"""Format document-grounded QA results as the summary that the original scripts print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assets.publishing.exports.document_qa import DocumentQaResults

Row = dict[str, Any]

RULE = "=" * 60


def format_summary(
    evaluation: DocumentQaResults, questions_file: str, files: dict[str, str]
) -> str:
    """Return the summary as text.

    Args:
        evaluation: The results.
        questions_file: The name of the questions file.
        files: The name of each system's predictions file.
    """
    return "\n".join(_lines(evaluation, questions_file, files))


def _lines(
    evaluation: DocumentQaResults, questions_file: str, files: dict[str, str]
) -> Iterator[str]:
    yield f"Evaluating {evaluation.split} split outputs..."
    yield f"Questions file: {questions_file}"
    yield f"Loaded {evaluation.questions} questions"
    for system, results in evaluation.results.items():
        yield from ("", RULE, f"Evaluating: {files.get(system, system)}", RULE)
        if "llm_judge" in results:
            yield from ("", f"Loaded predictions for {evaluation.loaded[system]} questions")
        for name, part in results.items():
            yield from ("", RULE, f"{name.upper()} EVALUATION RESULTS", RULE, "")
            yield from SECTIONS[name](part)
    yield from ("", RULE, f"Evaluation results saved to: {evaluation.file_name}", RULE)


def _retrieval(part: Row) -> Iterator[str]:
    yield from (f"Total Questions: {part['total']}", "")
    for depth in (1, 5):
        n, total = part[f"recall_at_{depth}"], part["total"]
        yield f"Recall@{depth}: {n}/{total} = {part.get(f'recall_at_{depth}_pct', 0):.2f}%"


def _citation(part: Row) -> Iterator[str]:
    yield f"Total Questions: {part['total_questions']}"
    yield f"Questions with Evidence: {part['questions_with_evidence']}"
    if part["avg_f1"] is not None:
        yield from ("", "--- OVERALL CITATION METRICS (all questions) ---")
        yield f"Average Precision: {part['avg_precision']:.4f}"
        yield f"Average Recall: {part['avg_recall']:.4f}"
        yield f"Average F1: {part['avg_f1']:.4f}"


def _judged(part: Row) -> Iterator[str]:
    yield f"Total Questions: {part['total_questions']}"
    yield f"Questions with Rubrics: {part['questions_with_rubrics']}"
    if part["lambda_weight"] is not None:
        yield f"Lambda Weight (answer vs evidence): {part['lambda_weight']:.2f}"
    unscored = sum(row["answer_score_raw"] is None for row in part.get("per_question", ()))
    if unscored:
        yield f"Questions without a Score: {unscored}, left out (the script counts 0, as does"
        yield "  the parameter failed_judgments: zero of rubric_judge)"
    yield from ("", "--- OVERALL SCORES ---")
    yield f"Average Answer Score (1-5): {part['avg_answer_score']:.2f}"
    if part["avg_evidence_score"] is not None:
        yield f"Average Evidence Score (0-1): {part['avg_evidence_score']:.4f}"
    if part["avg_combined_score"] is not None:
        yield f"Average Combined Score (0-1): {part['avg_combined_score']:.2f}"


SECTIONS = {"retrieval": _retrieval, "citation": _citation, "llm_judge": _judged}
"""The formatter of each section, in the order of the results."""
