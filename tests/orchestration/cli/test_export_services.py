"""`scoreline export` to OpenTelemetry and MLflow, read back with their own packages."""

from __future__ import annotations

import json
import re
import threading
import warnings
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import duckdb
import pytest

from tests.orchestration.conftest import scoreline
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    logs_service = pytest.importorskip("opentelemetry.proto.collector.logs.v1.logs_service_pb2")
    json_format = pytest.importorskip("google.protobuf.json_format")
    mlflow = pytest.importorskip("mlflow")

EVENTS = """
SELECT s.evaluator || '.' || s.metric, s.system, s.question_id, s.repeat, s.status, s.value,
    s.reason
FROM answer_scores AS s
SEMI JOIN leaderboard AS l USING (benchmark, system, evaluator, metric, signature)
WHERE s.status <> 'not_applicable'
"""

CONFIGURATION = """\
benchmarks:
  traced:
    questions: q.jsonl
    predictions: "{system}.jsonl"
    evaluators: [rouge]
"""


def fetch(project: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(project / "published" / "scoreline.duckdb"), read_only=True) as copy:
        return copy.execute(sql).fetchall()


def events(requests: list[Any]) -> list[dict[str, Any]]:
    """Return the attributes of all events in requests of OTLP, with what else they carry."""
    found = []
    for request in requests:
        for resource in request.resource_logs:
            named = {each.key: each.value.string_value for each in resource.resource.attributes}
            assert named["service.name"] == "scoreline"
            for record in (record for scope in resource.scope_logs for record in scope.log_records):
                assert record.event_name == "gen_ai.evaluation.result"
                assert record.time_unix_nano > 0
                values = {
                    each.key: getattr(each.value, each.value.WhichOneof("value"))
                    for each in record.attributes
                }
                ids = {"trace": record.trace_id.hex(), "span": record.span_id.hex()}
                found.append(values | ids)
    return found


def as_rows(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return events as rows of the table `scores`."""
    names = ("scoreline.system", "scoreline.question_id", "scoreline.repeat", "scoreline.status")
    more = ("gen_ai.evaluation.score.value", "gen_ai.evaluation.explanation")
    return [
        (event["gen_ai.evaluation.name"], *map(event.get, names), *map(event.get, more))
        for event in found
    ]


def key(row: tuple[Any, ...]) -> str:
    return json.dumps(row)


class Receiver:
    """A receiver of OTLP over HTTP that keeps what it gets."""

    def __init__(self, status: int = 200) -> None:
        self.requests: list[Any] = []
        self.paths: set[str] = set()
        self.headers: dict[str, str] = {}
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.paths.add(self.path)
                receiver.headers |= dict(self.headers.items())
                receiver.requests.append(logs_service.ExportLogsServiceRequest.FromString(body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def receiving(status: int = 200) -> Iterator[Receiver]:
    receiver = Receiver(status)
    thread = threading.Thread(target=receiver.server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        thread.join()
        receiver.server.server_close()


@takes_minutes
def test_every_score_is_an_event_in_the_file(done_project: Path, tmp_path: Path) -> None:
    out = ("export", "--as", "opentelemetry", "--out", str(tmp_path))
    done = scoreline(done_project, *out)
    assert done.code == 0, done.err
    (file,) = done.out.split()
    lines = Path(file).read_text("utf-8").splitlines()
    # Without ids of traces, OTLP's JSON is that of Protocol Buffers.
    requests = [json_format.Parse(line, logs_service.ExportLogsServiceRequest()) for line in lines]
    expected = fetch(done_project, EVENTS)
    assert expected
    assert sorted(as_rows(events(requests)), key=key) == sorted(expected, key=key)
    again = Path(file).read_bytes()
    assert scoreline(done_project, *out).code == 0
    assert Path(file).read_bytes() == again


@takes_minutes
def test_events_are_sent_to_an_endpoint(done_project: Path) -> None:
    with receiving() as receiver:
        done = scoreline(
            done_project,
            *("export", "--as", "opentelemetry", "--endpoint", receiver.address),
            OTEL_EXPORTER_OTLP_HEADERS="x-team=birds",
        )
    assert done.code == 0, done.err
    expected = fetch(done_project, EVENTS)
    assert f"{len(expected):,} events sent" in done.err
    assert receiver.paths == {"/v1/logs"}
    assert receiver.headers["x-team"] == "birds"
    assert sorted(as_rows(events(receiver.requests)), key=key) == sorted(expected, key=key)


@takes_minutes
def test_the_environment_names_the_endpoint(done_project: Path) -> None:
    with receiving() as receiver:
        done = scoreline(
            done_project,
            *("export", "--as", "opentelemetry"),
            OTEL_EXPORTER_OTLP_ENDPOINT=receiver.address,
        )
    assert done.code == 0, done.err
    assert receiver.paths == {"/v1/logs"}
    assert len(events(receiver.requests)) == len(fetch(done_project, EVENTS))


@takes_minutes
def test_a_refusal_is_an_error_without_secrets(done_project: Path) -> None:
    with receiving(403) as receiver:
        address = receiver.address.replace("//", "//user:hunter2@")
        done = scoreline(
            done_project, "export", "--as", "opentelemetry", "--endpoint", f"{address}/v1/logs"
        )
    assert done.code == 2
    assert "error: 127.0.0.1 does not accept the events: 0 were sent" in done.err
    assert "hunter2" not in done.err


@takes_minutes
def test_events_belong_to_the_span_that_answered(tmp_path: Path) -> None:
    (tmp_path / "scoreline.yaml").write_text(CONFIGURATION)
    (tmp_path / "q.jsonl").write_text(
        '{"question_id": "1", "expected_answer": "a"}\n'
        '{"question_id": "2", "expected_answer": "b"}\n'
    )
    trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    answer = {"question_id": "1", "answer": "a", "trace_id": trace, "span_id": span}
    other = {"question_id": "2", "answer": "b", "trace_id": "run-2", "response_id": "r2"}
    (tmp_path / "north.jsonl").write_text(f"{json.dumps(answer)}\n{json.dumps(other)}\n")
    assert scoreline(tmp_path, "run").code == 0
    with receiving() as receiver:
        done = scoreline(
            tmp_path,
            *("export", "--as", "opentelemetry", "--endpoint", receiver.address),
            *("--out", str(tmp_path)),
        )
    assert done.code == 0, done.err
    found = {event["scoreline.question_id"]: event for event in events(receiver.requests)}
    assert (found["1"]["trace"], found["1"]["span"]) == (trace, span)
    request = json.loads((tmp_path / "traced.otlp.jsonl").read_text())
    records = request["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert {(each.get("traceId"), each.get("spanId")) for each in records} >= {(trace, span)}
    assert (found["2"]["trace"], found["2"]["gen_ai.response.id"]) == ("", "r2")


@takes_minutes
def test_events_name_the_answer_of_several(tmp_path: Path) -> None:
    (tmp_path / "scoreline.yaml").write_text(CONFIGURATION)
    (tmp_path / "q.jsonl").write_text('{"question_id": "1", "expected_answer": "a"}\n')
    answers = [{"question_id": "1", "repeat": at, "answer": text} for at, text in enumerate("ac")]
    (tmp_path / "north.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in answers))
    assert scoreline(tmp_path, "run").code == 0
    with receiving() as receiver:
        done = scoreline(
            tmp_path, "export", "--as", "opentelemetry", "--endpoint", receiver.address
        )
    assert done.code == 0, done.err
    name, value = "gen_ai.evaluation.name", "gen_ai.evaluation.score.value"
    found = [each for each in events(receiver.requests) if each[name] == "rouge.rouge_1"]
    assert {each["scoreline.repeat"]: each[value] for each in found} == {0: 1.0, 1: 0.0}


@takes_minutes
def test_each_system_is_a_run_of_mlflow(done_project: Path, tmp_path: Path) -> None:
    done = scoreline(done_project, "export", "--as", "mlflow", "--out", str(tmp_path))
    assert done.code == 0, done.err
    again = scoreline(done_project, "export", "--as", "mlflow", "--out", str(tmp_path))
    assert again.out == done.out
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = mlflow.MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
        experiment = client.get_experiment_by_name("scoreline/harbour")
        runs = client.search_runs([experiment.experiment_id])
    assert sorted(run.info.run_id for run in runs) == sorted(done.out.split())
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert sorted(run.info.run_name for run in runs) == ["keyword", "reader"]
    rows = fetch(
        done_project,
        "SELECT system, evaluator || '.' || metric, mean, ci_low, n_scored, signature, evaluator "
        "FROM leaderboard WHERE slice = 'all'",
    )
    by_system = {run.data.tags["scoreline.system"]: run.data for run in runs}
    assert rows
    for system, metric, mean, low, n_scored, signature, evaluator in rows:
        data = by_system[system]
        assert data.metrics.get(metric) == mean
        assert data.metrics.get(f"{metric}/ci_low") == low
        assert data.metrics[f"{metric}/n_scored"] == n_scored
        assert data.params[f"{evaluator}.signature"] == signature
    for run in runs:
        system = run.data.tags["scoreline.system"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            place = Path(
                mlflow.artifacts.download_artifacts(
                    run_id=run.info.run_id, tracking_uri=f"sqlite:///{tmp_path / 'mlflow.db'}"
                )
            )
        assert place.is_relative_to(tmp_path / "artifacts" / "harbour")
        require_table(done_project, system, json.loads((place / "per_question.json").read_text()))
        require_report(place / "report")


def require_table(project: Path, system: str, table: dict[str, Any]) -> None:
    """Check that the table has every score of the published copy, and says what is missing."""
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
    by_question = {row["question_id"]: row for row in rows}
    expected = fetch(
        project,
        "SELECT question_id, evaluator || '.' || metric, value, status FROM scores "
        f"SEMI JOIN leaderboard USING (benchmark, system, evaluator, metric, signature) "
        f"WHERE system = '{system}'",
    )
    assert expected
    for question, name, value, status in expected:
        assert by_question[question][name] == pytest.approx(value)
        if value is None:
            assert f"{name}: {status}" in by_question[question]["not_scored"]
    answers = fetch(
        project, f"SELECT question_id, answer FROM predictions WHERE system = '{system}'"
    )
    assert {name: by_question[name]["answer"] for name, _ in answers} == dict(answers)


def require_report(folder: Path) -> None:
    """Check that the report has the page of the benchmark with all that it loads."""
    (address,) = re.findall(r'<a href="([^"]+)"', (folder / "index.html").read_text("utf-8"))
    page = folder / unquote(address)
    text = page.read_text("utf-8")
    assert "harbour" in text
    loaded = re.findall(r'(?:src|href)="(\.\./[^"#]+)"', text)
    assert loaded
    for each in loaded:
        assert (page.parent / each).is_file(), each


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--as", "parquet"], "Missing option '--out'"),
        (["--as", "parquet", "--out", "x", "--endpoint", "http://h"], "has an '--endpoint'"),
        (["--as", "opentelemetry"], "the variable OTEL_EXPORTER_OTLP_ENDPOINT"),
        (["--as", "mlflow"], "no store is named: set MLFLOW_TRACKING_URI"),
    ],
)
def test_a_missing_target_is_an_error(done_project: Path, arguments: list[str], told: str) -> None:
    done = scoreline(done_project, "export", *arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
