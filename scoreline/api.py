"""What `scoreline` re-exports, imported together when one of the names is first used."""

from assets.gates.result import GateResult
from evaluators.evaluator import Evaluator
from evaluators.kinds.flow import FlowEvaluator
from evaluators.kinds.frame import FrameEvaluator
from evaluators.kinds.function import metric
from evaluators.kinds.row import RowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, Undefined
from scoreline.errors import ScorelineError
from scoreline.evaluation import evaluate
from scoreline.published import open, run  # noqa: A004 - `scoreline.open`
from scoreline.results import Results

__all__ = [
    "Evaluator",
    "FlowEvaluator",
    "FrameEvaluator",
    "GateResult",
    "Graded",
    "Metric",
    "Results",
    "RowEvaluator",
    "ScorelineError",
    "Undefined",
    "evaluate",
    "metric",
    "open",
    "run",
]
