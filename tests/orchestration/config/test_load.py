"""Loading scoreline.yaml: the project it becomes, and all faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestration.config import load
from orchestration.errors import SettingsError, SettingsNotFound

WHOLE = """\
warehouse: data/warehouse.duckdb
publish: out
judge:
  model: groq/llama-3.1-8b-instant
  api_key_env: GROQ_API_KEY
  api_base: null
  concurrency: 32
  requests_per_minute: 30
  tokens_per_minute: null
  budget_usd: 5.0
  replicates: 1
models:
  embedding: BAAI/bge-small-en-v1.5
  hallucination: vectara/hallucination_evaluation_model
  language_model: distilgpt2
  entailment: null
benchmarks:
  grounded-train:
    format: canonical
    questions: data/train.jsonl
    documents: data/corpus/*.json
    predictions: data/train_{system}_output.json
    evaluators: [document_retrieval, citations]
    parameters: {document_retrieval: {cutoffs: [1, 5]}}
    slices: [question_type]
    cluster: doc_id
    thresholds: {citation.f1: 0.5}
"""

SMALL = """\
benchmarks:
  one:
    questions: q.jsonl
    predictions: p_{system}.jsonl
    evaluators: [citation]
"""


def read(folder: Path, text: str) -> load.Settings:
    file = folder / "scoreline.yaml"
    file.write_text(text, encoding="utf-8")
    return load.load_config(file)


def test_every_key(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE)
    assert found.file == tmp_path / "scoreline.yaml"
    assert found.judge is not None
    assert (found.judge.model, found.judge.budget_usd) == ("groq/llama-3.1-8b-instant", 5.0)
    assert found.judge.api_key_env == "GROQ_API_KEY"
    assert found.models.embedding == "BAAI/bge-small-en-v1.5"
    assert found.models.entailment is None
    project = found.project
    assert project.home == tmp_path
    assert project.warehouse == tmp_path / "data/warehouse.duckdb"
    assert project.publish == tmp_path / "out"
    (benchmark,) = project.benchmarks.values()
    assert benchmark.name == "grounded-train"
    assert benchmark.questions == tmp_path / "data/train.jsonl"
    assert benchmark.documents == tmp_path / "data/corpus/*.json"
    assert benchmark.predictions == tmp_path / "data/train_{system}_output.json"
    assert {e.name for e in benchmark.evaluators} == {
        "document_retrieval",
        "citation",
        "evidence_overlap",
    }
    (retrieval,) = (e for e in benchmark.evaluators if e.name == "document_retrieval")
    assert retrieval.parameters["cutoffs"] == [1, 5]
    assert benchmark.slices == ("question_type",)
    assert benchmark.cluster == "doc_id"
    assert dict(benchmark.thresholds) == {"citation.f1": 0.5}


def test_defaults(tmp_path: Path) -> None:
    found = read(tmp_path, SMALL)
    (benchmark,) = found.project.benchmarks.values()
    assert found.judge is None
    assert found.project.warehouse == tmp_path / ".scoreline/warehouse.duckdb"
    assert found.project.publish == tmp_path / "published"
    assert (benchmark.format, benchmark.documents) == ("canonical", None)
    assert benchmark.max_reject_ratio == 0.0


def test_the_memory_limit_holds_for_the_warehouse_and_its_copy(tmp_path: Path) -> None:
    project = read(tmp_path, f"memory_limit: 512MiB\n{SMALL}").project
    asked = "SELECT current_setting('memory_limit')"
    assert project.open_warehouse().fetch(asked).item() == "512.0 MiB"
    assert project.open_copy().memory_limit == "512MiB"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("lots", "expected a size such as 4GB or 512MB"),
        ("4G", "expected a size such as 4GB or 512MB"),
        ("-1GB", "expected a size such as 4GB or 512MB"),
        ("10MB", "expected at least 100MB, with which DuckDB can spill"),
        ("4", "expected text"),
    ],
)
def test_invalid_memory_limits(tmp_path: Path, value: str, message: str) -> None:
    with pytest.raises(SettingsError) as error:
        read(tmp_path, f"publish: out\nmemory_limit: {value}\n{SMALL}")
    assert str(error.value).endswith(f"scoreline.yaml:2: memory_limit: {message}")


def test_environment_variables_are_not_expanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHERE", "elsewhere")
    text = SMALL.replace("q.jsonl", "/somewhere/$WHERE/${WHERE}.jsonl".replace("${WHERE}", "q"))
    (benchmark,) = read(tmp_path, text).project.benchmarks.values()
    assert benchmark.questions == Path("/somewhere/$WHERE/q.jsonl")


def test_relative_file_gives_absolute_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scoreline.yaml").write_text(SMALL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert load.load_config(load.DEFAULT_FILE).project.home == tmp_path


@pytest.mark.parametrize("name", ["a", "Grounded-train_2.1", "9", "x" * 100])
def test_benchmark_names(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, SMALL.replace("  one:", f"  {name}:"))
    assert list(found.project.benchmarks) == [name]


@pytest.mark.parametrize("name", ["a/b", "é", ".hidden", "a b", "''", "a...b", "x" * 101, "'a\"b'"])
def test_invalid_benchmark_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=r":2: .* cannot name a benchmark: expected 1 to 100"):
        read(tmp_path, SMALL.replace("  one:", f"  {name}:"))


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("publish:", "publsh:", 2, "unknown key 'publsh' (did you mean 'publish'?)"),
        (
            "  api_key_env: G",
            "  api_key: G",
            5,
            "unknown key 'api_key' (did you mean 'api_key_env'",
        ),
        ("    slices:", "    slice:", 25, "unknown key 'slice' (did you mean 'slices'?)"),
        ("  embedding:", "  embeding:", 13, "unknown key 'embeding' (did you mean 'embedding'?)"),
        ("    predictions: data/train_{system}_output.json\n", "", 18, "'predictions' is missing"),
        ("concurrency: 32", "concurrency: many", 7, "judge.concurrency: expected a whole number"),
        ("concurrency: 32", "concurrency: 0", 7, "greater than or equal to 1"),
        ("budget_usd: 5.0", "budget_usd: .nan", 10, "judge.budget_usd: expected a finite number"),
        ("api_base: null", "api_base: ftp://x", 6, "http://"),
        ("publish: out", "publish: [out]", 2, "publish: expected text"),
        ("[question_type]", "question_type", 25, "slices: expected a list"),
        ("[question_type]", r'["a\u0001"]', 25, "without control characters, found 'a\\x01'"),
        ("[question_type]", r'["a\Lb"]', 25, "without control characters, found 'a\\u2028b'"),
        ("[document_retrieval, citations]", "[]", 23, "expected at least one"),
        ("train_{system}", "train_{sytem}", 22, "'{sytem}' in a path: {system} is the only"),
        ("    questions: data/train.jsonl\n", "", 18, "'questions' is missing"),
        ("citations]", "citatoin]", 23, "unknown evaluator 'citatoin' (did you mean 'citation'?)"),
        (
            "{document_retrieval: {c",
            "{document_retreival: {c",
            24,
            "did you mean 'document_retrieval'",
        ),
        ("{document_retrieval: {c", "{classification: {c", 24, "not among the evaluators"),
        ("cutoffs:", "cutofs:", 24, "unknown parameter 'cutofs' (did you mean 'cutoffs'?)"),
        ("citation.f1: 0.5", "citation.f2: 0.5", 27, "did you mean 'citation.f1'?"),
        ("citation.f1: 0.5", "citation.f1: 50", 27, "lies outside its bounds: expected 0 to 1"),
        ("citation.f1: 0.5", "citation.f1: high", 27, "expected a number"),
        ("format: canonical", "format: canonicle", 19, "did you mean 'canonical'?"),
        ("    slices:", "    split: test\n    slices:", 25, "'canonical' has no splits, only beir"),
        ("format: canonical", "format: beir", 21, "documents in the folder of the questions"),
        ("data/warehouse.duckdb", "'ducklake:sqlite:x.db'", 1, "in PostgreSQL, found 'sqlite'"),
        ("data/warehouse.duckdb", "'ducklake:postgres:'", 1, "no database is named"),
        (
            "data/warehouse.duckdb",
            "'ducklake:postgres:scoreline'",
            1,
            "not a list of `name=value`",
        ),
        ("data/warehouse.duckdb", "{data_path: x}", 1, "'catalog' is missing in warehouse"),
        ("data/warehouse.duckdb", "{catalog: x, data_paht: y}", 1, "unknown key 'data_paht'"),
        ("data/warehouse.duckdb", "{catalog: x, data_path: y}", 1, "takes only a path"),
        ("warehouse: data/warehouse.duckdb", "warehouse: out/scoreline.duckdb", 2, "overwrite"),
        ("budget_usd: 5.0", "budget_usd: 5.0\n  model: x", 11, "'model' is given twice"),
    ],
)
def test_faults(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    assert old in WHOLE
    text = WHOLE.replace(old, new, 1)
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text)
    said = [(fault.line, fault.message) for fault in caught.value.faults]
    assert [found for found, message in said if words in message] == [line], said


def test_all_faults_are_reported_in_line_order(tmp_path: Path) -> None:
    text = WHOLE.replace("publish: out", "publsh: out").replace("replicates: 1", "replicates: 0")
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text)
    assert [fault.line for fault in caught.value.faults] == [2, 11]


def test_secret_in_wrong_key_is_not_repeated(tmp_path: Path) -> None:
    secret = "gsk_not-a-real-one"  # noqa: S105
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, WHOLE.replace("GROQ_API_KEY", secret))
    assert "name of an environment variable" in str(caught.value)
    assert secret not in str(caught.value)
    assert secret not in repr(caught.value.__cause__)


@pytest.mark.parametrize("text", ["", "# nothing\n", "[]\n", "benchmarks: {}\n", "42\n"])
def test_unusable_content(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError):
        read(tmp_path, text)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsNotFound, match=r"does not exist; `scoreline init` writes one"):
        load.load_config(tmp_path / "scoreline.yaml")
    with pytest.raises(SettingsNotFound, match="is a folder"):
        load.load_config(tmp_path)


def test_the_former_default_of_intervals_still_loads(tmp_path: Path) -> None:
    found = read(tmp_path, SMALL + "    intervals: bootstrap\n")
    assert found.project.benchmarks["one"].intervals == "skew_adjusted_t"
    with pytest.raises(SettingsError, match="intervals"):
        read(tmp_path, SMALL + "    intervals: percentiles\n")


def test_an_evaluator_for_some_systems_only(tmp_path: Path) -> None:
    limited = f"{SMALL}    parameters: {{citation: {{only_systems: [new, new]}}}}\n"
    settings = read(tmp_path, limited)
    (evaluator,) = settings.project.benchmarks["one"].evaluators
    (every,) = read(tmp_path, SMALL).project.benchmarks["one"].evaluators
    assert (evaluator.only_systems, every.only_systems) == (("new",), ())
    assert evaluator.signature != every.signature
    for name in ("old", "new"):
        (tmp_path / f"p_{name}.jsonl").touch()
    settings.require_systems_exist(["one"])
    settings = read(tmp_path, limited.replace("[new, new]", "[nwe]"))
    with pytest.raises(SettingsError, match=r"`only_systems` of 'citation' for 'nwe', .*'new'"):
        settings.require_systems_exist(["one"])
    with pytest.raises(SettingsError, match=r"6: citation: 'only_systems': expected a list"):
        read(tmp_path, limited.replace("[new, new]", "new"))


def test_benchmarks_that_commands_take_without_a_name(tmp_path: Path) -> None:
    assert read(tmp_path, SMALL).project.default_benchmarks == ()
    given = read(tmp_path, f"default_benchmarks: [one]\n{SMALL}")
    assert given.project.default_benchmarks == ("one",)
    with pytest.raises(SettingsError, match=r"1: .*benchmark 'onee'.*did you mean 'one'"):
        read(tmp_path, f"default_benchmarks: [onee]\n{SMALL}")


def test_zero_where_there_is_no_data(tmp_path: Path) -> None:
    text = (
        SMALL.replace("{system}", "{{system}}").replace("[citation]", "[{name}]")
        + "    parameters: {{{name}: {{no_data: {to}}}}}\n"
    )
    (evaluator,) = (
        read(tmp_path, text.format(name="rouge", to="zero")).project.benchmarks["one"].evaluators
    )
    assert evaluator.no_data == "zero"
    for name, to, said in (
        ("perplexity", "zero", "0 is not a value of perplexity.perplexity"),
        ("citation", "zero", "citation has metrics of whole systems"),
        ("rouge", "worst", "expected 'unscored' or 'zero', found 'worst'"),
    ):
        with pytest.raises(SettingsError, match=said):
            read(tmp_path, text.format(name=name, to=to))
