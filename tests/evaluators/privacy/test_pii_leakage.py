"""PII leakage: worked cases, what is stored, and strings with known verdicts."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from evaluators.catalog import build
from evaluators.errors import BadParameters
from evaluators.library.privacy.pii_leakage import PiiLeakage
from evaluators.scoring import aggregate, score
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, outcomes, rows_to_fold, samples, values

if TYPE_CHECKING:
    from evaluators.detectors.finding import Finding

GOLDEN = golden("pii")
DOCS = Path(__file__).parents[3] / "docs" / "detectors.md"
CARD = "4539 5787 6362 1486"
ENTITIES = {
    "CREDIT_CARD": "credit_card",
    "US_SSN": "us_ssn",
    "EMAIL_ADDRESS": "email",
    "IBAN_CODE": "iban",
    "IP_ADDRESS": "ip_address",
    "PHONE_NUMBER": "phone",
}


def told(finding: Finding) -> dict[str, Any]:
    plain = {"type": finding.kind, "value": finding.value, "example": finding.example}
    return plain | ({"network": finding.note} if finding.note else {})


def by_value(item: dict[str, Any]) -> str:
    return str(item["value"])


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    text, expected = case["input"]["text"], case["expected"]
    found = [told(finding) for finding in PiiLeakage().find(text)]
    assert sorted(found, key=by_value) == sorted(expected["findings"], key=by_value)
    assert values(PiiLeakage(), {"answer": text})["failures"] == float(expected["leak"])


@pytest.mark.parametrize("case", GOLDEN["combination_cases"], ids=lambda case: case["note"])
def test_golden_combinations(case: dict[str, Any]) -> None:
    row = {
        "answer": f"It is {CARD}." if case["answer_leak"] else "It is secret.",
        "contexts": ["Nothing here.", f"Card {CARD}" if case["context_leak"] else "Nothing."],
    }
    found = values(PiiLeakage(), row)
    assert {f"model_{name}": found[name] for name in found if name != "parse_failures"} == (
        case["expected"]
    )


def test_what_has_no_number_and_what_passes_with_a_reason() -> None:
    rows: list[dict[str, Any]] = [
        {"answer": "Nothing.", "contexts": ["Nothing."]},
        {"answer": "Nothing."},
        {"answer": " ", "contexts": [f"Card {CARD}"]},
        {"answer": "", "contexts": []},
        {"answer": None, "contexts": []},
        {"answer": CARD, "contexts": [CARD], "error": "timeout"},
    ]
    found = outcomes(PiiLeakage(), samples(rows))
    assert [outcome["passes"] for outcome in found] == [
        Outcome(1.0),
        Outcome(1.0),
        Outcome(0.0, "scored", "empty_answer"),
        Outcome(1.0, "scored", "empty_answer"),
        Outcome(None, "not_applicable", "no answer"),
        Outcome(None, "target_error", "target_error"),
    ]
    assert [outcome["retrieval_failures"] for outcome in found][:4] == [
        Outcome(0.0),
        Outcome(None, "not_applicable", "no contexts"),
        Outcome(1.0, "scored", "empty_answer"),
        Outcome(0.0, "scored", "empty_answer"),
    ]
    unread = outcomes(PiiLeakage(check_context=False), samples(rows[:3]))
    assert [outcome["passes"].value for outcome in unread] == [1, 1, 1]
    assert {outcome["retrieval_failures"].reason for outcome in unread} == {
        "the context was not judged"
    }


def test_the_detail_shows_where_and_what_but_not_the_thing() -> None:
    answer = f"Pay with {CARD} or ask anna@bank.com, x@example.com"
    frame = samples([{"answer": answer, "contexts": ["no", "SSN 536-22-8145"]}])
    detail = score(PiiLeakage(), frame).frame["detail"][0]
    assert not any(thing in detail for thing in ("4539", "5787", "anna", "bank", "536"))
    shown = json.loads(detail)
    start = answer.index(CARD)
    assert shown["answer"][0] == {
        "kind": "credit_card",
        "start": start,
        "end": start + len(CARD),
        "begins": "45…",
        "note": "visa",
    }
    assert [item.get("example", False) for item in shown["answer"]] == [False, False, True]
    assert shown["contexts"][0]["passage"] == 1


def test_many_findings_are_counted_and_some_listed() -> None:
    frame = samples([{"answer": " ".join(f"a{n}@bank.com" for n in range(50))}])
    shown = json.loads(score(PiiLeakage(), frame).frame["detail"][0])
    assert len(shown["answer"]) == 20
    assert shown["found"] == {"answer": 50}


def test_nothing_is_lost_by_ruling_texts_out_beforehand() -> None:
    draw = random.Random(9)
    pieces = [*(case["input"]["text"] for case in GOLDEN["cases"]), "", " ", "words", "北京", "1"]
    pieces += ["+1 415 555 0132", "DE89370400440532013000", "::1", "10.0.0.1", "\u200b"]
    evaluator = PiiLeakage(
        detectors=("credit_card", "us_ssn", "email", "phone", "iban", "ip_address"), region="US"
    )
    texts = [" ".join(draw.choices(pieces, k=draw.randint(1, 3))) for _ in range(400)]
    frame = samples([{"answer": text, "contexts": [text[::-1], text]} for text in texts])
    quick = [outcome["failures"].value for outcome in outcomes(evaluator, frame)]
    slow = [
        float(any(any(map(evaluator.counts, evaluator.find(t))) for t in (text, text[::-1])))
        for text in texts
    ]
    assert quick == slow
    assert 0 < sum(slow) < len(slow)


def test_examples_may_count() -> None:
    row = {"answer": "Use 4111 1111 1111 1111, to test"}
    assert values(PiiLeakage(), row)["passes"] == 1
    assert values(PiiLeakage(ignore_examples=False), row)["passes"] == 0


def test_passes_of_all() -> None:
    frame = samples([{"answer": "no"}, {"answer": CARD}, {"answer": "", "error": "timeout"}])
    found = aggregate(PiiLeakage(), rows_to_fold(PiiLeakage(), frame))
    assert found.scores == {"passes_of_all": 0.5}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"detectors": []}, "at least one"),
        ({"detectors": ["name"]}, "detectors"),
        ({"region": "Narnia"}, "expected a code such as 'US'"),
    ],
)
def test_unusable_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(BadParameters, match=message):
        build("pii_leakage", parameters)


def test_strings_with_known_verdicts(shared: Path) -> None:
    """Of each kind: how many were to be found, were missed, and were found too many."""
    file = shared / "data" / "pii_secrets" / "pii_strings.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    counted: dict[str, Counter[str]] = {kind: Counter() for kind in ENTITIES.values()}
    for row in rows:
        if row["entity"] not in ENTITIES:
            continue
        kind = ENTITIES[row["entity"]]
        evaluator = PiiLeakage(detectors=(kind,), region="US")  # type: ignore[arg-type]
        found, expected = len(evaluator.find(row["text"])), row["expected_count"]
        counted[kind].update(
            expected=expected, missed=max(0, expected - found), extra=max(0, found - expected)
        )
    table = {
        kind: tuple(counts[n] for n in ("expected", "missed", "extra"))
        for kind, counts in counted.items()
    }
    assert table == {
        "credit_card": (11, 3, 0),
        "us_ssn": (5, 3, 0),
        "email": (5, 0, 0),
        "iban": (105, 0, 0),
        "ip_address": (63, 6, 0),
        "phone": (18, 2, 1),
    }
    told = DOCS.read_text(encoding="utf-8").replace(" (region US)", "")
    for kind, (expected, missed, extra) in table.items():
        found = expected - missed
        shares = f"{found / expected:.3f} | {found / (found + extra):.3f}"
        assert f"| {kind} | {expected} | {found} | {extra} | {shares} |" in told


def test_a_frame_of_nothing() -> None:
    assert score(PiiLeakage(), samples([]).cast({"answer": pl.String})).frame.height == 0
