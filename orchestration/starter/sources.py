"""The harbour example as test collections and evaluation scripts write it; see `tools`."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

from orchestration.starter import tools
from orchestration.starter.tools import RETRIEVAL, Starter, by_system, cases


def trec() -> Starter:
    """Judgments and runs of TREC."""
    qrels = "".join(
        f"{each.question['question_id']} 0 {name} 1\n"
        for each in tools.questions()
        for name in each.question["gold_doc_ids"]
    )
    runs = {
        f"{system}.run": "".join(
            f"{each.question['question_id']} Q0 {name} {rank} {10 - rank} {system}\n"
            for each in answered
            for rank, name in enumerate(each.retrieved, 1)
        )
        for system, answered in by_system()
    }
    keys = 'questions: qrels.txt\npredictions: "{system}.run"\n'
    return Starter({"qrels.txt": qrels, **runs}, keys + RETRIEVAL)


def beir() -> Starter:
    """A folder of BEIR, with results by query."""
    asked = tools.questions()
    corpus = [
        {"_id": name, "title": "", "text": " ".join(sentences)}
        for name, sentences in asked[0].documents.items()
    ]
    queries = [
        {"_id": each.question["question_id"], "text": each.question["question"]} for each in asked
    ]
    judged = "".join(
        f"{each.question['question_id']}\t{name}\t1\n"
        for each in asked
        for name in each.question["gold_doc_ids"]
    )
    files: dict[str, str | bytes] = {
        "harbour/corpus.jsonl": tools.lines(corpus),
        "harbour/queries.jsonl": tools.lines(queries),
        "harbour/qrels/test.tsv": f"query-id\tcorpus-id\tscore\n{judged}",
    }
    for system, answered in by_system():
        results = {
            each.question["question_id"]: {
                name: 1.0 - 0.1 * rank for rank, name in enumerate(each.retrieved)
            }
            for each in answered
        }
        files[f"{system}.json"] = tools.as_json(results)
    keys = 'questions: harbour                         # the folder\npredictions: "{system}.json"\n'
    return Starter(files, keys + RETRIEVAL)


def document_grounded_qa() -> Starter:
    """Questions, a corpus with sentence ids, and outputs of a script for grounded answers."""
    asked = [
        {
            "question": each.question["question"],
            "answer": each.question["expected_answer"],
            "doc_id": each.question["doc_id"],
            "evidence_sentences": each.question["gold_sentence_ids"],
            "question_type": each.question["tags"]["topic"],
        }
        for each in tools.questions()
    ]
    files: dict[str, str | bytes] = {"train_final_jsonl.txt": tools.lines(asked)}
    for name, sentences in cases()[0].documents.items():
        listed = [{"sid": f"S{at}", "text": text} for at, text in enumerate(sentences, 1)]
        files[f"corpus/{name}.json"] = tools.as_json({"doc_id": name, "sentences": listed})
    for system, answered in by_system():
        outputs = {
            f"q{each.number + 1:03}": {
                "question": each.question["question"],
                "answer": each.text,
                "evidence_sentences": each.answer.get("cited_sentence_ids", []),
                "retrieved_docs": each.retrieved,
            }
            for each in answered
            if each.text is not None
        }
        files[f"train_{system}_output.json"] = tools.as_json(outputs)
    return Starter(
        files,
        "questions: train_final_jsonl.txt\n"
        "documents: corpus/*.json\n"
        'predictions: "train_{system}_output.json"\n'
        "evaluators: [document_retrieval, citation, evidence_overlap]\n"
        "parameters: {document_retrieval: {cutoffs: [1, 3]}}\n"
        "slices: [question_type]\n"
        "rank_by: citation.f1\n",
    )


def rgb() -> Starter:
    """RGB's questions, and its outputs for one share of noise."""
    asked = tools.questions()
    rows = []
    for each in asked:
        wrong = [
            " ".join(sentences)
            for name, sentences in each.documents.items()
            if name not in each.question["gold_doc_ids"]
        ]
        expected = each.question["expected_answer"].rstrip(".")
        row = {"id": each.number, "query": each.question["question"], "answer": [expected]}
        rows.append({**row, "positive": each.gold, "negative": wrong})
    files: dict[str, str | bytes] = {"en.json": tools.lines(rows)}
    for system, answered in by_system():
        outputs = []
        for each in answered:
            if each.text is None:
                continue
            expected = each.question["expected_answer"].rstrip(".")
            outputs.append(
                {
                    "id": each.number,
                    "query": each.question["question"],
                    "ans": [expected],
                    "label": [int(expected.lower() in each.text.lower())],
                    "prediction": each.text,
                    "docs": each.contexts,
                    "noise_rate": 0.6,
                    "factlabel": 0,
                }
            )
        files[f"outputs/{system}_noise0.6.json"] = tools.lines(outputs)
    return Starter(
        files,
        "questions: en.json\n"
        'predictions: "outputs/{system}_noise*.json"\n'
        "evaluators: [noise_robustness]\n"
        "slices: [noise_ratio]\n",
    )


def trace() -> Starter:
    """Rows of RAGBench, in which a judge has labelled sentences; here by hand."""
    files = {}
    for system, answered in by_system():
        rows = []
        for each in answered:
            if each.text is None:
                continue
            keyed = [
                [[f"{at}{chr(97 + place)}", text] for place, text in enumerate(sentences)]
                for at, (_, sentences) in enumerate(each.documents.items())
            ]
            right = list(each.documents).index(each.question["doc_id"])
            relevant = _keys(right, each.question["gold_sentence_ids"])
            used = _keys(right, each.answer.get("cited_sentence_ids", []))
            supports = {"response_sentence_key": "a", "supporting_sentence_keys": used}
            rows.append(
                {
                    "id": each.question["question_id"],
                    "question": each.question["question"],
                    "documents_sentences": keyed,
                    "response": each.text,
                    "response_sentences": [["a", each.text]],
                    "all_relevant_sentence_keys": relevant,
                    "all_utilized_sentence_keys": used,
                    "sentence_support_information": [{**supports, "fully_supported": bool(used)}],
                    "adherence_score": bool(used),
                }
            )
        files[f"{system}.json"] = tools.as_json(rows)
    keys = 'predictions: "{system}.json"\n'
    return Starter(files, keys + "evaluators: [trace, citation]\n")


def _keys(document: int, sentences: list[str]) -> list[str]:
    """Return the keys of sentences `S1`, `S2`, ... of one document: `0a`, `0b`, ..."""
    return [f"{document}{chr(96 + int(name[1:]))}" for name in sentences]


def eval_studio() -> Starter:
    """A test suite and a test lab of H2O Eval Studio."""
    tested = [
        {
            "key": each.question["question_id"],
            "prompt": each.question["question"],
            "categories": ["question_answering"],
            "constraints": [each.question["expected_answer"].split()[-1].rstrip(".")],
            "condition": "",
            "relationships": [],
            "expected_output": each.question["expected_answer"],
        }
        for each in tools.questions()
    ]
    suite = {"name": "Harbour", "tests": [{"key": "t", "documents": [], "test_cases": tested}]}
    inputs = [
        {
            "key": each.question["question_id"],
            "input": each.question["question"],
            "context": each.contexts,
            "actual_output": each.text or "LLM HOST INTERNAL ERROR: timed out",
            "actual_duration": 1.0,
            "cost": 0.0,
            "model_key": each.system,
        }
        for each in cases()
    ]
    models = [{"key": name, "name": name, "llm_model_name": name} for name in tools.SYSTEMS]
    lab: dict[str, Any] = {"name": "Lab", "raw_dataset": {"inputs": []}}
    files = {
        "test_suite.json": tools.as_json(suite),
        "test_lab.json": tools.as_json({**lab, "dataset": {"inputs": inputs}, "models": models}),
    }
    keys = "questions: test_suite.json\npredictions: test_lab.json\n"
    return Starter(files, keys + "evaluators: [tokens_presence, sensitive_data_leakage]\n")


def huggingface() -> Starter:
    """Folders that `Dataset.save_to_disk` of Hugging Face datasets writes."""
    asked = [each.question for each in tools.questions()]
    files = _dataset("harbour", [{**each, "tags": json.dumps(each["tags"])} for each in asked])
    for system, answered in by_system():
        rows = [
            {
                "question_id": each.question["question_id"],
                "answer": each.text,
                "error": each.answer.get("error"),
                "retrieved": [{"doc_id": name} for name in each.retrieved],
            }
            for each in answered
        ]
        files |= _dataset(f"answers/{system}", rows)
    keys = "questions: harbour                         # folders of `save_to_disk`\n"
    keys += 'predictions: "answers/{system}"\n'
    return Starter(files, keys + tools.BOTH)


def _dataset(folder: str, rows: list[dict[str, Any]]) -> dict[str, str | bytes]:
    import pyarrow as pa

    table = pa.Table.from_pylist(rows)
    written = BytesIO()
    with pa.ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table)
    name = "data-00000-of-00001.arrow"
    state = {"_data_files": [{"filename": name}], "_format_type": None, "_split": None}
    return {
        f"{folder}/{name}": written.getvalue(),
        f"{folder}/state.json": tools.as_json(state),
        f"{folder}/dataset_info.json": tools.as_json({"features": {}}),
    }
