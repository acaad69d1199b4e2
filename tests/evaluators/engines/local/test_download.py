"""Downloads from a hub on the loopback: once, only needed files, only for selected evaluators."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.evaluators.engines.local.hub_server import COMMIT, HubServer
from tests.support.services import takes_minutes

pytestmark = takes_minutes

ROOT = Path(__file__).parents[4]
PROGRAM = """
import json, sys
from pathlib import Path
from evaluators.catalog import build
from evaluators.flows.protocols import Engines
from evaluators.engines.roles import Options
from evaluators.engines.models import ModelSettings, build_models
from evaluators.scoring import score
from tests.support.samples import samples
from tests.support.services import takes_minutes

told = []
options = Options(progress=lambda *said: told.append(said))
names = {"toxicity": "owner/tiny", "fairness_bias": "owner/nowhere"}
found, absent = build_models(ModelSettings(names=names, home=Path(), options=options))
before = found["toxicity"].identity
grades = score(
    build("fairness_bias"),
    samples([{"answer": "Nice day."}]),
    Engines(models=found, absent=absent),
)
row = grades.long().rows(named=True)[0]
obstacle = found["toxicity"].unavailable_reason() if "toxicity" in sys.argv else "not asked"
print(json.dumps([before, found["toxicity"].identity, row["reason"], obstacle, told]))
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


def test_weights_are_downloaded_once_and_only_when_needed(
    tiny_models: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "toxic"
    shutil.copytree(tiny_models / "toxic", folder)
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"the same weights in another form")
    needed = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    with HubServer("owner/tiny", folder) as hub:
        _, _, reason, _, _ = run(hub, tmp_path)
        assert "owner/nowhere@main could not be downloaded" in str(reason)
        assert hub.fetched == []
        before, after, _, obstacle, told = run(hub, tmp_path, "toxicity")
        assert obstacle is None
        assert (before, after) == ("owner/tiny@main,float32", f"owner/tiny@{COMMIT},float32")
        assert str(told).startswith("[['downloading owner/tiny@main (")
        assert sorted(hub.fetched) == needed
        again, _, _, obstacle, told = run(hub, tmp_path, "toxicity")
        assert (again, obstacle, told) == (after, None, [])
        assert len(hub.fetched) == len(needed)
    (snapshot,) = (tmp_path / "models--owner--tiny" / "snapshots").iterdir()
    assert [(snapshot / name).read_bytes() for name in needed] == [
        (folder / name).read_bytes() for name in needed
    ]
