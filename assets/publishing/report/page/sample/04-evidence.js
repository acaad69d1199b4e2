// The evidence and sources of one answer.

const SHORT = 12; // characters up to which texts are shown as a comma-separated list

function evidence(value) {
  if (value === null) return el("span", { class: "none" }, "none");
  if (typeof value === "string") return prose(value, "span");
  if (typeof value === "number" && !Number.isInteger(value)) return el("span", { title: value }, number(value, 4));
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) {
    if (!value.length) return el("span", { class: "none" }, "none");
    const flat = value.every((each) => each === null || typeof each === "number");
    if (flat) return value.map((each) => (each === null ? "none" : Number.isInteger(each) ? each : number(each, 4))).join(", ");
    const keys = value.every((each) => typeof each === "string" && each !== "" && each.length <= SHORT);
    if (keys) return value.map((each, at) => [at ? ", " : "", name(each)]);
    return el("ol", { class: "evidence" }, value.map((each) => el("li", evidence(each))));
  }
  const rows = Object.entries(value).map(([key, each]) => [el("dt", key.replaceAll("_", " ")), el("dd", evidence(each))]);
  return el("dl", { class: "evidence" }, rows);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text; // not JSON: shown unchanged
  }
}

function details(title, open, ...children) {
  return el("details", { open }, el("summary", title), ...children);
}

// What an evaluator found: sentences, and the values behind them.
function evidenceCell(evaluator, text) {
  if (text === undefined) return null;
  const detail = parsed(text);
  const said = sentencesOf(evaluator, detail).map((each) => (Array.isArray(each) ? el("ul", each.map((quote) => el("li", prose(String(quote), "span")))) : el("p", { dir: "auto" }, each)));
  return [said, details("details", false, evidence(detail))];
}

function contextsOf(answer, sample) {
  const n = Math.max(...["contexts", "docs", "chunks", "scores"].map((key) => (answer[key] || []).length));
  if (answer.contexts === null && answer.docs === null) return null;
  if (n === 0) return el("p", { class: "none" }, "No passages retrieved.");
  const gold = new Set(sample.gold_docs || []);
  const sentences = sourceSentences(answer, sample);
  let marks = 0;
  const items = Array.from({ length: n }, (_, at) => {
    const doc = answer.docs ? answer.docs[at] : null;
    const text = answer.contexts?.[at] ?? null;
    const labels = [
      doc ? name(doc) : null,
      answer.chunks && answer.chunks[at] ? el("span", { class: "fine" }, " ", name(answer.chunks[at])) : null,
      doc && gold.has(doc) ? bestBadge("relevant") : null,
      answer.scores && answer.scores[at] ? el("span", { class: "fine" }, ` ${number(Number(answer.scores[at]))}`) : null,
    ];
    const found = text === null ? [] : findSentences(text, sentences);
    marks += found.length;
    return el("li", labels, text === null ? null : markedProse(text, found));
  });
  const title = `${plural(n, "passage")}${marks ? `, ${plural(marks, "sentence")} marked` : ""}`;
  return details(title, false, el("ol", { class: "contexts" }, items));
}

function citedOf(answer, sample) {
  if (answer.cited === null) return null;
  const gold = new Set(sample.gold_sentences || []);
  const texts = new Map((sample.sentences || []).map((each) => [each.id, each.text]));
  if (!answer.cited.length) return el("p", { class: "none" }, "No citations.");
  const items = answer.cited.map((id) => {
    const badge = gold.has(id) ? bestBadge("evidence") : el("span", { class: "badge" }, "not evidence");
    return el("li", name(id), " ", sample.gold_sentences ? badge : null, texts.has(id) ? prose(texts.get(id)) : null);
  });
  return el("ul", { class: "contexts" }, items);
}

function choicesOf(answer, sample) {
  if (!answer.logprobs) return null;
  const logprobs = answer.logprobs.map((text) => (text === null ? NaN : text === "-inf" ? -Infinity : Number(text)));
  const most = Math.max(...logprobs.filter((each) => !Number.isNaN(each)));
  const rows = logprobs.map((logprob, at) => {
    const share = Math.exp(logprob);
    const right = at === sample.correct;
    const bar = el("meter", { min: 0, max: 1, value: share || 0, "aria-label": `option ${at + 1}` });
    return el(
      "li",
      { class: right ? "right" : null },
      (sample.choices || [])[at] === undefined ? `option ${at + 1}` : prose(sample.choices[at], "span"),
      " ",
      right ? bestBadge("right") : null,
      logprob === most ? el("span", { class: "badge" }, "likeliest") : null,
      bar,
      el("span", { class: "num" }, ` ${number(share)}`),
    );
  });
  return el("ol", { class: "choices" }, rows);
}
