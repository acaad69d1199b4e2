"""BEIR: a folder with a corpus, queries and judgments; TREC runs or JSON results as predictions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from records.document import Document
from records.error_messages import RecordError, found
from records.prediction import Prediction
from records.question import Question
from records.record import CONTROL, integer
from warehouse.errors import InputError, Problem, suggest_name
from warehouse.formats import trec
from warehouse.formats.format import Folders, Format, Read, Reject, Source
from warehouse.formats.readers.field_mapping import records
from warehouse.formats.readers.files import COMPRESSED, kind, lines
from warehouse.formats.readers.json_stream import JsonStream
from warehouse.formats.readers.rows import json_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warehouse.formats.readers.files import Line
    from warehouse.formats.readers.rows import Row

SPLIT: Final = "test"
"""The split without a key `split`, as in BEIR."""

JUDGMENTS: Final = "qrels"
"""The folder of the judgments, with a file for each split."""

EXPECTED: Final = "query-id, corpus-id and score, separated by tabs"


def question_files(folder: Path, split: str | None) -> list[Path]:
    """Return the judgments of a split and the queries.

    Raises:
        InputError: There are none.
    """
    judgments = _find(folder / JUDGMENTS, f"{split or SPLIT}.tsv")
    if judgments is None:
        known = {each.name.split(".")[0] for each in (folder / JUDGMENTS).glob("*.tsv*")}
        hint = suggest_name(split or SPLIT, known) if known else ""
        message = f"there are no judgments of the split {split or SPLIT!r}{hint}"
        raise InputError([Problem(folder / JUDGMENTS, None, message)])
    queries = _find(folder, "queries.jsonl")
    if queries is None:
        message = "expected queries.jsonl in the folder of a BEIR dataset"
        raise InputError([Problem(folder, None, message)])
    return [judgments, queries]


def document_files(folder: Path, split: str | None) -> list[Path]:  # noqa: ARG001 - for all splits
    """Return the corpus; nothing if there is none, since metrics of rankings need only ids."""
    corpus = _find(folder, "corpus.jsonl")
    return [] if corpus is None else [corpus]


def _find(folder: Path, name: str) -> Path | None:
    every = (folder / f"{name}{ending}" for ending in ("", *COMPRESSED))
    return next((path for path in every if path.is_file()), None)


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read judgments (`query-id`, `corpus-id`, `score`) and the queries; one question a query.

    A query without judgments in the split is not a question. The file of queries is beside that of
    the judgments.
    """
    topics: dict[str, dict[str, int]] = {}
    first: dict[str, Line] = {}
    for position, line in enumerate(lines(source.path)):
        if isinstance(line, Reject):
            yield line
            continue
        parts = line.text.split("\t")
        if position == 0 and not _is_grade(parts[-1]):
            if len(parts) == 3:  # noqa: PLR2004 - a header
                continue
            raise InputError([Problem(source.path, line.number, f"expected {EXPECTED}")])
        reason = _judge(topics, parts)
        if reason is not None:
            yield Reject(line.number, reason, line.beginning)
        else:
            first.setdefault(parts[0], line)
    queries = _queries(source.beside[0], topics)
    for name, judged in topics.items():
        line = first[name]
        if name not in queries:
            reason = f"query {name!r} is not in {source.beside[0].name}"
            yield Reject(line.number, reason, line.beginning)
            continue
        fields = {"question_id": name, "gold_relevance": judged, **queries[name]}
        yield Read(Question.read(fields), line.number)


def _judge(topics: dict[str, dict[str, int]], parts: list[str]) -> str | None:
    """Add a judgment; return the reason why it is not valid."""
    if len(parts) != 3:  # noqa: PLR2004
        return f"expected {EXPECTED}, found {len(parts)} fields"
    query, document, grade = parts
    if not _is_grade(grade):
        return f"expected a whole number as score, found {grade!r}"
    if not query or not document or re.search(CONTROL, query + document):
        return f"expected ids without control characters, found {query!r} and {document!r}"
    judged = topics.setdefault(query, {})
    if document in judged:
        return f"document {document!r} is judged twice for query {query!r}"
    judged[document] = int(float(grade))
    return None


def _is_grade(text: str) -> bool:
    return re.fullmatch(trec.GRADE, text.strip()) is not None


def _queries(path: Path, wanted: dict[str, dict[str, int]]) -> dict[str, dict[str, Any]]:
    """Return the fields of the wanted queries by id.

    Raises:
        InputError: The file is not JSON Lines of queries, or has a wanted one twice.
    """
    queries: dict[str, dict[str, Any]] = {}
    problems: list[Problem] = []
    for row in json_lines(path):
        if isinstance(row, Reject):
            problems.append(Problem(path, row.line, row.reason))
            continue
        name, text = integer(row.fields.get("_id")), row.fields.get("text")
        if isinstance(name, int) and not isinstance(name, bool):
            name = str(name)
        if not isinstance(name, str) or not isinstance(text, str):
            message = "expected an object with _id and text"
            problems.append(Problem(path, row.line, message))
        elif name in queries:
            problems.append(Problem(path, row.line, f"query {name!r} occurs twice"))
        elif name in wanted:
            more = row.fields.get("metadata")
            queries[name] = {"question": text, **({"metadata": more} if more else {})}
    if problems:
        raise InputError(problems)
    return queries


def read_documents(source: Source) -> Iterator[Read[Document] | Reject]:
    """Read the corpus; a text begins with the title, as in BEIR."""

    def read(row: Row, _: int) -> Read[Document]:
        title, text = row.fields.get("title") or "", row.fields.get("text")
        if not isinstance(title, str):
            raise RecordError([f"title: expected text, found {found(title)}"])
        if isinstance(text, str):
            text = f"{title} {text}".strip()
        record = Document.read({"doc_id": row.fields.get("_id"), "text": text})
        return Read(record, row.line, row.text)

    return records(json_lines(source.path), read, {"doc_id": "_id"})


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read a TREC run, or a JSON object of scores by query and document.

    As in BEIR, a document with the id of the query is left out: some datasets ask for what is
    similar to a document of the corpus.
    """
    read = _results(source) if kind(source.path) == ".json" else trec.read_predictions(source)
    for each in read:
        yield each if isinstance(each, Reject) else _without_itself(each)


def _without_itself(read: Read[Prediction]) -> Read[Prediction]:
    given = read.record.retrieved or []
    kept = [each for each in given if each.doc_id != read.record.question_id]
    if len(kept) == len(given):
        return read
    return replace(read, record=read.record.model_copy(update={"retrieved": kept}))


def _results(source: Source) -> Iterator[Read[Prediction] | Reject]:
    if source.system is None:
        message = "expected {system} in the path: JSON results do not name their system"
        raise InputError([Problem(source.path, None, message)])
    for member in JsonStream(source.path):
        name, scores = member.name, member.value
        if name is None:
            message = "expected an object of scores by query and document, found a list"
            raise InputError([Problem(source.path, member.line, message)])
        try:
            record = _ranking(name, scores, source.system)
        except RecordError as error:
            yield Reject(member.line, str(error), member.text)
        else:
            yield Read(record, member.line, member.text)


def _ranking(query: str, scores: object, system: str | None) -> Prediction:
    if not isinstance(scores, dict):
        raise RecordError([f"{query!r}: expected scores by document, found {found(scores)}"])
    for document, score in scores.items():
        if isinstance(score, bool) or not isinstance(score, int | float):
            message = f"{query!r}: expected a number for {document!r}, found {found(score)}"
            raise RecordError([message])
    listed = [{"doc_id": document, "score": score} for document, score in scores.items()]
    return Prediction.read({"question_id": query, "system": system, "retrieved": listed})


SEVERAL_ANSWERS: Final = (
    "a system has one ranking for each query: give another run a system of its own, by {system} "
    "in the path"
)

FORMAT: Final = Format(
    name="beir",
    summary="Folders of BEIR: corpus, queries and judgments; runs or JSON results; retrieval only.",
    questions=read_questions,
    predictions=read_predictions,
    documents=read_documents,
    unknown_questions="note",
    missing_predictions="nothing retrieved",
    is_streamed=False,
    folders=Folders(
        questions=question_files,
        documents=document_files,
        documents_with_questions=True,
        reads_together=True,
    ),
    several_answers=SEVERAL_ANSWERS,
)
