"""The example project: it runs offline, and shows what its README says can be seen in it."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from tests.support.command import Ended, scoreline
from tests.support.documents import Command, commands
from tests.support.handbook import OFFLINE, PRINTED, STORY

if TYPE_CHECKING:
    from pathlib import Path

CONFIGURATION = "examples/handbook/scoreline.yaml"
BENCHMARKS = (
    "counter-manners",
    "counter-meaning",
    "deck-hand-exam",
    "handbook-answers",
    "help-desk",
    "mail-routing",
    "noisy-passages",
    "notices",
    "page-search",
    "planted-errors",
    "silent-passages",
    "ticket-counter",
)


class Example:
    """A copy of the example project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.first_run = ""

    def scoreline(self, *arguments: str) -> Ended:
        """Run a command in the project's folder."""
        return scoreline(self.folder, *arguments, **OFFLINE)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """What the published copy answers to any DuckDB client."""
        with duckdb.connect(self.folder / "published" / "scoreline.duckdb", read_only=True) as copy:
            return copy.sql(sql).pl().to_dicts()

    def means(self, benchmark: str, metric: str, part: str = "all") -> dict[str, float | None]:
        """The means of `evaluator.metric` over a slice of a benchmark, by system."""
        evaluator, _, name = metric.partition(".")
        where = f"evaluator = '{evaluator}' and metric = '{name}' and slice = '{part}'"
        rows = self.rows(
            f"select system, mean from leaderboard where benchmark = '{benchmark}' and {where}"
        )
        return {row["system"]: row["mean"] for row in rows}


@pytest.fixture(scope="module")
def example(handbook_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Example:
    folder = tmp_path_factory.mktemp("example") / "handbook"
    example = Example(shutil.copytree(handbook_run, folder))
    example.first_run = (handbook_run.parent / PRINTED).read_text(encoding="utf-8")
    assert len(example.first_run.splitlines()) <= 60
    shown = [name for name in BENCHMARKS if name in example.first_run.splitlines()]
    assert 0 < len(shown) <= 5
    assert f"and {len(BENCHMARKS) - len(shown)} more benchmarks: scoreline" in example.first_run
    return example


def test_the_systems_differ_visibly(example: Example) -> None:
    retrieval = example.means("handbook-answers", "document_retrieval.recall_at_1")
    assert retrieval["keyword"] == pytest.approx(18 / 24, abs=1e-12)
    assert retrieval["rag"] == pytest.approx(21 / 24, abs=1e-12)
    citation = example.means("handbook-answers", "citation.f1")
    assert citation["rag"] is not None
    assert citation["keyword"] is not None
    assert citation["rag"] > citation["keyword"] + 0.2


def test_the_story_has_a_winner_and_a_tie(example: Example) -> None:
    rows = example.rows(
        "select benchmark, system, rank_low, rank_high, mark from leaderboard "
        "where slice = 'all' and is_headline = 1 order by benchmark, rank"
    )
    assert [(row["benchmark"], row["system"]) for row in rows if row["mark"] == "best"] == [
        ("deck-hand-exam", "certain")
    ]
    found: dict[str, list[tuple[Any, ...]]] = {}
    for benchmark, *values in map(dict.values, rows):
        found.setdefault(benchmark, []).append(tuple(values))
    assert found["deck-hand-exam"] == [
        ("certain", 1, 1, "best"),
        ("confident", 2, 2, "worse"),
        ("guesser", 3, 3, "worse"),
        ("off-format", 4, 4, "worse"),
    ]
    assert found["handbook-answers"] == [
        ("rag", 1, 3, "tied"),
        ("keyword", 1, 3, "tied"),
        ("plain-llm", 1, 3, "tied"),
    ]
    # Rank sets are those of one metric; marks share their level with the whole report.
    assert found["page-search"] == [("rag", 1, 1, "tied"), ("keyword", 2, 2, "tied")]


def test_the_story_has_a_loss_that_eleven_pages_cannot_decide(example: Example) -> None:
    done = example.scoreline(
        *("compare", "--before", "v1", "--benchmark", "handbook-answers"),
        *("--metric", "citation.f1", "--format", "json"),
    )
    assert done.code == 0, done.err
    found = {row["system"]: row for row in json.loads(done.out)}
    # Of 23 questions, keyword had 9 right, 13 at 2/3 and one at 1/2; rag has gained 1, 1/3 and 1/3.
    assert found["keyword"]["before"] == pytest.approx(109 / 138, abs=1e-12)
    assert found["rag"]["difference"] == pytest.approx(5 / 69, abs=1e-12)
    assert found["keyword"]["difference"] == pytest.approx(-37 / 138, abs=1e-12)
    # An unseen page (a cluster of questions) may gain 1, so that eleven pages do not suffice.
    assert (found["keyword"]["n_pairs"], found["keyword"]["n_clusters"]) == (23, 11)
    interval = (found["keyword"]["ci_low"], found["keyword"]["ci_high"])
    assert interval == pytest.approx((-0.592, 0.296), abs=5e-4)
    assert [found[name]["p_page"] for name in ("keyword", "rag")] == [1.0, 1.0]
    verdicts = [found[name]["verdict"] for name in ("keyword", "rag")]
    assert verdicts == ["not_enough_data"] * 2
    flipped = {
        system: sorted(each["question_id"] for each in row["questions"] if each["flipped"])
        for system, row in found.items()
    }
    assert flipped["keyword"] == ["q003", "q004", "q005", "q006", "q015", "q016", "q020"]
    assert flipped["rag"] == ["q005"]


def test_the_story_has_a_judge_that_needs_calibration(example: Example) -> None:
    rows = example.rows(
        "select distinct n_compared, n_annotators, agreement, kappa, is_calibrated from calibration"
    )
    # Both pass 3 answers and fail 7. On one that the judge fails, people differ: it counts half.
    # Of 15, the judge passes 6 and people pass 4.5.
    agreement, chance = 10.5 / 15, (6 * 4.5 + 9 * 10.5) / 15**2
    kappa = (agreement - chance) / (1 - chance)
    assert rows == [
        {
            "n_compared": 15,
            "n_annotators": 2,
            "agreement": pytest.approx(agreement),
            "kappa": pytest.approx(kappa),
            "is_calibrated": 0,
        }
    ]


def test_a_system_that_retrieves_nothing_gets_nought_in_the_source_format(example: Example) -> None:
    rows = example.rows(
        "select distinct n, n_scored, n_not_applicable, n_target_error, mean from leaderboard "
        "where slice = 'all' and system = 'plain-llm' and evaluator = 'document_retrieval'"
    )
    assert rows == [
        {"n": 24, "n_scored": 24, "n_not_applicable": 0, "n_target_error": 1, "mean": 0.0}
    ]


def test_questions_without_gold_sentences_do_not_count(example: Example) -> None:
    (row,) = example.rows(
        "select n, n_scored, n_not_applicable from leaderboard where slice = 'all' "
        "and system = 'rag' and evaluator = 'citation' and metric = 'f1'"
    )
    assert row == {"n": 24, "n_scored": 23, "n_not_applicable": 1}


def test_an_empty_ranking_of_a_system_that_retrieves_counts_as_nothing_found(
    example: Example,
) -> None:
    (row,) = example.rows(
        "select value, status from scores where benchmark = 'handbook-answers' "
        "and system = 'keyword' and question_id = 'q015' and metric = 'recall_at_5'"
    )
    assert row == {"value": 0.0, "status": "scored"}


@pytest.mark.parametrize(("system", "question"), [("rag", "mail-17"), ("plain-llm", "mail-05")])
def test_a_failed_and_a_missing_answer_are_wrong_and_counted_apart(
    example: Example, system: str, question: str
) -> None:
    (score,) = example.rows(
        f"select question_id, value, status from scores where benchmark = 'mail-routing' "
        f"and system = '{system}' and metric = 'accuracy' and reason = 'target_error'"
    )
    assert score == {"question_id": question, "value": 0.0, "status": "scored"}
    (row,) = example.rows(
        f"select n_scored, n_target_error from leaderboard where benchmark = 'mail-routing' "
        f"and slice = 'all' and system = '{system}' and metric = 'accuracy'"
    )
    assert row == {"n_scored": 24, "n_target_error": 1}


def test_a_topic_that_a_run_lacks_counts_as_nothing_found(example: Example) -> None:
    lacking = example.rows(
        "select question_id from scores where benchmark = 'page-search' and system = 'keyword' "
        "and metric = 'mrr' and value = 0 order by question_id"
    )
    assert {row["question_id"] for row in lacking} >= {"t04", "t07", "t08"}


def test_the_slices_are_there(example: Example) -> None:
    slices = {row["slice"] for row in example.rows("select distinct slice from leaderboard")}
    assert slices >= {"all", "question_type=fact", "question_type=unanswerable", "channel=e-mail"}


def test_a_second_run_scores_nothing(example: Example) -> None:
    before = example.rows("select max(scored_at) as latest, count(*) as n from scores")
    done = example.scoreline("run")
    assert done.code == 0, done.err
    assert example.rows("select max(scored_at) as latest, count(*) as n from scores") == before


# Right answers out of ten at 0, 0.2, 0.4, 0.6 and 0.8, as the README has them.
NOISE = {
    "careful-reader": [0.9, 0.9, 0.9, 0.8, 0.8],
    "eager-reader": [1.0, 1.0, 0.9, 0.6, 0.3],
    "skimmer": [1.0, 0.8, 0.6, 0.4, 0.2],
}


@pytest.mark.parametrize("rules", ["accuracy", "accuracy_exact", "accuracy_normalized"])
def test_accuracy_falls_with_noise_each_system_in_its_way(example: Example, rules: str) -> None:
    metric = f"noise_robustness.{rules}"
    for at, ratio in enumerate(("0.0", "0.2", "0.4", "0.6", "0.8")):
        means = example.means("noisy-passages", metric, f"noise_ratio={ratio}")
        assert means == pytest.approx({name: curve[at] for name, curve in NOISE.items()})


@pytest.mark.parametrize(
    ("benchmark", "metric", "careful", "eager", "skimmer"),
    [
        ("silent-passages", "negative_rejection.rejection_rate", 0.9, 0.3, 0.6),
        ("silent-passages", "negative_rejection.rejection_rate_exact", 0.7, 0, 0),
        ("planted-errors", "counterfactual_robustness.error_detection_rate", 7 / 8, 1 / 8, 1 / 8),
        ("planted-errors", "counterfactual_robustness.error_correction_rate", 6 / 8, 1 / 8, 1 / 8),
        ("planted-errors", "counterfactual_robustness.error_detection_rate_exact", 6 / 8, 0, 0),
    ],
)
def test_readers_decline_and_notice_errors_as_the_readme_says(
    example: Example, benchmark: str, metric: str, careful: float, eager: float, skimmer: float
) -> None:
    expected = {"careful-reader": careful, "eager-reader": eager, "skimmer": skimmer}
    assert example.means(benchmark, metric) == pytest.approx(expected)


def test_who_detects_no_error_has_no_rate_of_correction_among_them(example: Example) -> None:
    means = example.means("planted-errors", "counterfactual_robustness.error_correction_rate_exact")
    assert means == {"careful-reader": pytest.approx(5 / 6), "eager-reader": None, "skimmer": None}


def test_four_systems_of_one_accuracy_differ_in_phi_delta_and_option_mass(example: Example) -> None:
    def means(metric: str) -> list[float | None]:
        found = example.means("deck-hand-exam", f"option_confidence.{metric}")
        return [found[name] for name in ("certain", "confident", "guesser", "off-format")]

    assert means("accuracy") == pytest.approx([34 / 40] * 4)
    assert means("phi") == pytest.approx([0.835, 0.541, 0.260, 0.010], abs=5e-4)
    assert means("delta") == pytest.approx([0.680, 0.329, 0.012, 0.006], abs=5e-4)
    assert means("option_mass") == pytest.approx([1.0, 0.928, 0.994, 0.017], abs=5e-4)


def test_the_curves_cross(example: Example) -> None:
    rows = example.rows(
        "select system, x, coalesce(min(share_above), 1) as share "
        "from (select unnest([0.2, 0.5, 0.9]) as x) "
        "join (select distinct system from option_confidence_curves) on true "
        "left join option_confidence_curves as c using (system) "
        "where metric = 'phi' and threshold <= x group by system, x order by system, x"
    )
    shares: dict[str, list[float]] = {}
    for row in rows:
        shares.setdefault(row["system"], []).append(row["share"])
    assert shares["certain"] == pytest.approx([0.85] * 3)
    assert shares["confident"][1:] == pytest.approx([0.85, 0.0])
    assert shares["off-format"] == [0.0, 0.0, 0.0]
    # None of the guesser's is below 0.2, so that its curve begins above: no row, no share.
    assert shares["guesser"] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("metric", "guarded", "chatty", "stuck"),
    [
        ("pii_leakage.passes", 1, 9 / 12, 1),
        ("pii_leakage.retrieval_failures", 0, 3 / 12, None),
        ("sensitive_data_leakage.passes", 1, 10 / 12, 1),
        ("tokens_presence.passes", 1, 11 / 12, 9 / 12),
    ],
)
def test_help_desks_leak_and_lack_what_the_readme_says(
    example: Example, metric: str, guarded: float, chatty: float, stuck: float | None
) -> None:
    means = example.means("help-desk", metric)
    assert means == {
        "guarded": pytest.approx(guarded),
        "chatty": pytest.approx(chatty),
        "stuck": None if stuck is None else pytest.approx(stuck),
    }


def test_every_kind_of_leak_is_found_and_none_is_stored(example: Example) -> None:
    found = example.rows(
        "select distinct unnest(json_extract_string(detail, '$.answer[*].kind')) as kind "
        "from scores where benchmark = 'help-desk' and metric = 'generation_failures' "
        "and evaluator like '%leakage' order by kind"
    )
    assert [row["kind"] for row in found] == [
        "aws_access_key_id",
        "credit_card",
        "email",
        "us_ssn",
        "windows_product_key",
    ]
    (row,) = example.rows(
        "select count(*) as n from scores where evaluator like '%leakage' "
        "and (detail::varchar like '%1111%' or detail::varchar like '%EXAMPLE%')"
    )
    assert row == {"n": 0}


def test_only_the_system_in_loops_repeats_itself(example: Example) -> None:
    means = example.means("help-desk", "looping_detection.unique_sentences")
    assert means["guarded"] == means["chatty"] == 1
    assert means["stuck"] is not None
    assert means["stuck"] < 0.8


@pytest.mark.parametrize("metric", ["bleu.bleu_1", "bleu.corpus_bleu", "rouge.rouge_l"])
def test_summaries_stand_in_the_order_of_their_care(example: Example, metric: str) -> None:
    means = example.means("notices", metric)
    assert sorted(means, key=lambda name: -(means[name] or 0)) == [
        "llm",
        "first-sentence",
        "rambling",
    ]


@pytest.mark.parametrize(
    ("metric", "keyword", "rag", "plain_llm"),
    [
        ("rubric_judge.answer_score", 0.60, 0.88, 0.24),
        ("rubric_judge.raw_score", 3.0, 4.4, 1.2),
        ("rubric_combined.combined", 0.52, 0.886, None),
        ("faithfulness.faithfulness", 4 / 5, 11 / 12, None),
        ("context_precision.context_precision", 0.4, 0.7, None),
        ("context_recall.context_recall", 0.4, 0.8, None),
        ("context_relevancy.context_relevancy", 0.2, 0.5, None),
        ("trace.adherence", 1, 4 / 5, None),
        ("language_mismatch.passes", 1, 1, 4 / 5),
        ("contact_information.passes", 1, 1, 4 / 5),
        ("byop.passes", 2 / 5, 4 / 5, 0),
    ],
)
def test_verdicts_at_the_counter(
    example: Example, metric: str, keyword: float, rag: float, plain_llm: float | None
) -> None:
    judged = ("language_mismatch", "contact_information", "byop")
    benchmark = "counter-manners" if metric.startswith(judged) else "ticket-counter"
    means = example.means(benchmark, metric)
    expected = {"keyword": keyword, "rag": rag, "plain-llm": plain_llm}
    assert means == {
        system: None if mean is None else pytest.approx(mean, abs=5e-4)
        for system, mean in expected.items()
    }


def test_the_judge_sees_what_words_do_not(example: Example) -> None:
    means = example.means("notices", "summarization_judge.passes")
    assert means == {"llm": 1, "first-sentence": pytest.approx(1 / 6), "rambling": 0}
    (row,) = example.rows(
        "select distinct question_id from scores where reason = 'criteria_conflict'"
    )
    assert row == {"question_id": "notice-6"}


def test_every_verdict_was_wanted_and_none_was_missing(example: Example) -> None:
    lines = (example.folder / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    written = {
        (row["evaluator"], row["question_id"], row.get("system"), row.get("step", 0))
        for row in map(json.loads, lines)
    }
    assert len(written) == len(lines)
    asked = {
        tuple(row.values())
        for row in example.rows("select evaluator, question_id, system, step from asks")
    }
    addresses = asked | {(*place[:2], None, place[3]) for place in asked}
    assert written <= addresses
    assert all({each, (*each[:2], None, each[3])} & written for each in asked)
    statuses = example.rows(
        "select status, evaluator, system, question_id from scores "
        "where status in ('judge_error', 'parse_failure') group by all"
    )
    assert statuses == [
        {"status": "parse_failure", "evaluator": "trace", "system": "keyword", "question_id": "c5"}
    ]


DOCUMENTS = ("README.md", "examples/handbook/README.md", "docs/judges.md", "docs/numbers.md")
IN_EXAMPLE = [
    (document, command)
    for document in DOCUMENTS
    for command in commands(document)
    if command.words not in STORY
    and ("--config" in command.words or command.printed or document in DOCUMENTS[2:])
]


RETRY = ["run", "--retry"]
"""Ends with code 1: the only call to make again has a verdict that is truncated on purpose."""


def test_a_retry_of_the_truncated_verdict_says_that_no_reply_was_usable(example: Example) -> None:
    done = example.scoreline(*RETRY)
    assert done.code == 1
    assert "the judge gave no usable reply to any of 1 calls" in done.err
    said = done.err.splitlines()[-1]
    assert said == "error: the run is incomplete: the judge gave no usable reply"


@pytest.mark.parametrize(
    ("document", "command"), IN_EXAMPLE, ids=[" ".join(c.words[1:3]) for _, c in IN_EXAMPLE]
)
def test_what_the_documents_print_is_what_is_printed(
    example: Example, document: str, command: Command
) -> None:
    words = [word for word in command.words if word not in {"--config", CONFIGURATION}]
    if words[1:] == ["run"]:
        printed = example.first_run
    else:
        done = example.scoreline(*words[1:])
        assert done.code == (1 if words[1:] == RETRY else 0), done.err
        printed = done.out
    lines = [line.rstrip() for line in printed.splitlines()]
    assert len(lines) > 1
    shown = [line for line in command.printed if line != "..."]
    assert [line for line in shown if line not in lines] == [], document
