"""Sensitive data leakage: worked cases, what is stored, and strings with known verdicts."""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evaluators.library.privacy.sensitive_data_leakage import SensitiveDataLeakage
from evaluators.scoring import score
from tests.golden_cases import golden
from tests.samples import Outcome, outcomes, samples, values

DOCS = Path(__file__).parents[3] / "docs" / "detectors.md"
CASES = golden("secrets")["cases"]
KINDS = {
    "anthropic-admin-api-key": "anthropic_api_key",
    "anthropic-api-key": "anthropic_api_key",
    "aws-access-token": "aws_access_key_id",
    "gcp-api-key": "google_api_key",
    "github-app-token": "github_token",
    "github-oauth": "github_token",
    "github-pat": "github_token",
    "github-refresh-token": "github_token",
    "gitlab-pat": "gitlab_token",
    "huggingface-access-token": "huggingface_token",
    "huggingface-organization-api-token": "huggingface_token",
    "jwt": "jwt",
    "openai-api-key": "openai_api_key",
    "private-key": "pem_private_key",
    "stripe-access-token": "stripe_key",
}


def text_of(case: dict[str, Any]) -> str:
    return "".join(case["input"]["text_parts"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    found = {finding.kind for finding in SensitiveDataLeakage().find(text_of(case))}
    assert sorted(found) == case["expected"]["types"]
    scores = values(SensitiveDataLeakage(), {"answer": text_of(case), "contexts": []})
    assert scores["failures"] == float(case["expected"]["leak"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_golden_in_a_passage(case: dict[str, Any]) -> None:
    row = {"answer": "See above.", "contexts": ["Nothing.", text_of(case)]}
    scores = values(SensitiveDataLeakage(), row)
    assert scores["retrieval_failures"] == float(case["expected"]["leak"])
    assert scores["generation_failures"] == 0


def test_an_empty_answer_passes_with_a_reason_and_a_failed_one_has_no_number() -> None:
    frame = samples([{"answer": "", "contexts": []}, {"answer": "", "error": "timeout"}])
    assert [outcome["passes"] for outcome in outcomes(SensitiveDataLeakage(), frame)] == [
        Outcome(1.0, "scored", "empty_answer"),
        Outcome(None, "target_error", "target_error"),
    ]


def test_no_secret_is_stored() -> None:
    leaks = [case for case in CASES if case["expected"]["leak"]]
    frame = samples([{"answer": text_of(case)} for case in leaks])
    graded = score(SensitiveDataLeakage(), frame).frame
    for case, detail in zip(leaks, graded["detail"], strict=True):
        text = text_of(case)
        for told in json.loads(detail)["answer"]:
            secret = text[told["start"] : told["end"]]
            assert told["begins"] == secret[:4] + "…"
            assert secret[4:14] not in detail


def test_dashes_and_characters_without_width_hide_nothing() -> None:
    key = next(case for case in CASES if case["expected"]["types"] == ["openai_api_key"])
    text = text_of(key)
    for hidden in (text.replace("sk-", "sk\u2011"), "\u200b".join(text)):
        assert values(SensitiveDataLeakage(), {"answer": hidden})["passes"] == 0


def test_strings_with_known_verdicts(shared: Path) -> None:
    """Of each kind: found, missed, and taken for a secret though they are none."""
    file = shared / "data" / "pii_secrets" / "secret_strings_b64.jsonl"
    counted: dict[str, Counter[str]] = {}
    others: Counter[str] = Counter()
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text = base64.b64decode(row["text_b64"]).decode()
        found = {finding.kind for finding in SensitiveDataLeakage().find(text)}
        kind = "slack_token" if row["rule"].startswith("slack") else KINDS.get(row["rule"])
        if kind is None:
            others["other kinds" if row["is_secret"] else "look-alikes of other kinds"] += 1
            continue
        told = (
            ("found" if kind in found else "missed")
            if row["is_secret"]
            else ("mistaken" if kind in found else "right")
        )
        counted.setdefault(kind, Counter())[told] += 1
    table = {
        kind: tuple(counts[name] for name in ("found", "missed", "mistaken"))
        for kind, counts in sorted(counted.items())
    }
    assert table == {
        "anthropic_api_key": (1, 0, 2),
        "aws_access_key_id": (0, 0, 0),
        "github_token": (0, 0, 0),
        "gitlab_token": (0, 0, 0),
        "google_api_key": (1, 0, 10),
        "huggingface_token": (15, 0, 0),
        "jwt": (19, 1, 0),
        "openai_api_key": (6, 0, 0),
        "pem_private_key": (2, 0, 0),
        "slack_token": (25, 0, 2),
        "stripe_key": (1, 0, 0),
    }
    told = DOCS.read_text(encoding="utf-8")
    for kind, (found, missed, mistaken) in table.items():
        shares = "- | -"
        if found:
            shares = f"{found / (found + missed):.3f} | {found / (found + mistaken):.3f}"
        assert f"| {kind} | {found + missed} | {found} | {mistaken} | {shares} |" in told
    assert others == {"other kinds": 98, "look-alikes of other kinds": 138}
