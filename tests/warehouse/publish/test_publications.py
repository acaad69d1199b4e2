"""What is published is recorded once, and kept as long as the setting says."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.warehouse.conftest import change, put
from warehouse.maintenance.retention import RETENTION_RULES, delete_expired
from warehouse.publish.publications import Kept, record_publication, tag_publication
from warehouse.publish.snapshot import FILE_NAME, Snapshot, publish
from warehouse.queries.publications import HISTORY, INPUTS, PREDICTION_DIGEST, VERSIONS

if TYPE_CHECKING:
    from pathlib import Path

    from warehouse.store import Warehouse

FIRST = datetime(2026, 1, 1)  # noqa: DTZ001 - the tables have no time zone
EVERYTHING = Kept(publications=20, max_samples=1_000)


def leaderboard(warehouse: Warehouse, signature: str = "e|version:1") -> None:
    """A new leaderboard of benchmark `b`."""
    at = datetime.now(UTC).replace(tzinfo=None)
    counts = dict.fromkeys(("not_applicable", "undefined", "parse_failure", "judge_error"), 0)
    shared = {
        "slice": "all",
        "evaluator": "e",
        "metric": "m",
        "mean": 0.5,
        "n_scored": 4,
        "signature": signature,
        "published_at": at,
    }
    more = {"n": 4, "n_target_error": 0, "best": "high", "is_primary": 1}
    more |= {f"n_{name}": count for name, count in counts.items()}
    put(warehouse, "leaderboard", [{**shared, **more, "system": s} for s in ("rag", "llm")])
    put(warehouse, "leaderboard_history", [{**shared, "system": s} for s in ("rag", "llm")])


def grade(warehouse: Warehouse, values: dict[str, list[float]]) -> None:
    """The scores of the four questions by system."""
    rows: list[dict[str, Any]] = [
        {
            "system": system,
            "question_id": f"q{at}",
            "evaluator": "e",
            "values": [value],
            "signature": "e|version:1",
            "input_digest": 1,
            "scored_at": FIRST,
        }
        for system, own in values.items()
        for at, value in enumerate(own)
    ]
    put(warehouse, "grades", rows)


@pytest.fixture
def published(four_by_two: Warehouse) -> Warehouse:
    """A warehouse after one publication."""
    grade(four_by_two, {"rag": [1, 1, 1, 0], "llm": [0, 0, 0, 0]})
    leaderboard(four_by_two)
    assert record_publication(four_by_two, "run-1", EVERYTHING, {"rag": "2.0"}) is not None
    return four_by_two


def count(warehouse: Warehouse, table: str) -> int:
    return int(warehouse.fetch(f"SELECT count(*) FROM {table}").item())


def runs_with_scores(warehouse: Warehouse) -> list[str]:
    """The runs whose publications still have the scores of `rag`."""
    rows = warehouse.fetch(
        f"SELECT DISTINCT run_id FROM ({VERSIONS}) AS v JOIN publication_data AS d "
        "ON v.version = d.published_at JOIN kept_scores USING (digest) "
        "WHERE system = 'rag' ORDER BY ALL"
    )
    return rows["run_id"].to_list()


def test_records_rows_and_versions_of_every_data_set(published: Warehouse) -> None:
    rows = published.fetch(
        'SELECT kind, system, evaluator, "rows", version FROM publication_data ORDER BY ALL'
    ).rows()
    assert rows == [
        ("predictions", "llm", None, 4, None),
        ("predictions", "rag", None, 4, "2.0"),
        ("questions", None, None, 4, None),
        ("scores", "llm", "e", 4, "e|version:1"),
        ("scores", "rag", "e", 4, "e|version:1"),
    ]
    kept = published.fetch(
        'SELECT system, question_id, "values" FROM kept_scores JOIN publication_data '
        "USING (digest) WHERE system = 'rag' ORDER BY question_id"
    )
    assert kept["values"].to_list() == [[1.0], [1.0], [1.0], [0.0]]
    assert count(published, "kept_questions") == 4
    assert count(published, "kept_answers") == 8


def test_publishing_the_same_again_is_no_publication(published: Warehouse) -> None:
    assert record_publication(published, "run-2", EVERYTHING, {}) is None
    assert published.fetch("SELECT run_id FROM publications").rows() == [("run-1",)]


def test_equal_data_is_kept_once(published: Warehouse) -> None:
    leaderboard(published)
    assert record_publication(published, "run-2", EVERYTHING, {}) is not None
    assert count(published, "kept_scores") == 8
    # Only the system whose scores differ is kept again. The digest of equal changes of an even
    # number of rows must differ, too.
    grade(published, {"rag": [1, 1, 1, 1]})
    leaderboard(published)
    record_publication(published, "run-3", EVERYTHING, {})
    assert count(published, "kept_scores") == 12
    assert count(published, "kept_answers") == 8
    assert published.fetch("SELECT count(DISTINCT digest) FROM publication_data").item() == 6


def test_only_the_last_publications_and_those_with_a_tag_keep_scores(
    published: Warehouse, tmp_path: Path
) -> None:
    publish(published, tmp_path)
    first = published.fetch("SELECT published_at FROM publications").item()
    tag_publication(published, tmp_path, first, "v1")
    two = Kept(publications=2, max_samples=1_000)
    for day in range(1, 5):
        grade(published, {"rag": [1, 1, 1, day / 10]})
        leaderboard(published)
        record_publication(published, f"run-{day + 1}", two, {})
    assert runs_with_scores(published) == ["run-1", "run-4", "run-5"]
    assert count(published, "publications") == 5
    # Questions and answers are the same in all of them.
    assert count(published, "kept_questions") == 4
    leaderboard(published)
    record_publication(published, "run-6", Kept(publications=0, max_samples=1_000), {})
    assert runs_with_scores(published) == ["run-1"]


def test_cleanup_spares_the_last_leaderboard_and_those_with_a_tag(
    published: Warehouse, tmp_path: Path
) -> None:
    publish(published, tmp_path)
    first = published.fetch("SELECT published_at FROM publications").item()
    tag_publication(published, tmp_path, first, "v1")
    for run in ("run-2", "run-3"):
        leaderboard(published)
        record_publication(published, run, EVERYTHING, {})
    # Two systems in each leaderboard.
    assert delete_expired(published, RETENTION_RULES["history"], 0) == 2
    left = published.fetch(f"SELECT DISTINCT run_id FROM ({HISTORY}) ORDER BY ALL")
    assert left["run_id"].to_list() == ["run-1", "run-3"]


def test_large_benchmarks_keep_no_scores(four_by_two: Warehouse) -> None:
    grade(four_by_two, {"rag": [1, 1, 1, 0]})
    leaderboard(four_by_two)
    # Four questions and two systems are eight samples.
    record_publication(four_by_two, "run-1", Kept(publications=20, max_samples=7), {})
    assert count(four_by_two, "publication_data") == 4
    assert count(four_by_two, "kept_scores") == 0
    assert count(four_by_two, "kept_questions") == 0


def test_a_tag_is_in_the_warehouse_and_in_the_copy(published: Warehouse, tmp_path: Path) -> None:
    publish(published, tmp_path)
    first = published.fetch("SELECT published_at FROM publications").item()
    copy = Snapshot(tmp_path / FILE_NAME)
    with copy.open() as still_open:
        tag_publication(published, tmp_path, first, "v1.2")
        assert still_open.fetch("SELECT tag FROM publications").item() is None
    for source in (published, copy):
        assert source.fetch("SELECT run_id, tag FROM publications").rows() == [("run-1", "v1.2")]
    tag_publication(published, tmp_path, first, None)
    assert copy.fetch("SELECT tag FROM publications").item() is None
    left = [path.name for path in tmp_path.iterdir() if path.suffix == ".wal"]
    assert left == []


def test_a_tag_moves(published: Warehouse, tmp_path: Path) -> None:
    publish(published, tmp_path)
    first = published.fetch("SELECT published_at FROM publications").item()
    tag_publication(published, tmp_path, first, "best")
    leaderboard(published)
    second = record_publication(published, "run-2", EVERYTHING, {})
    assert second is not None
    tag_publication(published, tmp_path, second, "best")
    rows = published.fetch("SELECT run_id, tag FROM publications ORDER BY run_id").rows()
    assert rows == [("run-1", None), ("run-2", "best")]


def history(warehouse: Warehouse) -> list[tuple[str, bool, list[str]]]:
    rows = warehouse.fetch(
        f"SELECT run_id, comparable, changed FROM ({HISTORY}) WHERE system = 'rag' "
        "ORDER BY published_at"
    )
    return [(run, comparable, list(changed)) for run, comparable, changed in rows.iter_rows()]


def test_history_says_what_is_not_comparable(published: Warehouse) -> None:
    changes: list[tuple[str, str]] = [
        ("e|judge:gpt|version:1", "UPDATE predictions SET answer = 'other'"),
        ("e|judge:gpt|version:1", "UPDATE questions SET tags = MAP {'lang': 'en'}, cluster = 'c'"),
        ("e|judge:claude|version:1", "SELECT 1"),
        ("e|judge:claude|version:2", "SELECT 1"),
        ("e|judge:claude|version:2", "UPDATE questions SET expected_answers = ['other']"),
    ]
    for day, (signature, statement) in enumerate(changes, start=1):
        with published.transaction() as transaction:
            transaction.execute(statement)
        leaderboard(published, signature)
        record_publication(published, f"run-{day + 1}", EVERYTHING, {})
    assert history(published) == [
        ("run-1", True, []),
        ("run-2", False, ["judge"]),
        ("run-3", True, []),
        ("run-4", False, ["judge"]),
        ("run-5", False, ["evaluator"]),
        ("run-6", False, ["questions"]),
    ]


def test_history_has_a_publication_without_changes_only_with_a_tag(
    published: Warehouse, tmp_path: Path
) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    for table in ("leaderboard", "leaderboard_history"):
        row = published.fetch(f"SELECT * FROM {table} WHERE system = 'rag'")
        other = row.with_columns(benchmark=pl.lit("c"), published_at=pl.lit(now))
        published.append(table, other)
    second = record_publication(published, "run-2", EVERYTHING, {})
    assert second is not None
    shown = f"SELECT run_id, benchmark FROM ({HISTORY}) WHERE system = 'rag' ORDER BY ALL"
    assert published.fetch(shown).rows() == [("run-1", "b"), ("run-2", "c")]
    publish(published, tmp_path)
    tag_publication(published, tmp_path, second, "v2")
    assert published.fetch(shown).rows() == [("run-1", "b"), ("run-2", "b"), ("run-2", "c")]


def test_changed_documents_break_the_lines_of_evaluators_that_read_them(
    published: Warehouse,
) -> None:
    def documents(text: str) -> None:
        row = {"doc_id": "d", "sentence_id": "S1", "position": 1, "text": text}
        put(published, "documents", [row])

    def changed(run: str, readers: list[tuple[str, str]]) -> list[list[str]]:
        leaderboard(published)
        record_publication(published, run, EVERYTHING, {}, readers)
        rows = published.fetch(
            f"SELECT DISTINCT changed FROM ({HISTORY}) WHERE run_id = $run", {"run": run}
        )
        return rows["changed"].to_list()

    reading = [("b", "e"), ("elsewhere", "e")]
    # What an earlier version of Scoreline did not record is unknown.
    assert changed("run-2", reading) == [[]]
    documents("One.")
    assert changed("run-3", reading) == [["documents"]]
    assert changed("run-4", reading) == [[]]
    documents("Two.")
    assert changed("run-5", reading) == [["documents"]]
    documents("Three.")
    assert changed("run-6", []) == [[]]
    inputs = published.fetch(f"SELECT kind FROM ({INPUTS}) WHERE run_id = 'run-5' ORDER BY ALL")
    assert inputs["kind"].to_list() == ["documents", "predictions", "predictions", "questions"]


def test_digests_tell_lists_from_each_other(published: Warehouse) -> None:
    digest = (
        f"SELECT {PREDICTION_DIGEST} FROM predictions WHERE system = 'rag' AND question_id = 'q0'"
    )
    found = set()
    for docs, cited in (
        *(("NULL", "[]"), ("[]", "NULL"), ("[]", "[]"), ("[NULL]", "[]"), ("[]", "[NULL]")),
        *(("['a', 'b']", "[]"), ("['a']", "['b']"), ("['b', 'a']", "[]"), ("NULL", "NULL")),
    ):
        change(
            published,
            f"UPDATE predictions SET retrieved_doc_ids = {docs}, cited_sentence_ids = {cited} "
            "WHERE system = 'rag' AND question_id = 'q0'",
        )
        found.add(published.fetch(digest).item())
    assert len(found) == 9


def test_inputs_are_new_when_their_digest_changes(published: Warehouse) -> None:
    put(published, "predictions", [{"system": "rag", "question_id": "q0", "answer": "changed"}])
    leaderboard(published)
    record_publication(published, "run-2", EVERYTHING, {})
    rows = published.fetch(
        f"SELECT kind, system, is_new FROM ({INPUTS}) WHERE run_id = 'run-2' ORDER BY ALL"
    ).rows()
    assert rows == [
        ("predictions", "llm", False),
        ("predictions", "rag", True),
        ("questions", None, False),
    ]


def test_questions_read_from_other_files_are_digested_again(published: Warehouse) -> None:
    def digests() -> list[str]:
        rows = published.fetch(
            "SELECT digest FROM publication_data WHERE kind = 'questions' ORDER BY published_at"
        )
        return rows["digest"].to_list()

    def publish_again(run: str) -> None:
        leaderboard(published)
        assert record_publication(published, run, EVERYTHING, {}) is not None

    def read_questions(file: str) -> None:
        published.write(lambda each: each.record_fingerprint("b", "questions", file))

    read_questions("a file")
    for run in ("run-2", "run-3"):
        publish_again(run)
    assert len(set(digests())) == 1
    assert count(published, "publication_data") == 3 * 5
    change(published, "UPDATE questions SET question = 'Another?' WHERE question_id = 'q1'")
    # Written with no new fingerprint, which no code does: the digest of before shows that the
    # texts were not read.
    publish_again("run-4")
    assert len(set(digests())) == 1
    read_questions("another file")
    publish_again("run-5")
    assert len(set(digests())) == 2
