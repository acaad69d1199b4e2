"""Engines that make up what they answer: valid-looking, and a pure function of what they are asked.

A judge's reply follows from the form that is asked for and the keys that stand in the prompt, so
that evaluators need not be known here; what models say follows from the text. Some questions are
never answered, so that every reason for having no number comes up, too.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from evaluators.flows.protocols import Engines, TokenLikelihood
from evaluators.flows.requests import JUDGE, Ask, Classify, Embed, Likelihood, Pair
from evaluators.kinds.flow import FlowEvaluator
from evaluators.outcome import JudgeError, ParseFailure, Undefined, Unscored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calls.call import Origin
    from evaluators.evaluator import Evaluator
    from evaluators.flows.requests import Request

BLOCK = re.compile(r"<<(\w+) ([0-9a-f]{12})>>\n(.*?)\n<</\1 \2>>", re.DOTALL)
_KEYED = re.compile(r"^\[([^\]\s]+)\] ", re.MULTILINE)
_ATTEMPTS = 200
_WORDS = ["", "true", "False.", "en", "fr", "und", "c0", "9z", "Why?", "It is so."]
_DIMENSIONS = 8


class FabricatedJudge:
    """A judge that makes up replies of the right form.

    Attributes:
        asked: Every question that was put.
        mishaps: How many questions of ten are not answered, or not understandably.
    """

    identity = "fabricated"

    def __init__(self, mishaps: int = 2) -> None:
        self.mishaps = mishaps
        self.asked: list[Ask[Any]] = []
        self._made: dict[Any, Any] = {}

    @property
    def replies(self) -> list[dict[str, Any]]:
        """The different replies that it gave."""
        return [m.model_dump() for m in self._made.values() if not isinstance(m, Unscored)]

    def ask(self, request: Ask[Any], _: Origin) -> Future[Any]:
        """Answer, or say why not."""
        self.asked.append(request)
        future: Future[Any] = Future()
        reply = self._reply(request)
        if isinstance(reply, Unscored):
            future.set_exception(reply)
        else:
            future.set_result(reply)
        return future

    def _reply(self, request: Ask[Any]) -> Any:
        key = (request.reply, request.prompt, request.replicate)
        if key not in self._made:
            self._made[key] = self._make(request)
        return self._made[key]

    def _make(self, request: Ask[Any]) -> Any:
        chance = chances(request.prompt.messages(request.reply), request.replicate)
        if chance.randrange(10) < self.mishaps:
            return chance.choice([ParseFailure("made up"), JudgeError("made up")])
        form = request.reply.model_json_schema()
        for _ in range(_ATTEMPTS):
            made = _Maker(chance, form.get("$defs", {}), request.prompt.material).value(form)
            try:
                reply = request.reply.model_validate_json(json.dumps(made))
            except ValidationError:
                continue
            if request.check is None or not request.check(reply):
                return reply
        return ParseFailure("nothing that was made up would do")


class _Maker:
    """Makes one reply: every attempt takes other keys of other blocks for other fields."""

    def __init__(self, chance: random.Random, forms: Mapping[str, Any], material: str) -> None:
        self._chance = chance
        self._forms = forms
        lists = [_KEYED.findall(text) for _, _, text in BLOCK.findall(material)]
        self._lists = [keys for keys in lists if keys] or [[]]

    def value(self, node: Mapping[str, Any]) -> Any:
        chance = self._chance
        if "$ref" in node:
            return self.value(self._forms[node["$ref"].rpartition("/")[2]])
        if "anyOf" in node:
            return self.value(chance.choice(node["anyOf"]))
        if "enum" in node or "const" in node:
            return chance.choice(node.get("enum") or [node["const"]])
        make = {
            "null": lambda _: None,
            "boolean": lambda _: chance.random() < 0.5,
            "integer": lambda of: chance.randint(of.get("minimum", 0), of.get("maximum", 5)),
            "number": lambda of: chance.uniform(of.get("minimum", 0), of.get("maximum", 1)),
            "array": self._array,
            "object": self._object,
            "string": lambda _: chance.choice([*_WORDS, *self._keys()]),
        }
        return make[node["type"]](node)

    def _keys(self) -> list[str]:
        """Those of some blocks, in their order."""
        some = self._chance.sample(self._lists, self._chance.randint(1, len(self._lists)))
        return [key for keys in self._lists if keys in some for key in keys]

    def _object(self, node: Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(of := node.get("additionalProperties"), dict):
            return {key: self.value(of) for key in self._keys()}
        return {name: self.value(part) for name, part in node.get("properties", {}).items()}

    def _array(self, node: Mapping[str, Any]) -> list[Any]:
        chance = self._chance
        keys = self._keys()
        item = node.get("items", {})
        form = self._forms.get(item.get("$ref", "").rpartition("/")[2], item)
        texts = [
            n for n, part in form.get("properties", {}).items() if part.get("type") == "string"
        ]
        if keys and texts and chance.random() < 0.7:
            by = chance.choice(texts)
            return [self._object(form) | {by: key} for key in keys]
        if keys and form.get("type") == "string" and chance.random() < 0.8:
            return [key for key in keys if chance.random() < 0.5]
        return [self.value(item) for _ in range(chance.randint(0, 4))]


class FabricatedModel:
    """A model of any kind, whose numbers are digests."""

    def __init__(self, role: str, labels: Sequence[str]) -> None:
        self.identity = f"fabricated {role}"
        self._labels = labels

    def unavailable_reason(self) -> None:
        """Nothing is in its way."""

    def answer(self, requests: Sequence[Request]) -> Sequence[Any]:
        """Answer each request by itself; one in eight has no answer."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Any:
        chance = chances(self.identity, repr(request))
        if chance.randrange(8) == 0:
            return Undefined("made up")
        match request:
            case Embed(text=text):
                vector = np.array([chance.gauss(0, 1) for _ in range(_DIMENSIONS)])
                if not re.search(r"\w", text):
                    return np.zeros(_DIMENSIONS, dtype=np.float32)
                return (vector / np.linalg.norm(vector)).astype(np.float32)
            case Likelihood(continuation=text):
                return TokenLikelihood([-chance.expovariate(0.5) for _ in text.split()])
            case Pair():
                return AnyLabel(repr(request), ("entailment", "neutral", "contradiction"))
            case Classify():
                return AnyLabel(repr(request), self._labels)
        raise AssertionError(f"what does a model make of {request!r}?")


class AnyLabel(Mapping[str, float]):
    """A probability for whatever label is looked up; those that are listed sum to 1."""

    def __init__(self, text: str, labels: Sequence[str]) -> None:
        weights = {label: chances(text, label).random() + 1e-6 for label in labels}
        whole = math.fsum(weights.values())
        self._listed = {label: weight / whole for label, weight in weights.items()}
        self._text = text

    def __getitem__(self, label: str) -> float:
        return self._listed.get(label, chances(self._text, label).random())

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)


def chances(*of: Any) -> random.Random:
    """A generator that equal things give again."""
    text = json.dumps(of, sort_keys=True).encode("utf-8", "surrogatepass")
    return random.Random(hashlib.sha256(text).digest())


def engines(evaluator: Evaluator, judge: FabricatedJudge | None = None) -> Engines:
    """All that an evaluator asks, made up."""
    if not isinstance(evaluator, FlowEvaluator):
        return Engines()
    asked = evaluator.engine_roles()
    labels = [metric.name for metric in evaluator.sample_metrics]
    return Engines(
        judge=(judge or FabricatedJudge()) if JUDGE in asked else None,
        models={role: FabricatedModel(role, labels) for role in asked - {JUDGE}},
    )
