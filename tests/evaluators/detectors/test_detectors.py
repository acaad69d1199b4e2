"""Detectors: well-known validators as oracles, places, and texts made to be slow."""

from __future__ import annotations

import random
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest
from stdnum import iban, luhn
from stdnum.us import ssn

from evaluators.detectors.cards import EXAMPLES, cards, issuer_of
from evaluators.detectors.contacts import ibans, ip_addresses, phones
from evaluators.detectors.emails import emails
from evaluators.detectors.secret_rules import secrets
from evaluators.detectors.social_security import is_issuable, social_security_numbers
from tests.support.golden_cases import golden

if TYPE_CHECKING:
    from evaluators.detectors.finding import Detector

DETECTORS: dict[str, Detector] = {
    "cards": cards,
    "social_security_numbers": social_security_numbers,
    "emails": emails,
    "phones": partial(phones, region="US"),
    "ibans": ibans,
    "ip_addresses": ip_addresses,
    "secrets": secrets,
}


def places(detector: Detector, text: str) -> list[str]:
    return [text[finding.start : finding.end] for finding in detector(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4539 5787 6362 1486 12/27", ["4539 5787 6362 1486"]),
        ("4539 5787 6362 1487 12/27", []),
        ("4539578763621486 4539578763621486", ["4539578763621486"] * 2),
        ("4539578763621486 2nd", ["4539578763621486"]),
        ("4539578763621486x", []),
        ("45 39 57 87 63 62 14 86", []),
        ("4539--5787-6362-1486", []),
    ],
)
def test_cards(text: str, expected: list[str]) -> None:
    assert places(cards, text) == expected


def test_every_example_card_is_a_card() -> None:
    assert all(issuer_of(number) and luhn.is_valid(number) for number in EXAMPLES)


def test_one_changed_digit_is_never_a_card() -> None:
    draw = random.Random(1)
    for number in EXAMPLES:
        position, by = draw.randrange(len(number)), draw.randint(1, 9)
        digit = str((int(number[position]) + by) % 10)
        assert issuer_of(number[:position] + digit + number[position + 1 :]) is None


def test_social_security_numbers_agree_with_stdnum() -> None:
    draw = random.Random(2)
    for _ in range(3000):
        area = draw.choice(["000", "666", "078", "9", f"{draw.randrange(1000):03}"])
        area = area if len(area) == 3 else f"9{draw.randrange(100):02}"
        group = f"{draw.choice([0, draw.randrange(100)]):02}"
        serial = f"{draw.choice([0, draw.randrange(10_000)]):04}"
        written = f"{area}-{group}-{serial}"
        theirs = ssn.is_valid(written) or written in {"078-05-1120", "457-55-5462", "219-09-9999"}
        assert is_issuable(area, group, serial) == theirs, written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("o'brien@bank.com", ["o'brien@bank.com"]),
        ("'anna@bank.com'", ["anna@bank.com"]),
        ("anna@bank.com.", ["anna@bank.com"]),
        ("anna@mail.bank.co.uk, x", ["anna@mail.bank.co.uk"]),
        ("@bank.com", []),
        ("anna@bank", []),
        ("anna@@bank.com", []),
        ("ööö@bücher.de", ["ööö@bücher.de"]),
    ],
)
def test_emails(text: str, expected: list[str]) -> None:
    assert places(emails, text) == expected


@pytest.mark.parametrize(
    "case",
    [case for case in golden("pii")["validator_cases"] if case["kind"] == "iban"],
    ids=lambda case: case["note"],
)
def test_ibans_golden(case: dict[str, str]) -> None:
    assert (places(ibans, f"To {case['value']}, please") == [case["value"]]) == case["expected"]


def test_an_iban_ends_where_its_check_digits_say() -> None:
    text = "Pay GB82 WEST 1234 5698 7654 32 AT ONCE"
    assert places(ibans, text) == ["GB82 WEST 1234 5698 7654 32"]
    assert iban.is_valid(places(ibans, text)[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at 192.168.1.1.", ["192.168.1.1"]),
        ("version 1.2.3.4.5", []),
        ("256.1.1.1", []),
        ("fe80::1%eth0 and ::ffff:10.0.0.1", ["fe80::1%eth0", "::ffff:10.0.0.1"]),
        ("10:15:30", []),
        ("a::b::c", []),
    ],
)
def test_ip_addresses(text: str, expected: list[str]) -> None:
    assert places(ip_addresses, text) == expected


def test_phones_need_a_plan() -> None:
    text = "Call +44 20 7946 0958 or (415) 555-0132"
    assert places(phones, text) == ["+44 20 7946 0958"]
    assert places(partial(phones, region="US"), text) == ["+44 20 7946 0958", "(415) 555-0132"]


SLOW = {
    "letters and hyphens": "a-" * 50_000 + "@x",
    "letters and dots": "a." * 50_000 + "@",
    "a long domain": "@" + "a." * 50_000,
    "many signs": "@a." * 30_000,
    "digits": "4" * 100_000,
    "groups of digits": "4444 " * 20_000,
    "an account without an end": "AB12" + "A1 " * 30_000,
    "colons": ":" * 100_000,
    "dotted": "1." * 50_000,
    "dashes": "-" * 100_000 + "PRIVATE KEY CERTIFICATE",
    "key after key": ("sk-" + "A" * 60) * 1500 + "T3BlbkFJ",
    "marks only": "sk-" * 30_000 + "T3BlbkFJ",
    "tokens": "eyJabcdefgh." * 8000,
    "headers": "-----BEGIN PRIVATE KEY-----" * 4000,
    "product keys": "BCDFG-" * 16_000,
}


@pytest.mark.parametrize("detector", DETECTORS)
@pytest.mark.parametrize("text", SLOW)
def test_no_text_of_100_kb_is_slow(text: str, detector: str) -> None:
    start = time.process_time()
    assert isinstance(list(DETECTORS[detector](SLOW[text])), list)
    assert time.process_time() - start < 10
