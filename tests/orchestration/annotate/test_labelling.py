"""What annotators are told about a metric before they label."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from evaluators import catalog
from orchestration.webserver.annotate.labelling import Labelling


def described(name: str, **parameters: Any) -> dict[str, Any]:
    evaluator = catalog.build(name, parameters)
    benchmark = SimpleNamespace(name="b", thresholds={}, default_threshold="none")
    labelling = Labelling(
        benchmark=cast("Any", benchmark),
        evaluator=evaluator,
        metric=evaluator.metrics[0],
        queue=cast("Any", None),
        stored=cast("Any", None),
        order="mixed",
        numbered=(),
        choices=(),
        _numbers={},
        _labels=[],
    )
    return labelling.describe()


def test_the_criterion_of_the_user_is_shown() -> None:
    template = "Does {ACTUAL_OUTPUT} name <b>a price</b>?"
    assert described("byop", prompt_template=template)["criterion"] == template
    assert described("citation")["criterion"] is None
