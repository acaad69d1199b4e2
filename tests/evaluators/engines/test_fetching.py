"""Fetching from a hub on the loopback: once, what is needed, and only for what is selected."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.evaluators.engines.hub_server import COMMIT, HubServer

pytestmark = pytest.mark.xdist_group("torch")
ROOT = Path(__file__).parents[3]
PROGRAM = """
import json, sys
from pathlib import Path
from evaluators.catalog import build
from evaluators.engines.contract import Engines
from evaluators.engines.kind import Options
from evaluators.engines.models import Choices, models
from evaluators.scoring import score
from tests.samples import samples

told = []
options = Options(progress=lambda *said: told.append(said))
names = {"toxicity": "owner/tiny", "fairness_bias": "owner/nowhere"}
found, absent = models(Choices(names=names, home=Path(), options=options))
engines = Engines(models=found, absent=absent)
before = found["toxicity"].identity
rows = {
    name: score(build(name), samples([{"answer": "Nice day."}]), engines).long().rows(named=True)[0]
    for name in sys.argv[1:]
}
if not sys.argv[1:]:
    found["toxicity"].obstacle()
print(json.dumps([before, found["toxicity"].identity, rows, told]))
"""


def run(hub: HubServer, cache: Path, *evaluators: str) -> list[object]:
    """Score with models of the hub, in a process that takes the server for the hub."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *evaluators],
        cwd=ROOT,
        env=os.environ | {"HF_ENDPOINT": hub.address, "HF_HUB_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[object] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_weights_are_fetched_once_and_only_when_they_are_needed(
    tiny_models: Path, tmp_path: Path
) -> None:
    (extra := tiny_models / "toxic" / "onnx").mkdir()
    (extra / "model.onnx").write_bytes(b"the same weights in another form")
    with HubServer("owner/tiny", tiny_models / "toxic") as hub:
        _, _, rows, _ = run(hub, tmp_path, "fairness_bias")
        assert isinstance(rows, dict)
        assert rows["fairness_bias"]["status"] == "not_applicable"
        assert "owner/nowhere@main could not be fetched" in rows["fairness_bias"]["reason"]
        assert hub.fetched == []
        before, after, rows, told = run(hub, tmp_path, "toxicity")
        assert isinstance(rows, dict)
        assert isinstance(told, list)
        assert (rows["toxicity"]["status"], rows["toxicity"]["reason"]) == ("scored", None)
        assert (before, after) == ("owner/tiny@main,float32", f"owner/tiny@{COMMIT},float32")
        assert told[0][0].startswith("fetching owner/tiny@main (")
        assert sorted(hub.fetched) == [
            "config.json",
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        ]
        again = run(hub, tmp_path)
        assert again[0] == after
        assert len(hub.fetched) == 4
