"""What `scoreline` re-exports, imported together when one of the names is first used."""

from evaluators.evaluator import Evaluator
from evaluators.kinds.flow import FlowEvaluator
from evaluators.kinds.frame import FrameEvaluator
from evaluators.kinds.row import RowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, Undefined

__all__ = [
    "Evaluator",
    "FlowEvaluator",
    "FrameEvaluator",
    "Graded",
    "Metric",
    "RowEvaluator",
    "Undefined",
]
