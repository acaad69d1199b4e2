"""A little RAG system in three versions: it ranks documents by the words of the question."""

from __future__ import annotations

import json
import re
from collections import Counter
from math import log
from pathlib import Path

DOCUMENTS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "compare-rag" / "documents.jsonl").open()
]


def words(question: dict) -> dict:
    """Count the words that question and document share."""
    return _answer(question["question"], weigh=False, stem=False)


def rare_words(question: dict) -> dict:
    """Give rare words more weight."""
    return _answer(question["question"], weigh=True, stem=False)


def stems(question: dict) -> dict:
    """Cut endings, too: `mended` is `mend`."""
    return _answer(question["question"], weigh=True, stem=True)


def _answer(question: str, *, weigh: bool, stem: bool) -> dict:
    texts = [" ".join(each["text"] for each in document["sentences"]) for document in DOCUMENTS]
    order = _rank(question, texts, weigh=weigh, stem=stem)
    best = DOCUMENTS[order[0]]
    sentences = [each["text"] for each in best["sentences"]]
    chosen = _rank(question, sentences, weigh=weigh, stem=stem)[0]
    return {
        "answer": sentences[chosen],
        "contexts": [texts[at] for at in order[:5]],
        "retrieved": [{"doc_id": DOCUMENTS[at]["doc_id"]} for at in order[:5]],
        "cited_sentence_ids": [f"{best['doc_id']}#{best['sentences'][chosen]['sid']}"],
    }


def _rank(question: str, texts: list[str], *, weigh: bool, stem: bool) -> list[int]:
    """Return the indices of the texts, those that share the most with the question first."""
    bags = [Counter(_words(text, stem=stem)) for text in texts]
    seen = Counter(word for bag in bags for word in bag)
    asked = set(_words(question, stem=stem))
    weight = {word: log(len(texts) / seen[word]) if weigh else 1 for word in asked & seen.keys()}
    scores = [sum(weight[word] for word in asked & bag.keys()) for bag in bags]
    return sorted(range(len(texts)), key=lambda at: -scores[at])


def _words(text: str, *, stem: bool) -> list[str]:
    found = re.findall(r"[a-z0-9]+", text.lower())
    return [re.sub(r"(ies|es|ed|ing|s|e)$", "", word) if stem else word for word in found]
