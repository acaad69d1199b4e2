"""`scoreline annotate` over HTTP: who is let in, what is saved, and when it is published."""

from __future__ import annotations

import json
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from orchestration.config import load
from tests.orchestration.annotate.served import Client, annotating, labelled, make_project
from tests.orchestration.judged_project import QUESTIONS, SYSTEMS, JudgedProject
from tests.support.command import scoreline
from tests.support.lakes import configured, fresh
from tests.support.services import takes_longest, takes_minutes
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [takes_minutes, pytest.mark.xdist_group("annotate")]
WITHIN_S = 10.0
F1 = "citation.f1"
NEXT = f"next?benchmark=harbour&metric={F1}&annotator=guest"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("project") / "home")


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[Client]:
    with annotating(home) as (found, _):
        found.open_page()
        yield found


def body(annotator: str = "guest", **more: Any) -> dict[str, Any]:
    return {"benchmark": "harbour", "metric": F1, "annotator": annotator, **more}


def test_the_first_line_is_the_address(client: Client) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", client.address)


@pytest.mark.parametrize("path", ["", "page.js", "page.css", "metrics", NEXT])
def test_nothing_is_shown_without_the_token(client: Client, path: str) -> None:
    assert client.ask(path)[0] == 200
    assert client.ask(path, without="Cookie")[0] == 403
    assert client.ask(path, Cookie=client.headers["Cookie"] + "x")[0] == 403
    token = client.address.partition("token=")[2]
    assert client.ask(f"?token={token[:-1]}")[0] == 403
    assert client.ask("?token=")[0] == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "rebound.example"}, 400),
        ({"Origin": "http://other.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}, 403),
        ({"X-CSRF-Token": "guessed"}, 403),
        ({"X-CSRF-Token": ""}, 403),
    ],
)
def test_a_label_comes_from_the_page_only(
    client: Client, headers: dict[str, str], status: int
) -> None:
    for path, sent in (
        ("labels", body(sample=0, value=1.0)),
        ("skip", body(sample=0)),
        ("undo", body()),
    ):
        assert client.ask(path, sent, **headers)[0] == status, path
        assert client.ask(path, sent, without="X-CSRF-Token")[0] == 403
        assert client.ask(path, sent, without="Cookie")[0] == 403
    assert client.ask(NEXT)[1]["progress"]["own"] == 0


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (body(sample=0, value=1.5), "1.5 is outside the metric's bounds, 0 to 1"),
        (body(sample=99999, value=1.0), "there is no sample 99999"),
        (body(sample=-1, value=1.0), "there is no sample -1"),
        (body(sample=0, value="1"), "value: Input should be a valid number"),
        (body(sample=0), "value: Field required"),
        (body("", sample=0, value=1.0), "annotator: String should have at least 1 character"),
        (body(sample=0, value=1.0, system="x"), "system: Extra inputs are not permitted"),
        ({**body(sample=0, value=1.0), "metric": "x"}, "'x' of 'harbour' is not labelled here"),
        ([], "Input should be"),
    ],
)
def test_what_is_not_valid_is_explained(client: Client, sent: Any, expected: str) -> None:
    status, found = client.ask("labels", sent)
    assert status == 400
    assert expected in found["error"]


def test_large_and_broken_requests_are_refused(client: Client) -> None:
    assert client.ask("labels", body("x" * 20_000, sample=0, value=1.0))[0] == 413
    assert client.ask("labels", "{")[0] == 400


def test_the_page_hides_system_and_verdict(client: Client) -> None:
    _, found = client.ask(NEXT)
    assert set(found["sample"]) == {"number", "fields"}
    titles = [each["title"] for each in found["sample"]["fields"]]
    assert titles[0] == "Question"
    assert {"Answer", "Sentences that the answer cites", "Sentences of the document"} <= set(titles)


def test_a_label_is_published_within_seconds_and_can_be_taken_back(client: Client) -> None:
    labels = "SELECT system, question_id, value, selection FROM labels WHERE annotator = 'ann'"

    def wait_for(rows: int) -> list[tuple[Any, ...]]:
        start = time.monotonic()
        while len(found := client.published(labels)) != rows:
            assert time.monotonic() - start < WITHIN_S
            time.sleep(0.1)
        return found

    found = labelled(client, "ann", F1, 2)
    published = wait_for(2)
    assert {value for _, _, value, _ in published} == {0.0, 1.0}
    assert len({system for system, *_ in published}) == 2  # systems take turns
    assert client.published("SELECT count(*) FROM calibration WHERE metric = 'f1'") != [(0,)]
    assert found["progress"]["own"] == 2
    _, undone = client.ask("undo", body("ann"))
    assert undone["progress"]["own"] == 1
    wait_for(1)
    # The sample is there again, and a label of it replaces nothing.
    _, again = client.ask("labels", body("ann", sample=undone["sample"]["number"], value=0.25))
    assert again["progress"]["own"] == 2
    assert sorted(value for _, _, value, _ in wait_for(2)) == [0.0, 0.25]


@takes_longest
def test_labels_in_a_lake(postgres_database: str, tmp_path: Path) -> None:
    """Two servers and a run share it: no label is lost, and each is in the published copy."""
    with fresh(postgres_database, tmp_path / "shared") as lake:
        home = make_project(tmp_path / "home", warehouse=configured(lake))
        with annotating(home) as (one, first), annotating(home) as (other, second):
            for client in (one, other):
                client.open_page()
            with ThreadPoolExecutor(2) as pool:
                both = {"ann": one, "bob": other}
                given = [
                    pool.submit(labelled, client, name, F1, 3) for name, client in both.items()
                ]
                run = scoreline(home, "run", "--force", "--quiet")
                assert [each.result()["progress"]["own"] for each in given] == [3, 3]
            assert run.code == 0, run.err
            _, undone = one.ask("undo", body("ann"))
            assert undone["progress"]["own"] == 2
            for process in (first, second):
                process.send_signal(signal.SIGTERM)
                _, err = process.communicate(timeout=60)
                assert "Traceback" not in err
        assert not list(home.rglob("warehouse.duckdb*"))
        counts = "SELECT annotator, count(*) FROM labels GROUP BY ALL ORDER BY ALL"
        expected = [("ann", 2), ("bob", 3)]
        place = load.load_config(home / "scoreline.yaml").project.warehouse
        assert Warehouse(place).fetch(counts).rows() == expected
        assert one.published(counts) == expected


def test_undo_restores_an_earlier_label(client: Client) -> None:
    _, first = client.ask(NEXT.replace("guest", "cat"))
    number = first["sample"]["number"]
    for value in (1.0, 0.5):
        client.ask("labels", body("cat", sample=number, value=value))
    _, found = client.ask("undo", body("cat"))
    assert (found["sample"]["number"], found["progress"]["own"]) == (number, 1)
    _, found = client.ask("undo", body("cat"))
    assert (found["progress"]["own"], found["progress"]["can_undo"]) == (0, False)
    assert client.ask("undo", body("cat"))[1]["progress"]["own"] == 0


def test_skipped_samples_do_not_come_again(client: Client) -> None:
    _, first = client.ask(NEXT.replace("guest", "dan"))
    status, second = client.ask("skip", body("dan", sample=first["sample"]["number"]))
    assert status == 200
    assert second["sample"]["number"] != first["sample"]["number"]
    assert second["progress"]["skipped"] == 1


def test_two_people_at_once_lose_no_label_and_see_how_far_they_agree(client: Client) -> None:
    metric = "document_retrieval.recall_at_5"
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda name: labelled(client, name, metric, 6), ("eva", "fay")))
    last = max(done, key=lambda each: each["progress"]["n_shared"])["progress"]
    assert (last["n_annotators"], last["n_shared"]) == (2, 6)
    # Both were asked about the same samples in the same order, and gave the same labels.
    assert last["alpha"] == last["kappa"] == 1.0
    warehouse = Warehouse(client.home / ".scoreline" / "warehouse.duckdb")
    counted = warehouse.fetch(
        "SELECT annotator, count(*) FROM labels WHERE metric = 'recall_at_5' "
        "GROUP BY ALL ORDER BY ALL"
    )
    assert counted.rows() == [("eva", 6), ("fay", 6)]


def test_a_run_can_write_the_warehouse_meanwhile(client: Client) -> None:
    done = scoreline(client.home, "run", "--quiet", "--force")
    assert done.code == 0, done.err
    assert labelled(client, "gus", F1, 1)["progress"]["own"] == 1


def test_a_label_that_cannot_be_saved_is_said_to_be_lost(home: Path, client: Client) -> None:
    warehouse = Warehouse(home / ".scoreline" / "warehouse.duckdb")
    _, found = client.ask(NEXT.replace("guest", "hal"))
    sent = body("hal", sample=found["sample"]["number"], value=1.0)
    with warehouse.transaction():
        status, refused = client.ask("labels", sent)
        assert status == 503
        assert "is being written" in refused["error"] or "locked" in refused["error"]
    assert client.ask("labels", sent)[1]["progress"]["own"] == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_end_publishes_the_last_label(home: Path, number: signal.Signals) -> None:
    name = number.name
    with annotating(home, "--metric", F1, "--order", "random") as (client, process):
        client.open_page()
        assert client.ask("metrics")[1]["metrics"] == [{"benchmark": "harbour", "metric": F1}]
        labelled(client, name, F1, 3)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 128 + number, err
        assert "Traceback" not in err
        kinds = client.published("SELECT selection FROM labels WHERE annotator = $name", name=name)
    assert kinds == [("random",)] * 3


def test_people_can_be_the_judge(tmp_path: Path) -> None:
    project = JudgedProject(tmp_path, {"model": "human"}, evaluators=["sexism"])
    project.write()
    assert scoreline(tmp_path, "run", "--quiet").code == 0
    with annotating(tmp_path) as (client, _):
        client.open_page()
        ((benchmark, metric),) = [
            (each["benchmark"], each["metric"]) for each in client.ask("metrics")[1]["metrics"]
        ]
        names = {"benchmark": benchmark, "metric": metric, "annotator": "ann"}
        _, found = client.ask(f"next?benchmark={benchmark}&metric={metric}&annotator=ann")
        assert found["metric"]["choices"] == [0.0, 1.0]
        count = found["progress"]["samples"]
        assert count == len(SYSTEMS) * len(QUESTIONS)
        for _ in range(count):
            sent = {**names, "sample": found["sample"]["number"], "value": 1.0}
            _, found = client.ask("labels", sent)
        assert found["sample"] is None
        # A run compares with what is published.
        start = time.monotonic()
        while client.published("SELECT count(*) FROM labels") != [(count,)]:
            assert time.monotonic() - start < WITHIN_S
            time.sleep(0.1)
        assert scoreline(tmp_path, "run", "--quiet").code == 0
        query = "SELECT status, value, count(*) FROM scores WHERE metric = 'passes' GROUP BY ALL"
        assert client.published(query) == [("scored", 1.0, count)]


def test_the_first_of_several_answers_is_labelled(tmp_path: Path) -> None:
    asked = [{"question_id": name, "constraints": ["first"]} for name in ("q0", "q1")]
    answers = [
        {"system": "a", "question_id": "q0", "repeat": 1, "answer": "the second"},
        {"system": "a", "question_id": "q0", "repeat": 0, "answer": "the first"},
        {"system": "a", "question_id": "q1", "repeat": 1, "answer": "the second"},
        {"system": "a", "question_id": "q1", "repeat": 0, "error": "no connection"},
    ]
    for name, rows in (("q", asked), ("p", answers)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "scoreline.yaml").write_text(
        "benchmarks:\n"
        "  b: {questions: q.jsonl, predictions: p.jsonl, evaluators: [tokens_presence]}\n",
        encoding="utf-8",
    )
    assert scoreline(tmp_path, "run", "--quiet").code == 0
    metric = "tokens_presence.passes"
    with annotating(tmp_path, "--metric", metric, "--show-verdicts") as (client, _):
        client.open_page()
        _, found = client.ask(f"next?benchmark=b&metric={metric}&annotator=ann")
    assert found["progress"]["samples"] == 1
    assert found["sample"]["value"] == 1.0
    assert {"title": "Answer", "texts": ["the first"]} in found["sample"]["fields"]


def test_verdicts_are_shown_if_asked_for(home: Path) -> None:
    with annotating(home, "--show-verdicts") as (client, _):
        client.open_page()
        sample = client.ask(NEXT)[1]["sample"]
        assert {"system", "value", "detail"} <= sample.keys()


def test_bad_usage(home: Path, tmp_path: Path) -> None:
    assert "there is no benchmark 'nowhere'" in failed(home, "--benchmark", "nowhere")
    assert "did you mean 'citation.f1'?" in failed(home, "--metric", "citation.f2")
    assert scoreline(tmp_path, "init", ".").code == 0
    assert "nothing is published yet" in failed(tmp_path)


def failed(home: Path, *options: str) -> str:
    done = scoreline(home, "annotate", *options)
    assert done.code == 2
    return done.err
