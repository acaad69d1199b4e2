"""HTTP services among the systems of a configuration: paths of retrieved items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestration.config.load import load_config
from orchestration.errors import SettingsError
from systems.settings import HttpSystem

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = """\
benchmarks:
  t: {{questions: q.csv, systems: [rag], evaluators: [rouge]}}
systems:
  rag:
    http:
      url: http://127.0.0.1/ask
      body: {{q: "{{{{ question }}}}"}}
      answer: $.a
      retrieved: {retrieved}
"""


def load(tmp_path: Path, retrieved: str) -> HttpSystem:
    (tmp_path / "q.csv").write_text("question_id,question\n1,a\n", encoding="utf-8")
    file = tmp_path / "scoreline.yaml"
    file.write_text(CONFIG.format(retrieved=retrieved), encoding="utf-8")
    system = load_config(file).project.systems["rag"]
    assert isinstance(system, HttpSystem)
    return system


def test_retrieved_items_have_one_path_or_one_for_each_field(tmp_path: Path) -> None:
    assert load(tmp_path, "$.hits").http.paths == {"answer": "$.a", "retrieved": "$.hits"}
    assert load(tmp_path, "{doc_id: '$.hits[*].id', text: '$.hits[*].body'}").http.paths == {
        "answer": "$.a",
        "retrieved.doc_id": "$.hits[*].id",
        "retrieved.text": "$.hits[*].body",
    }


@pytest.mark.parametrize(
    ("retrieved", "message"),
    [
        ("{doc: $.x}", "yaml:9: unknown key 'doc' (did you mean 'doc_id'?)"),
        ("{doc_id: 5}", "yaml:9: systems.rag.http.retrieved.doc_id: expected text"),
        ("5", "yaml:9: systems.rag.http.retrieved: expected text"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, retrieved: str, message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load(tmp_path, retrieved)
    assert message in str(refused.value)


def test_an_answer_is_streamed_or_not(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"rag\.http: give `answer` or `stream`, not both"):
        load(tmp_path, "$.hits\n      stream: $.delta")
    whole = load(tmp_path, "$.hits")
    assert whole.http.stream is None
    file = tmp_path / "scoreline.yaml"
    file.write_text(file.read_text("utf-8").replace("answer: $.a", "stream: $.delta"), "utf-8")
    streamed = load_config(file).project.systems["rag"]
    assert isinstance(streamed, HttpSystem)
    assert streamed.http.stream == "$.delta"
    assert "stream" not in streamed.http.paths
    assert streamed.digest != whole.digest
