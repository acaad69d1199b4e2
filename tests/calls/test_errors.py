"""What exceptions of calls mean, as far as no server of ours can bring them about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from calls.errors import TransientFailure, map_error, redact


class Told(Exception):  # noqa: N818
    """A fake exception of LiteLLM."""

    def __init__(self, message: str, status: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.litellm_response_headers = headers


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [
        ("2", 2, 2),
        ("0.25", 0.25, 0.25),
        ("-1", 0, 0),
        (format_datetime(datetime.now(UTC) + timedelta(hours=3), usegmt=True), 9_000, 10_800),
        (format_datetime(datetime.now(UTC) - timedelta(hours=3), usegmt=True), 0, 0),
        (
            format_datetime((datetime.now(UTC) + timedelta(hours=3)).replace(tzinfo=None)),
            9_000,
            10_800,
        ),
    ],
    # The times themselves would make other tests of these in each process of the run.
    ids=["whole", "fraction", "negative", "later", "past", "zone unknown"],
)
def test_a_wait_is_a_number_or_a_date(given: str, least: float, most: float) -> None:
    failure = map_error(Told("busy", 429, {"Retry-After": given}), None)
    assert isinstance(failure, TransientFailure)
    assert failure.retry_after is not None
    assert least <= failure.retry_after <= most


def test_a_wait_that_cannot_be_read_is_none() -> None:
    failure = map_error(Told("busy", 429, {"retry-after": "soon"}), None)
    assert isinstance(failure, TransientFailure)
    assert failure.retry_after is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500])
def test_the_key_is_in_no_message_and_no_message_has_two_lines(status: int) -> None:
    failure = map_error(Told("a key\nsk-secret-1\n" * 200, status), "sk-secret-1")
    assert "sk-secret-1" not in str(failure) + repr(failure)
    assert "\n" not in str(failure)
    assert len(str(failure)) < 500


def test_no_part_of_a_key_is_left_where_a_message_is_cut() -> None:
    key = "sk-0123456789abcdef"
    for before in range(270, 310):
        told = str(map_error(Told("x" * before + key, 500), key))
        assert not any(part in told for part in ("sk-", "sk-0", "0123")), told


def test_a_key_is_concealed_and_what_stands_in_for_one_is_not() -> None:
    assert redact("key sk-0123456789 is wrong", "sk-0123456789") == "key *** is wrong"
    reply = '{"usefulness": "none"}'
    assert redact(reply, "none") == redact(reply, None) == reply
