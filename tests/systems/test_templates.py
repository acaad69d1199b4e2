"""Templates: values as data, types in JSON, unknown names, and limits of what they may take."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from systems.client import SystemRefused
from systems.templates import QUESTION_FIELDS, Templates

QUESTION = {
    "question_id": "q1",
    "question": "Which river?",
    "choices": ["Seine", "Rhine"],
    "noise_ratio": 0.5,
    "tags": {"lang": "en", "items": "two"},
    "extra": {"limit": 3, "deep": {"a": [1, None]}, "off": False},
}
OTHER = {"question_id": "q2", "question": "x", "tags": {"level": "hard"}, "extra": None}


def rendered(template: Any, question: dict[str, Any] = QUESTION) -> Any:
    """The value of a template."""
    return Templates("rag", [QUESTION, OTHER]).value(template, "body")(question)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ question }}", "Which river?"),
        ("{{ question }}\n", "Which river?\n"),
        ("{{- question -}}", "Which river?"),
        ("{{ choices }}", ["Seine", "Rhine"]),
        ("{{ choices[1] }}", "Rhine"),
        ("{{ extra.limit }}", 3),
        ("{{ extra.limit + 1 }}", 4),
        ("{{ extra.deep }}", {"a": [1, None]}),
        ("{{ extra.off }}", False),
        ("{{ noise_ratio }}", 0.5),
        (" {{ extra.limit }}", " 3"),
        ("{{ extra.limit }}{{ extra.limit }}", "33"),
        ("{{ '}}' }}", "}}"),
        ("{{ choices | map('upper') | list }}", ["SEINE", "RHINE"]),
        ("{% for c in choices %}{{ loop.index }}. {{ c }}\n{% endfor %}", "1. Seine\n2. Rhine\n"),
        ("<{{ choices | tojson }}>", '<["Seine", "Rhine"]>'),
        ('{{ "<" ~ (choices | tojson) }}', '<["Seine", "Rhine"]'),
        ("{{ tags.items }}", "two"),
        ("no template", "no template"),
        ({"a": ["{{ extra.limit }}", 1, None]}, {"a": [3, 1, None]}),
    ],
)
def test_a_template_gives(template: Any, value: Any) -> None:
    assert rendered(template) == value
    assert type(rendered(template)) is type(value)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("[{{ doc_id }}]", "[]"),
        ("{{ doc_id }}", None),
        ("{{ gold_doc_ids | join(', ') }}", ""),
        ("{% if doc_id %}yes{% else %}no{% endif %}", "no"),
        ("{{ doc_id | default('none') }}", "none"),
        ("[{{ tags.level }}]", "[]"),
        ("{{ tags.level }}", None),
        ("{{ tags['level'] | default('easy') }}", "easy"),
        ("{{ tags.nowhere | default('x') }}", "x"),
        ("{{ tags.nowhere is defined }}", False),
        ("{% for name in tags %}{{ name }} {% endfor %}", "lang items "),
    ],
)
def test_what_a_question_lacks_prints_as_nothing(template: str, value: Any) -> None:
    assert rendered(template) == value
    assert rendered("{{ extra.limit }}", OTHER) is None


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ questoin }}", r"body, line 1: unknown name 'questoin' \(did you mean 'question'\?\)"),
        ("\n\n{{ nope }}", r"body, line 3: unknown name 'nope'; expected one of question_id"),
        ("{% if nope %}{% endif %}", "unknown name 'nope'"),
        ("{{ tags.lnag }}", r"no question has tags\.lnag \(did you mean 'lang'\?\)"),
        ("{{ extra['limits'] }}", r"no question has extra\.limits \(did you mean 'limit'\?\)"),
        ("{{ tags.zzzzzz }}", r"no question has tags\.zzzzzz; tags\.zzzzzz \| default\(''\)"),
        ("{% if", "body, line 1: "),
        ("{{ }}", "body, line 1: "),
        ("{{ question | nope }}", "body.*nope"),
        ("{{" + "(" * 5000 + "1" + ")" * 5000 + "}}", "body: nested too deeply"),
    ],
)
def test_a_wrong_template_is_refused_before_it_is_rendered(template: str, message: str) -> None:
    with pytest.raises(SystemRefused, match=message) as refused:
        Templates("rag", [QUESTION, OTHER]).value(template, "body")
    assert str(refused.value).startswith("systems.rag.body")


@pytest.mark.parametrize(
    "template",
    [
        *("{{ question + 1 }}", "{{ 1 / 0 }}", "{{ choices[5] }}", "{{ extra.limit.x }}"),
        *("{{ doc_id.x }}", "{{ tags[question] }}", "{{ choices | map('upper') }}", "{{ range }}"),
        *("{% include 'x' %}", "{{ question.__class__.__mro__ }}", "{{ 1e400 }}", "{{ [range] }}"),
        *("{{ ''.__class__ }}", "{{ (choices | map('upper')).gi_frame }}"),
    ],
)
def test_what_cannot_be_rendered_names_the_question(template: str) -> None:
    with pytest.raises(SystemRefused, match=r"\Asystems\.rag\.body: .*; question 'q1'\Z"):
        rendered(template)


HUGE = {
    "product": "{{ 'x' * 10**9 }}",
    "product of a field": "{{ choices * 10**9 }}",
    "product of a number first": "{{ 10**9 * question }}",
    "power": "{{ 10 ** (10**7) }}",
    "power in two steps": "{{ (10**1000) ** 1000 }}",
    "percent": "{{ '%1000000000d' % 1 }}",
    "format filter": "{{ '%1000000000d' | format(1) }}",
    "format method": "{{ '{:1000000000}'.format(1) }}",
    "format_map": "{{ '{a:1000000000}'.format_map({'a': 1}) }}",
    "center": "{{ 'x' | center(10**9) }}",
    "indent": "{{ 'x\ny' | indent(10**9) }}",
    "method": "{{ 'x'.ljust(1000000000) }}",
    "zfill": "{{ 'x'.zfill(width=1000000000) }}",
    "batch": "{{ choices | batch(10**9, 'x') | list }}",
    "slice": "{{ choices | slice(10**9) | list }}",
    "range": "{{ range(10**9) | list }}",
    "loop": "{% for i in range(10**9) %}{% endfor %}",
    "nested loops": "{% for i in range(9**5) %}{% for j in range(9**5) %}{% endfor %}{% endfor %}",
    "output": "{% for i in range(99999) %}" + "x" * 1000 + "{% endfor %}",
    "recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "lorem ipsum": "{{ lipsum(n=10**6) }}",
}


@pytest.mark.parametrize("name", HUGE)
def test_a_template_takes_neither_much_time_nor_much_memory(name: str) -> None:
    started = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(SystemRefused, match=r"systems\.rag\.body"):
            rendered(HUGE[name])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200_000_000
    assert time.process_time() - started < 20


@given(st.text(), st.text(), st.lists(st.text()))
def test_values_are_data(text: str, tag: str, choices: list[str]) -> None:
    question = {**QUESTION, "question": text, "choices": choices, "tags": {"lang": tag}}
    template = {"a": "{{ question }}", "b": "{{ question }}|{{ tags.lang }}", "c": "{{ choices }}"}
    found = Templates("rag", [question]).value(template, "body")(question)
    assert found == {"a": text, "b": f"{text}|{tag}", "c": choices}


def test_names_of_all_fields_may_be_used() -> None:
    for name in QUESTION_FIELDS:
        assert rendered(f"[{{{{ {name} is defined }}}}]") in {"[True]", "[False]"}


def test_whether_a_template_depends_on_the_question() -> None:
    templates = Templates("rag", [QUESTION])
    assert templates.value({"a": ["x", "{{ 1 + 1 }}", 5]}, "body").is_fixed
    assert not templates.value({"a": ["x", {"b": "{{ extra.limit }}"}]}, "body").is_fixed
    assert not templates.value("{% if tags.lang %}a{% endif %}", "body").is_fixed
