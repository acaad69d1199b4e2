"""The errors of the evaluators package, and the wording that their messages share.

EvaluatorError
├── UnknownEvaluator   a name that is neither an evaluator nor a family
├── BadParameters      parameters that an evaluator does not accept
├── BadConstraints     constraints of a question that cannot be parsed
├── BadSamples         a frame of samples that lacks a column
├── Unavailable        an engine that is not installed, configured or found
└── BrokenPromise      an evaluator that does not return what it declares (a defect, not a result)

Reasons why a single sample has no score are not errors of this kind: see `outcome.Unscored`.
"""

from __future__ import annotations

from typing import Final

EXPECTED_TYPES: Final = {
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping (`key: value` lines)",
    "model_type": "a mapping (`key: value` lines)",
    "model_attributes_type": "a mapping (`key: value` lines)",
}
"""The type that a key or parameter expects, by the type of pydantic's error."""


class EvaluatorError(Exception):
    """The root of the errors of this package."""


class UnknownEvaluator(EvaluatorError):  # noqa: N818
    """There is neither an evaluator nor a family of this name."""


class BadParameters(EvaluatorError):  # noqa: N818
    """An evaluator does not accept a parameter or its value."""


class BadPlugin(EvaluatorError):  # noqa: N818
    """A file, module or package with evaluators cannot be loaded."""


class BadConstraints(EvaluatorError):  # noqa: N818
    """The constraints of a question cannot be parsed."""


class BadSamples(EvaluatorError):  # noqa: N818
    """A frame of samples lacks a column that the evaluator reads."""


class Unavailable(EvaluatorError):  # noqa: N818
    """An engine is not available; the message says what to install or configure."""


class BrokenPromise(EvaluatorError):  # noqa: N818
    """An evaluator returned metrics that it does not declare, or a value out of bounds."""
