"""Export scores as OpenTelemetry events `gen_ai.evaluation.result`, to a file or an endpoint."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from assets.publishing.exports.errors import ExportFailed, missing_extra
from warehouse.storage.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from opentelemetry.sdk._logs import ReadableLogRecord

    from warehouse.publish.snapshot import OpenSnapshot

EVENT: Final = "gen_ai.evaluation.result"
"""The name of the events in the semantic conventions for generative AI."""

BATCH: Final = 500
"""The events of one request, or of one line of the file."""

PATH: Final = "/v1/logs"

LEFT_OUT: Final = "not_applicable"
"""The statuses of scores that are not results."""

ERRORS: Final = frozenset({"judge_error", "target_error", "parse_failure"})

_GROUPS = """
SELECT DISTINCT system, evaluator, metric, signature FROM leaderboard
WHERE benchmark = $benchmark AND slice = 'all'
ORDER BY ALL
"""

_SCORES = f"""
SELECT s.question_id, s.repeat, s.value, s.status, s.reason, epoch_ns(s.scored_at) AS time_ns,
    coalesce(p.trace_id, p.extra ->> '$.trace_id', p.extra ->> '$.extra.trace_id') AS trace_id,
    p.extra ->> '$.span_id' AS span_id, p.extra ->> '$.response_id' AS response_id
FROM answer_scores AS s
LEFT JOIN predictions AS p USING (benchmark, system, question_id, repeat)
WHERE s.benchmark = $benchmark AND s.system = $system AND s.evaluator = $evaluator
    AND s.metric = $metric AND s.signature = $signature AND s.status <> '{LEFT_OUT}'
ORDER BY s.question_id, s.repeat
"""  # noqa: S608


def write_events(snapshot: OpenSnapshot, benchmark: str, folder: Path) -> Path:
    """Write `<benchmark>.otlp.jsonl` into a folder: requests of OTLP as JSON, one on each line.

    Raises:
        ExportFailed: The packages are not installed.
    """
    encode, to_dict = _encoder()
    target = folder / f"{benchmark}.otlp.jsonl"
    with replace_file(target) as temporary, temporary.open("w", encoding="utf-8") as file:
        for batch in _batches(snapshot, benchmark):
            request = to_dict(encode(batch), use_integers_for_enums=True)
            for record in _records_of(request):
                # OTLP has ids in hexadecimal digits, Protocol Buffers' own JSON in base 64.
                _hexadecimal(record)
            file.write(json.dumps(request, ensure_ascii=False) + "\n")
    return target


def send_events(snapshot: OpenSnapshot, benchmark: str, endpoint: str | None) -> int:
    """Send the events to an endpoint of OTLP over HTTP, and return their number.

    Args:
        snapshot: The published copy.
        benchmark: The benchmark.
        endpoint: The address, with or without `/v1/logs`; null: that of the environment variables
            of OpenTelemetry, which also set headers, certificates and the timeout.

    Raises:
        ExportFailed: The packages are not installed, or the endpoint does not accept the events.
    """
    _encoder()
    try:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs.export import LogRecordExportResult
    except ImportError as error:
        raise missing_extra("opentelemetry") from error

    address = None
    if endpoint is not None:
        stem = endpoint.rstrip("/")
        address = stem if stem.endswith(PATH) else stem + PATH
    exporter = OTLPLogExporter(endpoint=address)
    sent = 0
    try:
        for batch in _batches(snapshot, benchmark):
            if exporter.export(batch) is not LogRecordExportResult.SUCCESS:
                host = urlsplit(address).hostname if address is not None else "the endpoint"
                raise ExportFailed(
                    f"{host} does not accept the events: {sent:,} were sent; check the address, "
                    "the headers in OTEL_EXPORTER_OTLP_HEADERS and the log of the endpoint"
                )
            sent += len(batch)
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]
    return sent


def _encoder() -> tuple[Any, Any]:
    """Return the functions that encode events, and that turn requests into dictionaries."""
    try:
        from google.protobuf.json_format import MessageToDict
        from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
    except ImportError as error:
        raise missing_extra("opentelemetry") from error
    return encode_logs, MessageToDict


def _batches(snapshot: OpenSnapshot, benchmark: str) -> Iterator[Sequence[ReadableLogRecord]]:
    from importlib.metadata import version

    from opentelemetry.sdk._logs import ReadableLogRecord
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    resource = Resource({"service.name": "scoreline", "service.version": version("scoreline")})
    scope = InstrumentationScope("scoreline", version("scoreline"))
    batch: list[ReadableLogRecord] = []
    for group in snapshot.fetch(_GROUPS, {"benchmark": benchmark}).to_dicts():
        rows = snapshot.fetch(_SCORES, {"benchmark": benchmark, **group})
        for row in rows.iter_rows(named=True):
            batch.append(ReadableLogRecord(_event(benchmark, group, row), resource, scope))
            if len(batch) == BATCH:
                yield batch
                batch = []
    if batch:
        yield batch


def _event(benchmark: str, group: dict[str, str], row: dict[str, Any]) -> Any:
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.context import Context
    from opentelemetry.trace import (
        NonRecordingSpan,
        SpanContext,
        TraceFlags,
        set_span_in_context,
    )

    status = row["status"]
    attributes = {
        "gen_ai.evaluation.name": f"{group['evaluator']}.{group['metric']}",
        "gen_ai.evaluation.score.value": row["value"],
        "gen_ai.evaluation.score.label": "undefined" if status == "undefined" else None,
        "gen_ai.evaluation.explanation": row["reason"],
        "gen_ai.response.id": row["response_id"],
        "error.type": status if status in ERRORS else None,
        "scoreline.benchmark": benchmark,
        "scoreline.system": group["system"],
        "scoreline.question_id": row["question_id"],
        "scoreline.repeat": row["repeat"],
        "scoreline.status": status,
        "scoreline.signature": group["signature"],
    }
    trace, span = _identifier(row["trace_id"], 32), _identifier(row["span_id"], 16)
    parent = SpanContext(trace, span, is_remote=True, trace_flags=TraceFlags.get_default())
    return LogRecord(
        timestamp=row["time_ns"],
        observed_timestamp=row["time_ns"],
        context=set_span_in_context(NonRecordingSpan(parent), Context()),
        severity_number=SeverityNumber.INFO,
        attributes={name: value for name, value in attributes.items() if value is not None},
        event_name=EVENT,
    )


def _identifier(text: str | None, digits: int) -> int:
    """Return the id of a trace or span as a number; 0, which stands for none, if it is not one."""
    given = (text or "").removeprefix("0x")
    return int(given, 16) if re.fullmatch(rf"[0-9a-fA-F]{{{digits}}}", given) else 0


def _records_of(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for resource in request.get("resourceLogs", ()):
        for scope in resource.get("scopeLogs", ()):
            yield from scope.get("logRecords", ())


def _hexadecimal(record: dict[str, Any]) -> None:
    for name in ("traceId", "spanId"):
        if name in record:
            record[name] = base64.b64decode(record[name]).hex()
