"""TRACe: which sentences of the context matter, which were used, and what they support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from evaluators.components.sentence_labels import (
    RELEVANT,
    USED,
    Empty,
    SentenceLabels,
    Unit,
    read_stored_labels,
)
from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Key, Reply, faults_by_id, too_many_unknown, verdicts_by_id
from evaluators.flows.requests import JUDGE, ask
from evaluators.kinds.flow import FlowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, NotApplicable
from evaluators.text.sentences import SPLITTER, answer_keys, sentence_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evaluators.flows.requests import Flow
    from evaluators.outcome import Scores
    from evaluators.sample import Sample

WITHOUT_SENTENCE = "supported_without_sentence"
GENERAL = "general"
WELL_KNOWN = "well_known_fact"
NUMERICAL = "numerical_reasoning"
MARKERS = frozenset({WITHOUT_SENTENCE, GENERAL, WELL_KNOWN, NUMERICAL})
"""What a judge may give instead of a supporting sentence."""

LABEL = Instruction(
    "The block `documents` lists the sentences of the documents that a search returned for the "
    "question in the block `question`, the block `response` the sentences of the answer that a "
    "system gave, each after its key in brackets. Work in this order.\n"
    "1. Forget the response. In `all_relevant_sentence_keys` list the keys of the document "
    "sentences that are useful for answering the question, and say why before.\n"
    "2. In `sentence_support_information` give exactly one entry for each key of the response: "
    "what the sentence claims and what bears it, the keys of the document sentences that support "
    "it, and whether all of it is supported. What you know yourself is no support. Instead of keys "
    f"one of four words may stand: `{WITHOUT_SENTENCE}` when the documents as a whole bear the "
    "sentence though no single one does, as when it says that they do not hold the answer; "
    f"`{GENERAL}` when it only leads over or sums up and claims nothing new; `{WELL_KNOWN}` when "
    f"it states what everybody knows; `{NUMERICAL}` when it calculates with numbers that the "
    "documents give. With an empty list a sentence is not fully supported.\n"
    "3. Say in `overall_supported` whether the documents bear the response as a whole, and why "
    "before.\n"
    "4. In `all_utilized_sentence_keys` list the keys of all document sentences from which the "
    "response took something, even a small part."
)


class SentenceSupport(Reply):
    """What bears one sentence of the response."""

    response_sentence_key: Key
    explanation: str
    supporting_sentence_keys: list[Key]
    fully_supported: bool


class TraceLabels(Reply):
    """What the judge marks, in the field names of RAGBench."""

    relevance_explanation: str
    all_relevant_sentence_keys: list[Key]
    sentence_support_information: list[SentenceSupport]
    overall_supported_explanation: str
    overall_supported: bool
    all_utilized_sentence_keys: list[Key]


@dataclass(frozen=True, kw_only=True)
class Trace(FlowEvaluator):
    """Is the context relevant, does the answer use it, use all of it, and keep to it?

    Of the context's sentences (D), the judge lists those that are relevant to the question (R) and
    those that the answer used (U). For each sentence of the answer it decides whether the context
    fully supports it. Context relevance is |R| / |D|, context utilization |U| / |R| but at most 1,
    completeness |R and U| / |R|, and adherence 1 when every sentence is fully supported, else 0.
    Further metrics: |R| / 20, at most 1; |U| / |D|; completeness with sentences weighed by their
    length; the share of sentences that are fully supported; and the mean of |R| / 20, context
    utilization, completeness and adherence.

    Sources: the GPT labelling approach for TRACE metrics, whose text divides by |D| and whose code
    divides by 20 (both are given here); `context_utilization_of_context` and
    `completeness_by_length` follow RAGBench (arXiv 2407.11005). So do the four words that a judge
    may give instead of a supporting sentence, so that refusals, transitions and calculations do not
    count as unsupported.

    Edges: no sentence in the context (`no_context`): relevance and utilization are 0, completeness
    and |U| / |D| undefined, and adherence is 0, since nothing supports the answer; the judge is not
    called. Nothing is relevant: utilization is 0 as in the source; completeness depends on
    `nothing_relevant`. A blank answer uses nothing and has no adherence (the source gives 1). A
    sentence of the answer without an entry, or with entries that contradict each other, is a parse
    failure. Keys that no document has are dropped and counted; more than a fifth of them is a parse
    failure. A key counts once however often it is given. Adherence is taken from the sentences;
    the detail has `overall_supported`.

    Stored labels (`labels: stored`, the default with `format: trace`) need no judge. They count as
    in the source's code, which differs from the rules above: a key that is given twice counts twice
    in context utilization and in |R| / 20, unknown keys count, a blank answer has what its labels
    say, and without any verdict on a sentence adherence is 1 (`no_support_entries`). Where the file
    has no sentences of the documents, the context is split here; metrics that need its sentences
    are undefined if there is no context, or if the labels have keys that it lacks. Where a row has
    only labels of relevant or only of used sentences, metrics that need the others are undefined.

    Attributes:
        labels: Who labels the sentences: the `judge`, or `stored` labels of the file.
        nothing_relevant: Completeness where nothing is relevant: `as_used` is 1 if nothing was
            used and 0 otherwise (the source), `one` (RAGBench's references), `zero`, or
            `undefined`.
        length: What `completeness_by_length` weighs sentences by: `words` or `characters`.
    """

    metrics = (
        Metric(
            name="context_relevance",
            summary="Share of the context's sentences that are relevant to the question.",
        ),
        Metric(
            name="context_utilization",
            summary="Number of sentences used, divided by the number of relevant ones, at most 1.",
        ),
        Metric(
            name="completeness",
            summary="Share of the relevant sentences that the answer used.",
        ),
        Metric(
            name="adherence",
            pass_fail=True,
            summary="Whether the context fully supports every sentence of the answer.",
            primary=True,
        ),
        Metric(
            name="context_relevance_normalized_20",
            summary="Number of relevant sentences divided by 20, at most 1.",
        ),
        Metric(
            name="context_utilization_of_context",
            summary="Share of the context's sentences that the answer used.",
        ),
        Metric(
            name="completeness_by_length",
            summary="Share of the relevant sentences that the answer used, weighed by length.",
        ),
        Metric(
            name="adherence_fraction",
            summary="Share of the answer's sentences that the context fully supports.",
        ),
        Metric(
            name="trace_average",
            summary="Mean of relevance divided by 20, utilization, completeness and adherence.",
        ),
    )
    version = 3
    reads = frozenset({"question"})
    optional = frozenset({"contexts", "answer"})
    non_empty = frozenset({"question"})
    libraries = (SPLITTER,)
    needs = frozenset({JUDGE})
    prompts = (LABEL,)
    replies = (TraceLabels,)

    labels: Literal["judge", "stored"] = "judge"
    nothing_relevant: Empty = "as_used"
    length: Unit = "words"

    @property
    def needed_libraries(self) -> tuple[str, ...]:
        """The splitter is needed for a judge; stored labels are of sentences that are split."""
        return () if self.labels == "stored" else self.libraries

    @property
    def columns(self) -> frozenset[str]:
        """The sample columns; stored labels are among the further fields of an answer."""
        stored = {"document_sentences", "extra"} if self.labels == "stored" else set()
        return super().columns | stored

    def engine_roles(self) -> frozenset[str]:
        """Return the judge, or nothing if the labels are stored."""
        return self.needs if self.labels == "judge" else frozenset()

    def not_applicable_reasons(self) -> Sequence[pl.Expr]:
        """Return which of context and answer is missing; stored labels need neither."""
        if self.labels == "stored":
            return ()
        return [
            pl.when(pl.col(name).is_null()).then(pl.lit(f"no {name}"))
            for name in ("answer", "contexts")
        ]

    def expected_calls(self, sample: Sample) -> int:
        """Return 1, or 0 if there is no context or the labels are stored."""
        return int(self.labels == "judge" and bool(sentence_keys(sample.contexts or ())))

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Get all labels with one judge call, or from the file, and count them."""
        if self.labels == "stored":
            return self._stored(sample)
        documents = sentence_keys(sample.contexts or ())
        response = answer_keys(sample.answer or "")
        if not documents:
            unsupported = [False] * len(response)
            return Graded(self._scores(documents, (), (), unsupported), remark="no_context")
        labels = yield from ask(
            TraceLabels,
            LABEL.prompt(question=sample.question, documents=documents, response=response),
            check=lambda reply: _faults(reply, documents, response),
        )
        supports, _ = verdicts_by_id(
            labels.sentence_support_information, lambda each: each.response_sentence_key, response
        )
        relevant = [key for key in documents if key in set(labels.all_relevant_sentence_keys)]
        utilized = [key for key in documents if key in set(labels.all_utilized_sentence_keys)]
        used = utilized if response else []
        supported = [supports[key].fully_supported for key in response]
        scores = self._scores(documents, relevant, used, supported)
        evidence = _evidence(labels, documents, response, supports, relevant, used)
        return Graded(scores, evidence)

    def _stored(self, sample: Sample) -> Graded:
        """Count the labels of the file.

        Raises:
            Unscored: There are none, or they cannot be read.
        """
        labels = read_stored_labels(sample.extra)
        if labels is None:
            raise NotApplicable(f"no stored labels ({RELEVANT}, {USED})")
        sentences = labels.sentences
        if sentences is None and sample.document_sentences is not None:
            sentences = {
                each["sentence_id"]: each["text"] or "" for each in sample.document_sentences
            }
        if sentences is None and sample.contexts:
            sentences = sentence_keys(sample.contexts)
            if not {*(labels.relevant or ()), *(labels.used or ())} <= sentences.keys():
                sentences = None
        counted = SentenceLabels(
            sentences=sentences or None,
            relevant=labels.relevant,
            used=labels.used,
            supported=labels.supported,
            unlabelled=1.0,
            nothing_relevant=self.nothing_relevant,
            length=self.length,
        )
        detail = {
            "sentences": len(sentences or ()),
            "relevant": labels.relevant,
            "utilized": labels.used,
            "unsupported": list(labels.unsupported),
            "answer_sentences": len(labels.supported),
            "overall_supported": labels.overall_supported,
        }
        return Graded(counted.scores(), detail, None if labels.supported else "no_support_entries")

    def _scores(
        self,
        documents: Mapping[str, str],
        relevant: Iterable[str],
        used: Iterable[str],
        supported: Sequence[bool],
    ) -> Scores:
        return SentenceLabels(
            sentences=documents,
            relevant=frozenset(relevant),
            used=frozenset(used),
            supported=supported,
            nothing_relevant=self.nothing_relevant,
            length=self.length,
        ).scores()


def _faults(
    labels: TraceLabels, documents: Mapping[str, str], response: Mapping[str, str]
) -> list[str]:
    labelled = [*labels.all_relevant_sentence_keys, *labels.all_utilized_sentence_keys]
    return [
        *too_many_unknown(labelled, documents),
        *faults_by_id(
            labels.sentence_support_information,
            lambda each: each.response_sentence_key,
            lambda each: each.fully_supported,
            response,
        ),
    ]


def _evidence(
    labels: TraceLabels,
    documents: Mapping[str, str],
    response: Mapping[str, str],
    supports: Mapping[str, SentenceSupport],
    relevant: Sequence[str],
    used: Sequence[str],
) -> dict[str, Any]:
    """Return the labels, and where the judge contradicts itself."""
    cited = {key for each in supports.values() for key in each.supporting_sentence_keys}
    labelled = {*labels.all_relevant_sentence_keys, *labels.all_utilized_sentence_keys}
    entries = {each.response_sentence_key for each in labels.sentence_support_information}
    unknown = [
        *(key for key in labelled if key not in documents),
        *(key for key in cited if key not in documents and key not in MARKERS),
        *(key for key in entries if key not in supports),
    ]
    supported = {key for key, each in supports.items() if each.fully_supported}
    return {
        "sentences": len(documents),
        "relevant": relevant,
        "utilized": used,
        "unsupported": sorted(supports.keys() - supported),
        "answer_sentences": len(response),
        "unsupported_sentences": {
            key: text for key, text in response.items() if key not in supported
        },
        "supported_by_nothing": sorted(
            key for key in supported if not supports[key].supporting_sentence_keys
        ),
        "cited_but_not_utilized": sorted((cited & documents.keys()) - set(used)),
        "overall_supported": labels.overall_supported,
        "unknown_keys": len(unknown),
    }
