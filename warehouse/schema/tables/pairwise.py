"""The tables of pairs of systems: paired comparisons, and how often a judge preferred which."""

from __future__ import annotations

from warehouse.schema.table import Column, Rule, Table, required, shared

PAIRWISE = Table(
    name="pairwise",
    one_row="One row is how often two systems beat and tied each other, as a judge compares their "
    "answers (`pairwise_judge`).",
    key=("benchmark", "evaluator", "system_a", "system_b"),
    notes="Each pair occurs once, in the order of the names. Both answers are judged in both "
    "orders; a verdict that changes with the order is a tie.",
    columns=(
        *shared("benchmark", "evaluator"),
        required("system_a", "VARCHAR", "The first system by name."),
        required("system_b", "VARCHAR", "The second system."),
        required("wins_a", "BIGINT", "The questions on which the first one wins.", least=0),
        required("wins_b", "BIGINT", "The questions on which the second one wins.", least=0),
        required("ties", "BIGINT", "The questions on which they tie.", least=0),
        required(
            "n_judged",
            "BIGINT",
            "The comparisons that the judge was asked about; the others were decided without it "
            "(equal, empty and failed answers).",
            least=0,
        ),
        required(
            "n_changed",
            "BIGINT",
            "The judged comparisons whose verdict changes with the order; `ties` includes them.",
            least=0,
        ),
        required(
            "prefers_first",
            "BIGINT",
            "Those of them in which the judge prefers the answer shown first.",
            least=0,
        ),
        required(
            "prefers_second",
            "BIGINT",
            "Those of them in which the judge prefers the answer shown second.",
            least=0,
        ),
        *shared("signature"),
    ),
    rules=(
        Rule("systems are in the order of their names", "system_a >= system_b"),
        Rule(
            "a verdict that changes prefers a position",
            "n_changed <> prefers_first + prefers_second",
        ),
    ),
)

COMPARISONS = Table(
    name="comparisons",
    one_row="One row is a paired comparison of two systems by one metric: every pair for primary "
    "metrics on all questions, otherwise the pairs with the best system and with the baselines of "
    "gates, and those with a `p_interaction`. `scoreline compare` computes all others.",
    key=("benchmark", "slice", "metric", "evaluator", "system_a", "system_b"),
    columns=(
        *shared("benchmark", "slice", "metric", "evaluator"),
        required("system_a", "VARCHAR", "The first system."),
        required("system_b", "VARCHAR", "The second system."),
        required("n_pairs", "BIGINT", "The questions on which both systems are scored."),
        required("n_clusters", "BIGINT", "The number of independent clusters of these questions."),
        Column("difference", "DOUBLE", "The mean difference of the scores, a minus b."),
        Column("ci_low", "DOUBLE", "The lower end of the 95 % interval of the difference."),
        Column("ci_high", "DOUBLE", "The upper end of the 95 % interval of the difference."),
        Column("p_value", "DOUBLE", "The p-value of the difference."),
        Column(
            "p_adjusted",
            "DOUBLE",
            "The p-value adjusted for all pairs of systems, stored or not (Holm).",
        ),
        required(
            "verdict",
            "VARCHAR",
            "The result for a: `better`, `worse`, `tied`, or `not_enough_data` if no answers to so "
            "few questions can be significant.",
        ),
        Column(
            "p_page",
            "DOUBLE",
            "`p_adjusted`, multiplied by the number of statements of the report's pages: below "
            "0.05, the report says that the difference is significant. Null on slices and for "
            "metrics that are neither primary nor the headline: these are exploratory.",
            least=0,
            most=1,
        ),
        Column(
            "detectable_difference",
            "DOUBLE",
            "The smallest difference that so many pairs detect with a power of 80 %; null without "
            "variation, and if no answers to so few questions can be significant.",
        ),
        Column(
            "p_interaction",
            "DOUBLE",
            "For a slice with the reverse of the overall order: the p-value of the hypothesis that "
            "the difference is the same on all other questions, adjusted for all slices and pairs "
            "(Benjamini-Hochberg); otherwise null.",
            least=0,
            most=1,
        ),
    ),
)
