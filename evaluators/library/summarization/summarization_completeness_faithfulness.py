"""Completeness and faithfulness of a summary: how it covers its source, and follows from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Literal

from evaluators.flows.requests import EMBEDDING, ENTAILMENT, embed, entail
from evaluators.kinds.flow import FlowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, NotApplicable, Undefined, Unscored
from evaluators.text import summac
from evaluators.text.coverage import completeness
from evaluators.text.sentences import SPLITTER, check_language, long_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.flows.requests import Flow
    from evaluators.outcome import Value
    from evaluators.sample import Sample

_CONV = "faithfulness_summac_conv"
_ZS = "faithfulness_summac_zs"
_SOURCE = 100
"""The most sentences of the source."""


@dataclass(frozen=True, kw_only=True)
class SummarizationCompletenessFaithfulness(FlowEvaluator):
    """Does the summary cover its source, and does it follow from it?

    The source is the question's text. `completeness` compares how far the sentences reach in the
    embedding space, reduced to the (at most) five principal components of the source. Each sentence
    of the summary moves to the nearest sentence of the source. The reach is the length of three
    segments: the longest distance, and the next longest from each of its ends. The metric is the
    reach of the summary divided by that of the source.

    SummaC compares each sentence of the summary with each of the source by an entailment model. ZS
    is the mean over the summary of the largest entailment. Conv counts each summary sentence's
    entailments in 23 bins and applies a learned layer to them; it uses the first ten sentences. Its
    32 weights are published with the paper's code and are a parameter here. Conv lies between about
    0.19 and 0.96 and reaches 0.75 on short sources only if a sentence is copied.

    Sources: summarization (completeness and faithfulness) of Eval Studio; Laban et al., 2022. Eval
    Studio uses UMAP, which is slow to start and not reproducible; its ZS, like this one, omits the
    largest contradiction, which the paper subtracts.

    Edges: sentences count if they have at least eleven characters, of the source the first hundred.
    No sentence in the source or the summary: undefined. Completeness needs two sentences in each,
    and a source whose sentences differ. Without an entailment model, only completeness has a value.

    Attributes:
        zs_variant: `entailment`, or `published`, which subtracts contradictions (-1 to 1).
        conv_weights: The 32 weights of the learned layers, the first layer first; empty: no Conv.
        language: The language code of the sentence splitter.
    """

    metrics = (
        Metric(
            name="completeness",
            summary="How far the summary reaches in the space of its source's sentences.",
            primary=True,
        ),
        Metric(
            name=_CONV,
            summary="Consistency of the summary with its source, by a learned reading.",
        ),
        Metric(
            name=_ZS,
            summary="Mean over the summary's sentences of their largest entailment.",
        ),
    )
    reads = frozenset({"question", "answer"})
    non_empty = frozenset({"question"})
    libraries = (SPLITTER,)
    needs = frozenset({EMBEDDING, ENTAILMENT})
    optional_engines = {ENTAILMENT: (_CONV, _ZS)}  # noqa: RUF012 - a class variable, as declared above

    zs_variant: Literal["entailment", "published"] = "entailment"
    conv_weights: tuple[float, ...] = ()
    language: str = "en"

    def __post_init__(self) -> None:
        """Validate the language code and the number of weights.

        Raises:
            ValueError: One of them is invalid.
        """
        check_language(self.language)
        if len(self.conv_weights) not in {0, summac.WEIGHTS}:
            raise ValueError(
                f"conv_weights: expected {summac.WEIGHTS} numbers, got {len(self.conv_weights)}"
            )

    def measured(self) -> tuple[Metric, ...]:
        """Return the metrics; the published ZS has a lower bound of -1."""
        if self.zs_variant == "entailment":
            return self.metrics
        return tuple(
            replace(metric, bounds=(-1.0, 1.0)) if metric.name == _ZS else metric
            for metric in self.metrics
        )

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Embed the sentences, then compare each of the summary with each of the source."""
        source = long_sentences(sample.question or "", self.language)[:_SOURCE]
        summary = long_sentences(sample.answer or "", self.language)
        if not source or not summary:
            raise Undefined(f"the {'summary' if source else 'source'} has no sentence")
        vectors = yield from embed([*source, *summary])
        values: dict[str, Value] = {}
        try:
            values["completeness"] = completeness(vectors[: len(source)], vectors[len(source) :])
        except Undefined as reason:
            values["completeness"] = reason
        try:
            values |= yield from self._faithfulness(source, summary)
        except Unscored as reason:
            values |= {_CONV: reason, _ZS: reason}
        detail = {"source_sentences": len(source), "summary_sentences": len(summary)}
        return Graded(values, detail)

    def _faithfulness(
        self, source: Sequence[str], summary: Sequence[str]
    ) -> Flow[dict[str, Value]]:
        import numpy as np

        found = yield from entail(list(product(source, summary)))
        shape = (len(source), len(summary))
        entailment = np.reshape([each["entailment"] for each in found], shape)
        values: dict[str, Value] = {}
        if self.conv_weights:
            values[_CONV] = summac.convolution(entailment, self.conv_weights)
        else:
            values[_CONV] = NotApplicable("the parameter conv_weights is not set", of_run=True)
        if self.zs_variant == "entailment":
            values[_ZS] = summac.zero_shot(entailment)
        elif "contradiction" in found[0]:
            contradiction = np.reshape([each["contradiction"] for each in found], shape)
            values[_ZS] = summac.zero_shot_published(entailment, contradiction)
        else:
            values[_ZS] = NotApplicable(
                "the model of entailment gives no contradiction", of_run=True
            )
        return values
