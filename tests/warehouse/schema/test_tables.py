"""The table descriptions hold what the contract names, in sentences that can be read."""

from __future__ import annotations

import pytest

from warehouse.errors import UnknownTable
from warehouse.schema.tables import GROUPS, TABLES, Table, table_named

CONTRACT = {
    "questions": "benchmark question_id question expected_answers gold_doc_ids tags extra",
    "documents": "benchmark doc_id sentence_id position text",
    "predictions": "benchmark system question_id answer contexts retrieved_doc_ids error",
    "contexts": "benchmark system question_id rank doc_id chunk_id score text",
    "rejects": "benchmark kind system file line reason text rejected_at",
    "metrics": "evaluator family metric summary best bound_low bound_high threshold is_primary "
    "level",
    "judgments": "digest model parameters messages reply_schema replicate reply status error "
    "attempts tokens_in tokens_out cost_usd latency_s judged_at run_id",
    "asks": "benchmark system question_id evaluator step digest",
    "scores": "benchmark system question_id evaluator metric value status reason detail "
    "input_digest signature scored_at run_id",
    "system_scores": "benchmark system slice evaluator metric value status reason signature",
    "leaderboard": "benchmark slice system evaluator metric mean n n_scored n_not_applicable "
    "n_undefined n_parse_failure n_judge_error n_target_error coverage bound_low bound_high "
    "std_error ci_low ci_high rank rank_low rank_high tied_with_best threshold passes best "
    "is_primary signature published_at",
    "comparisons": "benchmark slice metric evaluator system_a system_b n_pairs difference ci_low "
    "ci_high p_value p_adjusted verdict detectable_difference",
    "problems": "benchmark system evaluator metric kind question_id severity value threshold "
    "message",
    "insights": "benchmark evaluator metric kind system question_id value message",
    "labels": "benchmark system question_id evaluator metric value annotator",
    "calibration": "benchmark system evaluator metric n_labels raw_mean corrected_mean",
    "validations": "run_id table expectation success observed unexpected_count severity",
    "leaderboard_history": "published_at benchmark slice system evaluator metric mean ci_low "
    "ci_high n_scored signature",
    "marks": "benchmark stage digest marked_at",
    "publications": "published_at run_id tag",
}

every_table = pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))


@pytest.mark.parametrize(("name", "columns"), CONTRACT.items(), ids=list(CONTRACT))
def test_holds_the_columns_that_users_rely_on(name: str, columns: str) -> None:
    assert set(columns.split()) <= set(table_named(name).column_names)


@every_table
def test_says_what_a_row_is(table: Table) -> None:
    assert table.one_row.startswith("One row is ")
    assert table.one_row.endswith(".")


@every_table
def test_names_each_column_once_and_describes_it(table: Table) -> None:
    assert len(set(table.column_names)) == len(table.column_names)
    assert all(column.description.endswith(".") for column in table.columns)


@every_table
def test_has_a_key_of_its_own_columns(table: Table) -> None:
    assert table.key
    assert set(table.key) <= set(table.column_names)


def test_belongs_to_one_group() -> None:
    assert sum(len(group.tables) for group in GROUPS) == len(TABLES)


def test_suggests_the_nearest_name() -> None:
    with pytest.raises(UnknownTable, match="'score'; did you mean 'scores'"):
        table_named("score")
