// What evaluators found, in sentences. Each returns texts, and lists of quoted texts.

const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
const of = (n, total, noun) => `${count(n)} of ${plural(total, noun)}`;
const quoted = (text, texts) => (texts?.length ? [text, texts] : []);

function citationSentences({ right, cited, gold }) {
  const evidence = cited === 0 ? "" : `, ${right === cited ? (cited === 1 ? "which is evidence" : "all of them evidence") : `${right === 0 ? "none" : count(right)} of them evidence`}`;
  return [`cites ${plural(cited, "sentence")}${cited === 1 && right === 0 ? ", which is not evidence" : evidence}`, gold ? `cites ${of(right, gold, "evidence sentence")}` : null];
}

function retrievalSentences({ hit_ranks: ranks, relevant, retrieved, duplicates }) {
  const found = ranks.length ? `, at ${ranks.length === 1 ? "rank" : "ranks"} ${ranks.join(", ")}` : "";
  return [
    `retrieves ${plural(retrieved, "document")}`,
    relevant ? `finds ${of(ranks.length, relevant, "relevant document")}${found}` : "no document is relevant",
    duplicates ? `retrieves ${plural(duplicates, "document")} twice` : null,
  ];
}

function leakSentences(detail) {
  const places = [["the answer", detail.answer], ["the passages", detail.contexts], ["the question", detail.question]];
  return places.filter(([, found]) => found?.length).map(([place, found]) => {
    const kinds = [...new Set(found.map((each) => String(each.kind).replaceAll("_", " ")))];
    return `${place} ${place.endsWith("s") ? "contain" : "contains"} ${plural(found.length, "item")}: ${kinds.join(", ")}`;
  });
}

function optionSentences({ chosen, confidence, tied, order_spread: spread, bounded }) {
  return [
    chosen === null ? "no option is the likeliest" : `option ${"ABCDEFGHIJKLMNOPQRSTUVWXYZ"[chosen] ?? chosen + 1} is the likeliest${confidence === null ? "" : `, with ${percent(confidence)} of the probability of all options`}`,
    tied ? "several options are equally likely" : null,
    spread === null || spread === undefined ? null : `the probability of the right option differs by ${number(spread)} between orders of the options`,
    bounded?.length ? "the server left out an option's probability; its upper bound counts" : null,
  ];
}

function usefulSentences(detail) {
  return Object.values(detail).filter(Array.isArray).map((found) => {
    const counts = ["fully", "partly", "none"].map((kind) => found.filter((each) => each === kind).length);
    return `${count(counts[0])} of ${plural(found.length, "passage")} useful, ${count(counts[1])} partly useful, ${count(counts[2])} not useful`;
  });
}

// Verdicts about the answer, and about the passages where they are checked too.
function judgedSentences(describe) {
  return (detail) => [["the answer", detail.answer], ["the passages", detail.contexts]].filter(([, found]) => found).map(([place, found]) => describe(place, found));
}

function criteriaSentence(_, { criteria }) {
  const [met, missed] = [true, false].map((isMet) => Object.keys(criteria).filter((key) => criteria[key] === isMet).map((key) => key.replaceAll("_", " ")));
  return [met.length ? `meets ${met.join(", ")}` : null, missed.length ? `does not meet ${missed.join(", ")}` : null].filter(Boolean).join("; ");
}

const PATHS = { no_gold: "no sentence is evidence", identifiers: "no text is known: compares the identifiers of sentences", words: "compares the words of the cited sentences with those of the evidence" };

const SENTENCES = {
  citation: citationSentences,
  document_retrieval: retrievalSentences,
  classification: ({ expected, given }) => (expected === undefined ? [] : [expected === given ? "chooses the expected class" : `chooses ${given ?? "no class"} instead of ${expected}`]),
  groundedness: ({ least_grounded: text, nearest }) => [...quoted("the least grounded sentence:", [text].filter(Boolean)), ...quoted("the passages' nearest sentence:", [nearest].filter(Boolean))],
  answer_semantic_similarity: ({ nearest }) => quoted("the nearest expected answer:", [nearest].filter(Boolean)),
  faithfulness: ({ statements, unsupported }) => [`the passages support ${of(statements - unsupported.length, statements, "statement")}`, ...quoted("not supported:", unsupported)],
  answer_correctness: ({ unsupported, missed }) => [...quoted("not in the expected answer:", unsupported), ...quoted("missing from the answer:", missed)],
  context_recall: ({ sentences, missing }) => [`the passages contain ${of(sentences - Math.min(sentences, missing.length), sentences, "sentence")} of the expected answer`, ...quoted("missing from the passages:", missing)],
  context_precision: usefulSentences,
  rubric_judge: ({ reasoning, missing, incorrect }) => [...quoted("the judge says:", [reasoning].filter(Boolean)), ...quoted("missing from the answer:", missing), ...quoted("incorrect:", incorrect)],
  trace: ({ answer_sentences: sentences, relevant, utilized, unsupported }) => [`${count(relevant?.length ?? 0)} relevant and ${plural(utilized?.length ?? 0, "used sentence")} in the passages`, sentences ? `the passages support ${of(sentences - (unsupported?.length ?? 0), sentences, "sentence")} of the answer` : null],
  option_confidence: optionSentences,
  noise_robustness: ({ rules }) => rules.map((rule) => (rule === null ? "does not have the expected answer" : `has the expected answer, by the rule “${String(rule).replaceAll("_", " ")}”`)),
  negative_rejection: ({ phrase }) => [phrase ? `rejects the question: “${phrase}”` : "does not reject the question"],
  counterfactual_robustness: ({ phrase }) => [phrase ? `reports an error in the passages: “${phrase}”` : "reports no error in the passages"],
  looping_detection: ({ sentences, unique_sentences: unique }) => [`${of(unique, sentences, "sentence")} ${unique === 1 ? "is" : "are"} unique`],
  evidence_overlap: ({ path }) => [PATHS[path] ?? null],
  context_relevancy: ({ useful, sentences }) => [`${of(useful.length, sentences, "sentence")} of the passages useful for the question`],
  soft_context_relevancy: ({ chunks }) => [`similarity of the question and each chunk: ${chunks.map((each) => number(each, 2)).join(", ")}`],
  bleu: ({ right, words, reference_words: expected }) => [`${of(right[0], words, "word")} in the expected text, which has ${count(expected)}`],
  rouge: ({ words }) => [`compares ${words.map((each) => each.replaceAll("_", " ")).join(", ")} words`],
  language_mismatch: judgedSentences((place, found) => `the question is in “${found.requested_language ?? found.question_language}”, ${place} in “${found.text_language}”`),
  contact_information: judgedSentences((place, { items }) => `${place} ${place.endsWith("s") ? "have" : "has"} ${items.length ? plural(items.length, "contact detail") : "no contact details"}`),
  summarization_judge: judgedSentences(criteriaSentence),
  pii_leakage: leakSentences,
  sensitive_data_leakage: leakSentences,
};

// The score of each answer, where a question has several.
function severalAnswers(evaluator, values) {
  const metric = METRICS.find((each) => each.e === evaluator && each.primary)?.m ?? "score";
  return `${metric} of each answer: ${values.map((each) => (typeof each === "number" ? number(each) : each.replaceAll("_", " "))).join(", ")}`;
}

// The sentences about a detail; none where it is unknown or has another form.
function sentencesOf(evaluator, detail) {
  if (detail === null || typeof detail !== "object") return [];
  if (Array.isArray(detail.answers)) return [severalAnswers(evaluator, detail.answers)];
  if (!SENTENCES[evaluator]) return [];
  try {
    return SENTENCES[evaluator](detail).filter((each) => each !== null);
  } catch (error) {
    if (error instanceof TypeError) return []; // written by another version of the evaluator
    throw error;
  }
}
