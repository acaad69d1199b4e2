"""The pages of the evaluators say all that is declared, and the document of them is up to date."""

from __future__ import annotations

import json

import pytest

from evaluators import catalog, pages

every_evaluator = pytest.mark.parametrize("name", list(catalog.catalogue()))


@every_evaluator
def test_a_page_has_what_its_evaluator_declares(name: str) -> None:
    evaluator = catalog.build(name)
    page = pages.page(evaluator)
    assert (page.name, page.family) == (name, catalog.family(name))
    assert page.question.endswith("?")
    assert page.prose.replace("\n", " ").startswith(page.question)
    assert "Attributes:" not in page.prose
    assert page.metrics == evaluator.measured()
    assert {p.name: p.default for p in page.parameters} == evaluator.parameters
    assert (set(page.reads), set(page.optional)) == (evaluator.reads, evaluator.optional)


@every_evaluator
def test_every_parameter_is_explained_in_a_sentence(name: str) -> None:
    for parameter in pages.page(catalog.build(name)).parameters:
        assert parameter.meaning[:1].strip(), parameter.name
        assert parameter.meaning.endswith("."), parameter.name


def test_a_meaning_of_several_lines_is_joined_and_inherited_ones_are_found() -> None:
    page = pages.page(catalog.build("pii_leakage", {"region": "US"}))
    told = {parameter.name: parameter for parameter in page.parameters}
    assert told["region"].default == "US"
    assert told["region"].meaning == (
        "The country whose national phone numbers count, such as `US`; without it only "
        "international ones do."
    )
    assert told["check_context"].meaning == "Whether the retrieved passages are read, too."


def test_the_document_shows_every_metric_and_parameter() -> None:
    document = pages.markdown()
    for page in pages.pages():
        section = document.split(f"### `{page.name}`\n")[1].split("\n### ")[0]
        assert page.prose in section
        for metric in page.metrics:
            name = f"**`{metric.name}`**" if metric.primary else f"`{metric.name}`"
            (row,) = [line for line in section.splitlines() if line.startswith(f"| {name} |")]
            assert row.endswith(f"| {metric.level} | {metric.summary} |")
        for parameter in page.parameters:
            default = json.dumps(parameter.default, ensure_ascii=False)
            assert f"| `{parameter.name}` | `{default}` |" in section


def test_bounds_may_be_open() -> None:
    document = pages.markdown()
    assert "| `negative_log_likelihood` | low | 0 to ∞ | 0.75 | sample |" in document
    assert "| `corpus_bleu` | high | 0 to 100 | - | system |" in document


def test_every_link_leads_to_a_heading() -> None:
    document = pages.markdown()
    headings = [
        line.lstrip("# ").strip("`").replace(" ", "-").replace("(", "").replace(")", "")
        for line in document.splitlines()
        if line.startswith("#")
    ]
    assert len(set(headings)) == len(headings)
    links = [part.partition(")")[0] for part in document.split("](#")[1:]]
    assert len(links) == len(catalog.families()) + len(catalog.catalogue())
    assert set(links) <= set(headings)
