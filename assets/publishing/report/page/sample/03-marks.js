// Sentences marked in the text that contains them.

// Where sentences stand in a text, whatever the white space and case: {from, to, ...sentence}, without overlaps.
function findSentences(text, sentences) {
  const found = sentences.flatMap((sentence) => {
    const words = sentence.text.trim().split(/\s+/).filter(Boolean).map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
    const match = words.length ? new RegExp(words.join("\\s+"), "iu").exec(text) : null;
    return match ? [{ ...sentence, from: match.index, to: match.index + match[0].length }] : [];
  });
  found.sort((one, other) => one.from - other.from || other.to - one.to);
  return found.filter((each, at) => found.slice(0, at).every((before) => before.to <= each.from));
}

// A text with marked sentences, each followed by what its mark says; folded after the last one.
function markedProse(text, found) {
  if (!found.length) return prose(text);
  const box = el("div", { class: "prose", dir: "auto" });
  let end = 0;
  for (const { from, to, kind, note } of found) {
    box.append(text.slice(end, from), el("mark", { class: kind }, text.slice(from, to)), el("span", { class: "badge" }, note));
    end = to;
  }
  const rest = text.slice(end);
  box.append(rest.length > FOLD ? prose(rest, "span") : rest);
  return box;
}

// The sentences that an answer cites, and those that it should have cited, with what to say of them.
function sourceSentences(answer, sample) {
  const [cited, gold] = [new Set(answer.cited ?? []), new Set(sample.gold_sentences ?? [])];
  return (sample.sentences ?? []).filter(({ id }) => cited.has(id) || gold.has(id)).map(({ id, text }) => {
    const isEvidence = gold.has(id) ? "evidence" : sample.gold_sentences ? "not evidence" : null;
    const parts = [cited.has(id) ? "cited" : "not cited", isEvidence].filter(Boolean);
    return { id, text, kind: cited.has(id) ? "cited" : "evidence", note: `${id}: ${parts.join(", ")}` };
  });
}

// The statements of an answer that evaluators found without support: {text, evaluators}.
function unsupportedOf(answer) {
  const statements = new Map();
  for (const { e: evaluator, d } of answer.grades ?? []) {
    const detail = d === null ? null : parsed(d);
    const found = { faithfulness: detail?.unsupported, trace: Object.values(detail?.unsupported_sentences ?? {}) }[evaluator];
    for (const text of Array.isArray(found) ? found : []) statements.set(text, [...(statements.get(text) ?? []), evaluator]);
  }
  return [...statements].filter(([text]) => typeof text === "string").map(([text, evaluators]) => ({ text, evaluators }));
}

// An answer with its unsupported statements: marked where they stand in it, otherwise listed below.
function supportedText(answer) {
  const statements = unsupportedOf(answer);
  const says = ({ evaluators }) => `not supported: ${evaluators.join(", ")}`;
  const found = findSentences(answer.answer, statements.map((each) => ({ ...each, kind: "unsupported", note: says(each) })));
  const others = statements.filter((each) => !found.some(({ text }) => text === each.text));
  const list = others.map((each) => el("li", el("span", { class: "unsupported", dir: "auto" }, each.text), " ", el("span", { class: "badge" }, says(each))));
  return [markedProse(answer.answer, found), list.length ? [el("p", { class: "fine" }, "Statements in other words that the passages do not support:"), el("ul", list)] : null];
}
