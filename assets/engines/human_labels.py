"""Labels: what people said of samples, where people are the judge."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from evaluators.outcome import NotApplicable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.flows.protocols import Origin
    from warehouse.store import Warehouse


class PeoplesLabels:
    """The labels of a warehouse, read once for each benchmark and evaluator that is asked about.

    Several people's numbers for one sample and metric give their median: of an odd number of
    verdicts, the majority.
    """

    identity = "human"

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._place: tuple[str, str] | None = None
        self._given: dict[tuple[str, str], dict[str, list[float]]] = {}

    def of(self, origin: Origin) -> Mapping[str, float]:
        """The number that people gave a sample, by metric.

        Raises:
            NotApplicable: Nobody labelled it.
        """
        place = (origin.benchmark, origin.evaluator)
        if place != self._place:
            self._place, self._given = place, self._read(*place)
        given = self._given.get((origin.system, origin.question_id))
        if given is None:
            raise NotApplicable("nobody has labelled this sample")
        return {metric: float(median(values)) for metric, values in given.items()}

    def _read(
        self, benchmark: str, evaluator: str
    ) -> dict[tuple[str, str], dict[str, list[float]]]:
        rows = self._warehouse.fetch(
            "SELECT system, question_id, metric, value FROM labels "
            "WHERE benchmark = $benchmark AND evaluator = $evaluator",
            {"benchmark": benchmark, "evaluator": evaluator},
        )
        found: dict[tuple[str, str], dict[str, list[float]]] = {}
        for system, question, metric, value in rows.iter_rows():
            found.setdefault((system, question), {}).setdefault(metric, []).append(value)
        return found
