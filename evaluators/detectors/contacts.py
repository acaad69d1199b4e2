"""Phone numbers, bank accounts and IP addresses: detectors that are off by default."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from evaluators.detectors.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

PHONE, IBAN, IP_ADDRESS = "phone", "iban", "ip_address"
PHONE_HINT = r"[0-9][^0-9\n]{0,4}[0-9][^0-9\n]{0,4}[0-9]"
IBAN_HINT = r"[A-Z]{2}[0-9]{2}"
IP_HINT = r"[0-9]\.[0-9]|:[0-9A-Fa-f]*:"
"""Patterns (also valid in Rust) that every text with such a finding matches."""

_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]){11,30}+")
_IBAN_BORDER = re.compile(r"(?![A-Za-z0-9])")
_SHORTEST_IBAN = 15
_IP = re.compile(
    r"(?<![0-9A-Za-z_:.])[0-9A-Fa-f]{0,4}+:[0-9A-Fa-f:.]*+(?:%[0-9A-Za-z]+)?(?![0-9A-Za-z_:])"
    r"|(?<![0-9A-Za-z_.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9A-Za-z_]|\.[0-9])"
)
_LONGEST_IPV6 = 64


def phones(text: str, region: str | None = None) -> Iterator[Finding]:
    """Find phone numbers that are valid by the numbering plans of phonenumbers.

    Args:
        text: A normalised text.
        region: The country whose national format counts (`US`); None: only numbers with + and
            country code.
    """
    from phonenumbers import Leniency, PhoneNumberFormat, PhoneNumberMatcher, format_number

    for match in PhoneNumberMatcher(text, region, leniency=Leniency.VALID):
        value = format_number(match.number, PhoneNumberFormat.E164)
        yield Finding(PHONE, match.start, match.end, value)


def ibans(text: str) -> Iterator[Finding]:
    """Find IBANs with the format of their country and valid check digits.

    The bank code is not verified, because lists of banks are never complete.
    """
    from stdnum import iban

    position = 0
    while candidate := _IBAN.search(text, position):
        start, position = candidate.start(), candidate.start() + 1
        for end in range(candidate.end(), start + _SHORTEST_IBAN - 1, -1):
            value = text[start:end]
            whole = value[-1].isalnum() and _IBAN_BORDER.match(text, end)
            if whole and _checks(iban.compact(value)) and iban.is_valid(value, check_country=False):
                yield Finding(IBAN, start, end, iban.compact(value))
                position = end
                break


def _checks(account: str) -> bool:
    """Return whether the check digits are right; this is faster than the check of the format."""
    return int("".join(str(int(sign, 36)) for sign in account[4:] + account[:4])) % 97 == 1


def ip_addresses(text: str) -> Iterator[Finding]:
    """Find valid IPv4 and IPv6 addresses."""
    end_of_last = 0
    for match in _IP.finditer(text):
        value = match.group().rstrip(".")
        if match.start() < end_of_last or len(value) > _LONGEST_IPV6 or not value.strip(":"):
            continue
        try:
            ipaddress.ip_address(value)
        except ValueError:
            continue
        end_of_last = match.start() + len(value)
        yield Finding(IP_ADDRESS, match.start(), end_of_last, value)
