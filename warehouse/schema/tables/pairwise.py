"""The table of pairwise comparisons: how often each system beat each other system."""

from __future__ import annotations

from warehouse.schema.table import Rule, Table, required, shared

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
