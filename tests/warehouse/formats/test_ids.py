"""Ids with other names are taken or refused; none is replaced by a number in silence."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from records.document import Document
from records.error_messages import RecordError
from warehouse.formats.canonical import read_documents, read_predictions
from warehouse.formats.format import Read, Reject, Source

if TYPE_CHECKING:
    from pathlib import Path


def numbered(*sentences: Any) -> list[tuple[str, str]]:
    return Document.read({"doc_id": "d", "sentences": list(sentences)}).numbered()


def refused(*sentences: Any) -> str:
    with pytest.raises(RecordError) as caught:
        numbered(*sentences)
    return str(caught.value)


@pytest.mark.parametrize("name", ["id", "sid", "sentence_id", "sent_id", "key", "label", "number"])
def test_these_names_are_those_of_an_id(name: str) -> None:
    found = numbered({name: "S2", "text": "b"}, {name: "S7", "text": "g", "page": 3})
    assert found == [("S2", "b"), ("S7", "g")]
    assert numbered({name: 4.0, "text": "b"}) == [("4", "b")]


@pytest.mark.parametrize("name", ["sentenceId", "ID", "index", "nr", "ref", "page", "s"])
@pytest.mark.parametrize("value", ["S2", 2])
def test_other_fields_may_be_an_id(name: str, value: object) -> None:
    said = refused({"text": "b", name: value}, {"text": "a", name: 1})
    assert said.startswith(f"sentences[0]: no id, and {name!r} may be one: call the id 'id'")


@pytest.mark.parametrize("more", [{}, {"id": None}, {"score": 0.5, "is_title": True, "span": [0]}])
def test_objects_of_texts_alone_are_numbered(more: dict[str, Any]) -> None:
    assert numbered({"text": "a", **more}, "b") == [("S1", "a"), ("S2", "b")]


def test_the_id_stands_before_what_may_be_one() -> None:
    assert numbered({"id": "S3", "label": "title", "text": "a"}) == [("S3", "a")]
    assert numbered({"sid": "S3", "id": "S3", "text": "a"}) == [("S3", "a")]


@pytest.mark.parametrize(
    ("sentences", "said"),
    [
        (
            [{"id": 17, "sentence_id": "S2", "text": "a"}],
            "sentences[0]: expected one id, found 'id' and 'sentence_id', which differ",
        ),
        (
            [{"key": "0a", "label": "title", "text": "a"}],
            "sentences[0]: expected one id, found 'key' and 'label', which differ",
        ),
        (
            [{"id": "S2", "text": "a"}, {"text": "b"}],
            "sentences[1]: no id, but other sentences have one",
        ),
        (["a", {"id": "S1", "text": "b"}], "sentences[0]: no id, but other sentences have one"),
        ([{"sent_id": "", "text": "a"}], "sentences[0].sent_id: expected text"),
        ([{"sent_id": [1], "text": "a"}], "sentences[0].sent_id: expected text, found a list"),
        ([{"id": "S1", "content": "a"}], "sentences[0].text: missing"),
    ],
)
def test_doubtful_ids_are_refused(sentences: list[Any], said: str) -> None:
    assert refused(*sentences).startswith(said)


@pytest.mark.parametrize(
    ("name", "content", "doc_id"),
    [
        ("crows.json", {"sentences": ["a", "b"]}, "crows"),
        (
            "crows.v2.json",
            {"title": "Crows", "sentences": [{"sid": "S1", "text": "a"}]},
            "crows.v2",
        ),
        ("crows.json.gz", {"sentences": ["a"], "doc_id": None}, "crows"),
        ("crows.json", {"text": "a"}, "crows"),
        ("crows.json", {"doc_id": "d", "sentences": ["a"]}, "d"),
        ("crows.json", {"sentences": ["a"], "doc_id": "d"}, "d"),
    ],
)
def test_a_file_with_only_sentences_is_a_document(
    tmp_path: Path, name: str, content: dict[str, Any], doc_id: str
) -> None:
    path = tmp_path / name
    text = json.dumps(content).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    (read,) = read_documents(Source(path))
    assert isinstance(read, Read), read
    assert read.record.doc_id == doc_id
    assert read.record.numbered()[0] == ("S1", "a")


def test_several_documents_in_a_file_have_ids(tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    path.write_text(json.dumps([{"sentences": ["a"]}, {"sentences": ["b"]}]))
    first, second = read_documents(Source(path))
    assert isinstance(first, Reject)
    assert isinstance(second, Reject)
    assert first.reason.startswith("doc_id: missing")


def answered(tmp_path: Path, *retrieved: dict[str, Any]) -> Read[Any] | Reject:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"question_id": "q", "retrieved": list(retrieved)}))
    (read,) = read_predictions(Source(path, "s"))
    return read


@pytest.mark.parametrize("name", ["document_id", "docid", "doc", "docno", "_id", "corpus_id"])
def test_names_of_a_retrieved_document(tmp_path: Path, name: str) -> None:
    read = answered(tmp_path, {name: "d1", "text": "a"}, {name: 2, "text": "b"})
    assert isinstance(read, Read), read
    assert [each.doc_id for each in read.record.retrieved] == ["d1", "2"]


@pytest.mark.parametrize("name", ["id", "key", "documentId", "source_id", "chunk"])
def test_other_ids_of_what_was_retrieved_are_refused(tmp_path: Path, name: str) -> None:
    read = answered(tmp_path, {name: "d1", "text": "a"})
    assert isinstance(read, Reject)
    assert read.reason.startswith(f"retrieved[0]: neither doc_id nor chunk_id, and {name!r} may be")


def test_more_fields_beside_an_id_are_ignored(tmp_path: Path) -> None:
    read = answered(tmp_path, {"doc_id": "d1", "id": 7, "chunk_id": "c", "title": "t"})
    assert isinstance(read, Read), read
    (found,) = read.record.retrieved
    assert (found.doc_id, found.chunk_id) == ("d1", "c")
    read = answered(tmp_path, {"text": "a", "title": "t", "url": "u", "metadata": {"id": 1}})
    assert isinstance(read, Read), read


def test_two_names_of_a_document_that_differ(tmp_path: Path) -> None:
    read = answered(tmp_path, {"document_id": "d1", "docno": "d2"})
    assert isinstance(read, Reject)
    assert "'document_id' and 'docno', which differ" in read.reason
