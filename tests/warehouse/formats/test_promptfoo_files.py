"""Files of promptfoo 0.121 with repeats and sets of assertions, in all of its formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evaluators import catalog
from tests.support.samples import outcomes, samples
from warehouse.errors import InputError
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.promptfoo import read_predictions, read_questions
from warehouse.formats.promptfoo_assertions import read_assertions

if TYPE_CHECKING:
    from records.prediction import Prediction
    from records.question import Question

REAL = Path(__file__).parents[2] / "data" / "real" / "promptfoo"
SYSTEMS = ["plain / brief", "plain / long", "spaced / brief", "spaced / long"]
KINDS = ["json", "jsonl", "yaml", "csv"]


def questions(path: Path) -> dict[str, Question]:
    """Return the questions of a file by their texts."""
    found = list(read_questions(Source(path)))
    assert all(isinstance(each, Read) for each in found), found
    return {str(each.record.question): each.record for each in found if isinstance(each, Read)}


def predictions(path: Path) -> list[Prediction]:
    """Return the predictions of a file."""
    found = list(read_predictions(Source(path)))
    assert all(isinstance(each, Read) for each in found), found
    return [each.record for each in found if isinstance(each, Read)]


@pytest.mark.parametrize("kind", KINDS)
def test_repeats_of_four_systems(kind: str) -> None:
    path = REAL / f"repeats.{kind}"
    asked, found = questions(path), predictions(path)
    assert list(asked) == ["crows?", "geese?", "owls?", "fish?", "wolves?", "whales?", "explode?"]
    assert len(found) == 7 * 4 * 3
    assert sorted({str(each.system) for each in found}) == SYSTEMS
    by_key = {(each.system, each.question_id, each.repeat): each for each in found}
    assert len(by_key) == len(found)

    def answers(system: str, question: str) -> list[str | None]:
        name = asked[question].question_id
        return [by_key[system, name, repeat].answer for repeat in range(3)]

    assert answers("plain / brief", "crows?") == ["A murder of crows.", "A flock.", "a MURDER"]
    assert answers("spaced / long", "crows?") == ["a MURDER ", "A murder of crows. ", "A flock. "]
    assert answers("plain / brief", "owls?")[0] == '{"group": "parliament", "size": 6}'
    assert answers("plain / long", "wolves?")[1] == 'Wolves form "packs",\nsee above'
    assert answers("spaced / brief", "whales?") == [None, "A pod. ", "A pod. "]
    assert answers("plain / brief", "explode?") == [None] * 3
    assert {each.error is None for each in found if each.answer is None} == {False}


@pytest.mark.parametrize("kind", KINDS)
def test_what_promptfoo_scored(kind: str) -> None:
    path = REAL / f"repeats.{kind}"
    asked, found = questions(path), predictions(path)

    def reported(question: str, repeat: int) -> dict[str, Any]:
        (one,) = (
            each.reported
            for each in found
            if each.system == "plain / brief"
            and each.question_id == asked[question].question_id
            and each.repeat == repeat
        )
        assert one is not None
        return one

    types = kind != "csv"
    # Two of three assertions pass, one of two with the metric `names`.
    crows = {"pass": False, "score": pytest.approx(2 / 3, abs=0.01), "names": 0.5}
    assert reported("crows?", 2) == crows | ({"not-contains": 1} if types else {})
    fish = {"pass": True, "score": pytest.approx(0.7, abs=0.01), "length": 0.09}
    more = {"equals": 1, "starts-with": 1, "contains": 0}
    assert reported("fish?", 0) == fish | (more if types else {})
    assert reported("explode?", 0) == {"pass": False, "score": 0}


def test_the_formats_agree() -> None:
    first, *others = (
        sorted(
            (each.system, each.question_id, each.repeat, each.answer, str(each.reported))
            for each in predictions(REAL / f"repeats.{kind}")
            if each.error is None
        )
        for kind in ("json", "jsonl", "yaml")
    )
    assert all(each == first for each in others)
    tables = {each.question_id for each in questions(REAL / "repeats.csv").values()}
    assert tables == {each.question_id for each in questions(REAL / "repeats.json").values()}


def test_assertions_become_expected_answers_and_constraints() -> None:
    asked = questions(REAL / "repeats.yaml")
    assert asked["fish?"].expected_answer == ["A school."]
    assert asked["wolves?"].expected_answer == ["A pack."]
    assert asked["whales?"].expected_answer == ["A pod."]
    # Of the second set, half is enough.
    assert asked["wolves?"].constraints == ["pack"]
    kept = (asked["wolves?"].extra or {})["assert"]
    assert [each["value"] for each in kept] == ["output.length < 20", "pack", "never"]
    assert asked["whales?"].constraints is None


def test_constraints_pass_where_all_assertions_of_promptfoo_pass() -> None:
    evaluator = catalog.build("tokens_presence")
    path = REAL / "repeats.json"
    checked = {name: each for name, each in questions(path).items() if each.constraints}
    by_id = {each.question_id: each for each in checked.values()}
    compared = {"crows?", "geese?"}  # all of their assertions are constraints
    rows, passed = [], []
    for each in predictions(path):
        question = by_id.get(each.question_id)
        if question is None or question.question not in compared:
            continue
        rows.append({"answer": each.answer, "constraints": json.dumps(question.constraints)})
        passed.append(float((each.reported or {})["pass"]))
    found = outcomes(evaluator, samples(rows, ["answer", "constraints", "expected_answers"]))
    assert [each["passes"].value for each in found] == passed
    assert sorted(set(passed)) == [0, 1]
    assert len(passed) == 2 * 4 * 3


def passes(assertion: dict[str, Any], answer: str, **variables: Any) -> float | None:
    """Return whether an answer satisfies the constraints of an assertion."""
    constraints = read_assertions({"assert": [assertion]}, variables).constraints
    row = {"answer": answer, "constraints": json.dumps(constraints)}
    frame = samples([row], ["answer", "constraints", "expected_answers"])
    (found,) = outcomes(catalog.build("tokens_presence"), frame)
    return found["passes"].value


@pytest.mark.parametrize(
    ("kind", "value", "good", "bad"),
    [
        ("contains", "a.c", "xa.cx", "abc"),
        ("contains", "REGEXP:a", "REGEXP:a", "a"),
        ("contains", 42, "it is 42", "it is 4"),
        ("contains", "{{ name }}", "the crow", "the owl"),
        ("icontains", "CROW", "a crow", "a cow"),
        ("contains-any", ["a", "b"], "xb", "xc"),
        ("contains-any", 'a, "b, c"', "b, c", "b c"),
        ("contains-all", ["a", "b"], "ab", "a"),
        ("icontains-any", ["A", "B"], "b", "c"),
        ("icontains-all", ["A", "B"], "ba", "b"),
        ("regex", "^a+$", "aaa", "aaa\n"),
        ("not-regex", "(?<n>a)$", "a\n", "ba"),
        ("starts-with", "a.", "a.b", "ab."),
        ("not-contains", "a", "b\nb", "b\na"),
        ("not-icontains", "A", "b", "a"),
        ("not-contains-any", ["a", "b"], "c", "cb"),
        ("not-contains-all", ["a", "b"], "a", "ab"),
        ("not-icontains-any", ["A", "B"], "c", "cb"),
        ("not-icontains-all", ["A", "B"], "a", "ab"),
        ("not-regex", "^a|b$", "cac", "cb"),
        ("not-starts-with", "a", "ba", "ab"),
        ("is-json", None, '{"a": [1]}', "{a: 1}"),
        ("is-json", None, '"text"', "NaN"),
        ("not-is-json", None, "text", "3"),
    ],
)
def test_a_constraint_says_what_the_assertion_says(
    kind: str, value: Any, good: str, bad: str
) -> None:
    assertion = {"type": kind, "value": value}
    assert passes(assertion, good, name="crow") == 1
    assert passes(assertion, bad, name="crow") == 0


@pytest.mark.parametrize(
    "assertion",
    [
        {"type": "contains", "value": "a", "weight": 0},
        {"type": "contains", "value": "{{ name | upper }}"},
        {"type": "contains", "value": "{{unknown}}"},
        {"type": "contains", "value": "file://a.txt"},
        {"type": "contains-any", "value": []},
        {"type": "regex", "value": "(?<=a+)b"},
        {"type": "not-is-json", "value": {"type": "object"}},
        {"type": "llm-rubric", "value": "polite", "threshold": 0.5},
        {"type": "contains-json"},
    ],
)
def test_what_is_not_a_constraint_is_kept(assertion: dict[str, Any]) -> None:
    listed = [{**assertion, "provider": {"config": {"apiKey": "secret"}}}]
    found = read_assertions({"assert": listed}, {"name": "crow"})
    assert (found.constraints, found.others) == ([], [assertion])


def test_a_threshold_of_the_test_decides_instead_of_its_assertions() -> None:
    contains = {"type": "contains", "value": "a"}
    nested = {"type": "assert-set", "assert": [{"type": "equals", "value": "b"}]}
    found = read_assertions({"threshold": 0, "assert": [contains, nested]}, {})
    assert (found.constraints, found.expected, found.others) == ([], ["b"], [contains])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", "results: [\n", "not YAML: while parsing a flow node"),
        ("a.yaml", "a: 1\na: 2\n", "not YAML: the key 'a' is given twice"),
        ("a.yaml", "a: 1\n---\nb: 2\n", "not YAML: expected one document, found several"),
        ("a.yaml", "a: &x\n  b: *x\n", "not YAML: there is no finished value 'x'"),
        ("a.yaml", "? [1]\n: 2\n", "not YAML: expected text as the key"),
        ("a.yaml", "[" * 200, "not YAML: values are nested more than 100 deep"),
        ("a.yaml", "tests: []\n", "list 'results.results'; found the fields 'tests'"),
        ("a.csv", "question,answer\na,b\n", "expected a table of promptfoo"),
        ("a.txt", "", "unknown file suffix '.txt'; expected .json, .jsonl, .yaml or .csv"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        list(read_predictions(Source(tmp_path / name)))
    assert said in caught.value.problems[0].message


def test_aliases_that_expand_without_end_are_refused(tmp_path: Path) -> None:
    lines = [f"a0: &a0 {'x' * 1000}"]
    lines += [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 12)]
    (tmp_path / "a.yaml").write_text("\n".join(lines))
    with pytest.raises(InputError, match="aliases repeat more than 1,024 MiB"):
        list(read_predictions(Source(tmp_path / "a.yaml")))


def test_texts_of_yaml_stay_texts(tmp_path: Path) -> None:
    text = """
results:
  results:
    - vars: {question: 2024-01-31, context: 'yes', a: 'no', b: off, c: 1:30, d: !!python/none x}
      provider: {id: echo}
      promptIdx: 0
      success: true
      score: .nan
      response: {output: '1.0'}
      latencyMs: 5.e+2
"""
    (tmp_path / "a.yaml").write_text(text)
    (question,), (prediction,) = (
        list(questions(tmp_path / "a.yaml").values()),
        predictions(tmp_path / "a.yaml"),
    )
    assert (question.extra or {})["vars"] == {
        "question": "2024-01-31",
        "context": "yes",
        "a": "no",
        "b": "off",
        "c": "1:30",
        "d": "x",
    }
    assert (prediction.answer, prediction.latency_s) == ("1.0", 0.5)
    assert prediction.reported == {"pass": True}


def test_rows_of_a_table_that_cannot_be_read(tmp_path: Path) -> None:
    rows = [
        "q,[p] l,Status,Score,Named Scores,Grader Reason,Comment",
        "a,x,PASS,1.00,,,",
        "a,x,MAYBE,1.00,,,",
        "a,x,PASS,one,,,",
        "a,x,PASS,1.00,{,,",
        "a,x,PASS",
        'b,\'=1+1,FAIL,0.00,"{""m"":0.25}",too short,',
        "c,,,,,,",
    ]
    path = tmp_path / "a.csv"
    path.write_text("\r\n".join(rows))
    found = list(read_predictions(Source(path)))
    rejected = [(each.line, each.reason) for each in found if isinstance(each, Reject)]
    unnamed = "expecting property name enclosed in double quotes"
    assert rejected == [
        (3, "[p] l: Status: expected PASS, FAIL or ERROR, found 'MAYBE'"),
        (4, "[p] l: Score: expected a number, found 'one'"),
        (5, f"[p] l: Named Scores: expected JSON ({unnamed})"),
        (6, "expected 7 cells, found 3"),
    ]
    kept = [each.record for each in found if isinstance(each, Read)]
    assert [(each.system, each.answer) for each in kept] == [("p", "x"), ("p", "=1+1")]
    assert kept[1].reported == {"m": 0.25, "score": 0, "pass": False}


@pytest.mark.parametrize("kind", ["json", "jsonl"])
def test_two_prompts_and_two_providers(kind: str) -> None:
    found = predictions(REAL / f"out.{kind}")
    assert len({each.question_id for each in found}) == 7
    assert len({each.system for each in found}) == 4
    assert (len(found), {each.repeat for each in found}) == (28, {0})
    assert sum(each.error is not None for each in found) == 4
    assert "" in [each.answer for each in found]
    wolves = questions(REAL / f"out.{kind}")["What is a group of wolves called?"]
    assert wolves.expected_answer == ["A pack."]
