"""Steadiness of a project's judge: a sample of its questions asked again in other ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.engines.ledger_adapter import WarehouseLedger
from evaluators.engines.contract import Engines
from evaluators.errors import EvaluatorError
from evaluators.steadiness import INJECTIONS, injection_steadiness, order_steadiness
from warehouse.ledger import ledger
from warehouse.queries.samples import samples
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assets.project import Project
    from evaluators.engines.contract import Origin
    from evaluators.steadiness import Steadiness

ORDER = "order of blocks"


class _Apart(WarehouseLedger):
    """Keeps what was said, but not on whose account: no grade is made from it."""

    def note(self, origin: Origin, digest: str) -> None:
        """Nothing: `asks` holds what the scores were made from."""


def steadiness(
    project: Project, benchmark: str, evaluator: str, *, most: int = 50
) -> Iterator[tuple[str, Steadiness]]:
    """Whether verdicts change with the order of blocks, or when answers talk to the judge.

    What the ledger holds is not asked again, so that the first half of each comparison is free
    after a run, and all of it the second time. Scores stay as they are.

    Args:
        project: The project, whose files were read by a run.
        benchmark: The benchmark.
        evaluator: One of its evaluators that asks a judge.
        most: The number of samples to look at; which ones, follows from their names.

    Yields:
        `order of blocks`, then the name of each of `INJECTIONS`, with what changed.

    Raises:
        EvaluatorError: There is no judge model, or no such evaluator; or it cannot be asked.
    """
    maker = project.answering.maker
    if maker is None:
        raise EvaluatorError("no judge model is configured whose verdicts could change")
    found = [each for each in project.benchmarks[benchmark].evaluators if each.name == evaluator]
    if not found:
        raise EvaluatorError(f"{benchmark!r} does not use the evaluator {evaluator!r}")
    (chosen,) = found
    warehouse = Warehouse(project.warehouse)
    query = samples(benchmark, chosen.columns | {"error", "answer"})
    rows = warehouse.fetch(
        f"SELECT * FROM ({query.sql}) WHERE error IS NULL "  # noqa: S608
        "ORDER BY hash(system || question_id), system, question_id LIMIT $most",
        {**query.parameters, "most": most},
    )
    answering = project.answering
    with ledger.opened(warehouse, "steadiness") as tables:
        try:
            with maker.live(_Apart(tables)) as judge:
                engines = Engines(judge=judge, models=answering.models, absent=answering.absent)
                yield ORDER, order_steadiness(chosen, rows, engines)
                for name, injection in INJECTIONS.items():
                    yield name, injection_steadiness(chosen, rows, engines, injection)
        finally:
            tables.settle()
