"""Replay files: a judge that answers from recorded replies only.

A file is JSON Lines (also .gz) or Parquet. A row is either a judgment from a ledger (`messages`,
`reply_schema`, `replicate`, `reply`), found by its content regardless of the model; or a reply with
an address: `evaluator`, `question_id`, `reply` and, optionally, `system`, `benchmark` and `step`
(default 0). A row without system or benchmark applies to all; the most specific row is used.
"""

from __future__ import annotations

import gzip
import json
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from calls.call import Call, CallStatus
from calls.usage import CallUsage
from evaluators.engines.judge.errors import BadRecording
from evaluators.engines.judge.judgment import parse_judgment
from evaluators.engines.judge.settings import recorded_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from calls.call import Origin, Outcome
    from evaluators.engines.judge.judgment import Parser

_ADDRESS = frozenset({"evaluator", "question_id"})
_LEDGER = frozenset({"messages", "reply_schema"})
_STATUSES = (CallStatus.SCORED, CallStatus.PARSE_FAILURE, CallStatus.JUDGE_ERROR)


class _Address(NamedTuple):
    benchmark: str | None
    system: str | None
    question_id: str
    evaluator: str
    step: int


class _Reply(NamedTuple):
    """The reply of a row; `line` is its line or row number."""

    text: str | None
    status: str | None
    error: str | None
    line: int


class RecordedAsker:
    """Answers from a replay file; its judgments cost nothing."""

    spent_usd = 0.0
    refused_usd = None

    def __init__(self, file: Path) -> None:
        self._file = file
        self._by_content: dict[str, _Reply] = {}
        self._by_address: dict[_Address, _Reply] = {}

    async def open(self) -> None:
        """Read the file.

        Raises:
            BadRecording: The file cannot be read; the message names the line.
        """
        for number, row in _rows(self._file):
            self._add_row(number, row)

    async def close(self) -> None:
        """Do nothing: no file stays open."""

    async def ask(self, call: Call, origin: Origin, parser: Parser) -> Outcome:
        """Return the recorded reply as a judgment; a judge error if there is none."""
        usage = CallUsage(cost_usd=0.0)
        found = self._find(call, origin)
        if found is None:
            missing = (
                f"{self._file.name} holds no reply for {origin.evaluator} on question "
                f"{origin.question_id!r} of {origin.system!r}, step {recorded_address(origin)[-1]}"
            )
            return usage.outcome(call, CallStatus.JUDGE_ERROR, error=missing)
        if found.text is None or found.status == CallStatus.JUDGE_ERROR:
            status = CallStatus(found.status or CallStatus.JUDGE_ERROR)
            error = found.error or f"line {found.line} of {self._file.name} holds no reply"
            return usage.outcome(call, status, error=error)
        return parse_judgment(usage, call, found.text, parser, found.error)

    def _find(self, call: Call, origin: Origin) -> _Reply | None:
        exact = _Address(*recorded_address(origin))
        for address in (
            exact,
            exact._replace(benchmark=None),
            exact._replace(system=None),
            exact._replace(benchmark=None, system=None),
        ):
            reply = self._by_address.get(address)
            if reply is not None:
                return reply
        return self._by_content.get(call.content_digest) if self._by_content else None

    def _add_row(self, line: int, row: Mapping[str, Any]) -> None:
        if "reply" not in row:
            raise self._error(line, "a field 'reply'", f"only {sorted(row)}")
        given = row["reply"]
        if given is not None and not isinstance(given, str | dict):
            raise self._error(line, "a reply that is a text or an object", repr(given)[:80])
        text = json.dumps(given, ensure_ascii=False) if isinstance(given, dict) else given
        status = row.get("status")
        if status not in (None, *_STATUSES):
            raise self._error(line, "a status of judgments", repr(status))
        error = row.get("error")
        if error is not None and not isinstance(error, str):
            raise self._error(line, "an error that is a text", repr(error)[:80])
        reply = _Reply(text, status, error, line)
        if row.keys() >= _LEDGER:
            self._add_reply(self._by_content, self._content_key(line, row), reply)
        elif row.keys() >= _ADDRESS:
            self._add_reply(self._by_address, self._address(line, row), reply)
        else:
            wanted = "'evaluator' and 'question_id', or 'messages' and 'reply_schema'"
            raise self._error(line, wanted, f"only {sorted(row)}")

    def _add_reply(self, replies: dict[Any, _Reply], key: Any, reply: _Reply) -> None:
        before = replies.setdefault(key, reply)
        if before.text != reply.text:
            raise self._error(
                reply.line, "one reply to each question", f"another than line {before.line} has"
            )

    def _address(self, line: int, row: Mapping[str, Any]) -> _Address:
        step = row.get("step")
        address = _Address(
            row.get("benchmark"),
            row.get("system"),
            row["question_id"],
            row["evaluator"],
            0 if step is None else step,
        )
        if not isinstance(address.step, int) or not all(
            value is None or isinstance(value, str) for value in address[:4]
        ):
            raise self._error(
                line, "names that are texts and a step that is a number", repr(address)
            )
        return address

    def _content_key(self, line: int, row: Mapping[str, Any]) -> str:
        try:
            messages, schema = _decoded(row["messages"]), _decoded(row["reply_schema"])
        except json.JSONDecodeError:
            messages, schema = None, None
        if not isinstance(messages, list) or not isinstance(schema, dict):
            raise self._error(line, "a list of messages and a schema", repr(row["messages"])[:80])
        replicate = row.get("replicate") or 0
        if not isinstance(replicate, int):
            raise self._error(line, "a replicate that is a number", repr(replicate)[:80])
        return Call(
            model="",
            parameters={},
            messages=messages,
            reply_schema=schema,
            replicate=replicate,
        ).content_digest

    def _error(self, line: int, expected: str, found: str) -> BadRecording:
        return BadRecording(f"{self._file}, line {line}: expected {expected}, found {found}")


def _decoded(value: Any) -> Any:
    # Polars reads DuckDB's JSON columns from Parquet as bytes.
    return json.loads(value) if isinstance(value, str | bytes) else value


def _rows(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows of a file with their line number or, in Parquet, row number, from 1."""
    if file.suffix == ".parquet":
        import polars as pl

        try:
            frame = pl.read_parquet(file)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise BadRecording(f"{file}: expected a Parquet file, found {error}") from error
        yield from enumerate(frame.iter_rows(named=True), 1)
        return
    opener = gzip.open if file.suffix == ".gz" else open
    number = 0
    try:
        with opener(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise BadRecording(f"{file}, line {number}: expected an object")
                    yield number, row
    except json.JSONDecodeError as error:
        raise BadRecording(f"{file}, line {number}: expected JSON, found {error.msg}") from error
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise BadRecording(f"{file}, line {number + 1}: {error}") from error
