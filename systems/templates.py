"""Templates: requests to systems with the fields of a question filled in.

A template is Jinja2 in a sandbox. Values of questions are data: they are never rendered again. A
field that a question lacks prints as nothing; a name that no question has is an error at once.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, NoReturn

from jinja2 import TemplateError, TemplateSyntaxError, Undefined, meta, nodes
from jinja2.exceptions import SecurityError

from records.question import Question
from records.similar_names import did_you_mean
from systems.client import SystemRefused
from systems.sandbox import Sandbox, check_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

QUESTION_FIELDS: Final = tuple(Question.model_fields)
"""The names that a template may use."""

_MAPPINGS = ("tags", "extra")
_FOR_MISSING = frozenset({"default", "d", "defined", "undefined"})
"""Filters and tests by which a template handles members that may be missing."""
_EXPRESSION = re.compile(r"\{\{[-+]?(.*?)[-+]?\}\}", re.DOTALL)


class Templates:
    """Makes the templates of one system for the questions of one benchmark."""

    def __init__(self, system: str, questions: Iterable[Mapping[str, Any]]) -> None:
        """Collect which names occur in `tags` and `extra` of any question."""
        self._system = system
        self._known: dict[str, set[str]] = {name: set() for name in _MAPPINGS}
        self._has_questions = False
        for question in questions:
            self._has_questions = True
            for name, known in self._known.items():
                known.update(question.get(name) or ())

    def text(self, source: str, where: str, finalize: Callable[[Any], str] | None = None) -> Text:
        """Compile a template that gives a text.

        Args:
            source: The template.
            where: Its configuration key, for messages.
            finalize: Converts each printed value; None prints it as it is, and null as nothing.

        Raises:
            SystemRefused: Its syntax is wrong, or it uses a name that no question has.
        """
        environment = Sandbox(finalize or _printed)
        where = f"systems.{self._system}.{where}"
        self._check(environment, source, where)
        return Text(environment, source, where, self._known)

    def value(self, given: Any, where: str) -> Value:
        """Compile all texts in a JSON value; see `text`.

        A text that is exactly one `{{ expression }}` keeps the type of its value.
        """
        if isinstance(given, str):
            compiled = self.text(given, where)
            return Value(compiled.value if compiled.is_expression else compiled, compiled.is_fixed)
        if isinstance(given, dict):
            members = {
                str(name): self.value(each, f"{where}.{name}") for name, each in given.items()
            }
            return Value(
                lambda question: {name: each(question) for name, each in members.items()},
                all(each.is_fixed for each in members.values()),
            )
        if isinstance(given, list | tuple):
            items = [self.value(each, f"{where}[{n}]") for n, each in enumerate(given)]
            return Value(
                lambda question: [each(question) for each in items],
                all(each.is_fixed for each in items),
            )
        fixed = _as_json(given, lambda found: _refuse(f"systems.{self._system}.{where}", found))
        return Value(lambda _: fixed, is_fixed=True)

    def _check(self, environment: Sandbox, source: str, where: str) -> None:
        try:
            parsed = environment.parse(source)
            undeclared = meta.find_undeclared_variables(parsed)
        except TemplateSyntaxError as error:
            _refuse(where, f"{error.message}", error.lineno)
        except RecursionError:
            _refuse(where, "nested too deeply")
        for name in sorted(undeclared - environment.globals.keys()):
            if name not in QUESTION_FIELDS:
                advice = did_you_mean(name, QUESTION_FIELDS) or (
                    f"; expected one of {', '.join(QUESTION_FIELDS)}"
                )
                _refuse(where, f"unknown name {name!r}{advice}", _line_of(parsed, name))
        # Tags are not known before the questions are read.
        for name, member, line in _members(parsed) if self._has_questions else ():
            known = self._known[name]
            if member not in known:
                advice = did_you_mean(member, known)
                advice = advice or f"; {name}.{member} | default('') allows that"
                _refuse(where, f"no question has {name}.{member}{advice}", line)


class Text:
    """A template that gives a text.

    Attributes:
        is_expression: Whether it is exactly one `{{ expression }}`.
        is_fixed: Whether it is the same for all questions.
    """

    def __init__(
        self,
        environment: Sandbox,
        source: str,
        where: str,
        known: Mapping[str, set[str]],
    ) -> None:
        parsed = environment.parse(source)
        self._environment = environment
        self._where = where
        self._known = known
        self._template = environment.from_string(source)
        self.is_fixed = not meta.find_undeclared_variables(parsed) & set(QUESTION_FIELDS)
        expression = _EXPRESSION.fullmatch(source)
        self.is_expression = expression is not None and _is_expression(parsed)
        self._expression = (
            environment.compile_expression(expression[1], undefined_to_none=False)
            if expression is not None and self.is_expression
            else None
        )

    def __call__(self, question: Mapping[str, Any]) -> str:
        """Render the template for a question.

        Raises:
            SystemRefused: That is impossible, or takes too much.
        """

        def render() -> str:
            pieces = []
            size = 0
            for piece in self._template.generate(**self._names(question)):
                pieces.append(piece)
                size += len(piece)
                check_length(size)
            return "".join(pieces)

        return str(self._guarded(render, question))

    def value(self, question: Mapping[str, Any]) -> Any:
        """Return the value of the one expression as a JSON value; raise as `__call__` does."""

        def evaluate() -> Any:
            assert self._expression is not None  # noqa: S101 - `is_expression` says so
            found = self._expression(**self._names(question))
            if isinstance(found, str):
                check_length(len(found))
            return _as_json(found, _raise_template_error)

        return self._guarded(evaluate, question)

    def _guarded(self, render: Callable[[], Any], question: Mapping[str, Any]) -> Any:
        self._environment.steps = 0
        try:
            return render()
        except RecursionError:
            reason = "nested too deeply"
        except TemplateError as error:
            reason = str(error.message or type(error).__name__)
        except Exception as error:  # noqa: BLE001 - expressions call whatever values allow
            reason = f"{type(error).__name__}: {error}"
        return _refuse(self._where, f"{reason}; question {question.get('question_id')!r}")

    def _names(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        names: dict[str, Any] = {
            name: Undefined(name=name) if question.get(name) is None else question[name]
            for name in QUESTION_FIELDS
        }
        for name in _MAPPINGS:
            names[name] = _Members(self._known[name], question.get(name) or {})
        return names


class Value:
    """A JSON value with templates in it.

    Attributes:
        is_fixed: Whether it is the same for all questions.
    """

    def __init__(self, render: Callable[[Mapping[str, Any]], Any], is_fixed: bool) -> None:  # noqa: FBT001
        self._render = render
        self.is_fixed = is_fixed

    def __call__(self, question: Mapping[str, Any]) -> Any:
        """Render it for a question; raise as `Text` does."""
        return self._render(question)


class _Members(dict[str, Any]):
    """The members of `tags` or `extra`; those that only other questions have print as nothing."""

    def __init__(self, known: set[str], given: Mapping[str, Any]) -> None:
        super().__init__(given)
        self._known = known

    def __missing__(self, name: str) -> Undefined:
        if name not in self._known:
            raise KeyError(name)
        return Undefined(name=name)


def _printed(value: Any) -> Any:
    return "" if value is None else value


def _is_expression(parsed: nodes.Template) -> bool:
    match parsed.body:
        case [nodes.Output(nodes=[only])]:
            return not isinstance(only, nodes.TemplateData)
    return False


def _members(parsed: nodes.Template) -> list[tuple[str, str, int]]:
    """Return what a template reads from `tags` and `extra` by a fixed name, with its line."""
    optional = {
        id(each.node)
        for kind in (nodes.Filter, nodes.Test)
        for each in parsed.find_all(kind)
        if each.name in _FOR_MISSING
    }
    read: list[tuple[nodes.Node, nodes.Node, Any]]
    read = [(node, node.node, node.attr) for node in parsed.find_all(nodes.Getattr)]
    read += [(node, node.node, _constant(node.arg)) for node in parsed.find_all(nodes.Getitem)]
    return [
        (owner.name, member, node.lineno)
        for node, owner, member in read
        if isinstance(owner, nodes.Name)
        and owner.name in _MAPPINGS
        and isinstance(member, str)
        and id(node) not in optional
        and not (isinstance(node, nodes.Getattr) and hasattr(dict, member))
    ]


def _constant(node: nodes.Node) -> Any:
    return node.value if isinstance(node, nodes.Const) else None


def _line_of(parsed: nodes.Template, name: str) -> int:
    return next((node.lineno for node in parsed.find_all(nodes.Name) if node.name == name), 1)


def _as_json(value: Any, fail: Callable[[str], NoReturn]) -> Any:
    """Return a value with lists and dicts of JSON, or fail."""
    match value:
        case Undefined():
            str(value)  # raises an error, unless the value is a field that the question lacks
            return None
        case str():
            return str.__str__(value)
        case float() if not math.isfinite(value):
            fail(f"{value} is not a JSON number")
        case None | bool() | int() | float():
            return value
        case list() | tuple():
            return [_as_json(each, fail) for each in value]
        case dict():
            return {str(name): _as_json(each, fail) for name, each in value.items()}
    return fail(f"{type(value).__name__} is not a JSON value; a filter may need `| list` after it")


def _raise_template_error(reason: str) -> NoReturn:
    raise SecurityError(reason)


def _refuse(where: str, reason: str, line: int | None = None) -> NoReturn:
    place = where if line is None else f"{where}, line {line}"
    raise SystemRefused(f"{place}: {reason}")
