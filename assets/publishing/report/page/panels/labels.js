// Labels that stay in the browser until they are downloaded as the file that `labels import` reads.

const LABELS_KEY = `scoreline-labels:${PAGE.benchmark}`;
const QUARTERS = [0, 0.25, 0.5, 0.75, 1];

// Browsers may refuse to store anything for a page; the labels then last as long as it is open.
function storedLabels() {
  try {
    const found = JSON.parse(localStorage.getItem(LABELS_KEY) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

function storeLabels(labels) {
  try {
    localStorage.setItem(LABELS_KEY, JSON.stringify(labels));
  } catch {
    announce("This browser stores nothing for this page: download your labels before you close it.");
  }
}

// FNV-1a: the same random order for all people, which depends on nothing but the names.
function labelHash(text) {
  let found = 2166136261;
  for (const byte of new TextEncoder().encode(text)) found = Math.imul(found ^ byte, 16777619);
  return found >>> 0;
}

// The values that people choose from; none where they write a number.
function labelChoices(metric, values) {
  const [low, high] = [metric.low, metric.high];
  if (low === 0 && high === 1) return values.every((value) => value === 0 || value === 1) ? [0, 1] : QUARTERS;
  const isScale = Number.isInteger(low) && Number.isInteger(high) && high - low < 10;
  return isScale ? Array.from({ length: high - low + 1 }, (_, at) => low + at) : [];
}

// All scored answers in their order: systems in turn, those of each in a random order.
async function samplesToLabel(metric) {
  const table = await scoreMatrix(metric.e);
  const rows = await questions();
  const ofSystem = PAGE.systems.map((system, s) => {
    const scored = rows.filter(({ at }) => CODES[table.code(metric.m, at, s)] === "scored");
    const drawn = scored.map((row) => ({
      ...row,
      system,
      value: table.value(metric.m, row.at, s),
      key: labelHash(`${metric.title}\n${system}\n${row.id}`),
    }));
    return sorted(drawn, (each) => each.key, false);
  });
  const longest = Math.max(0, ...ofSystem.map((each) => each.length));
  return Array.from({ length: longest }, (_, at) => ofSystem.flatMap((each) => each[at] ?? [])).flat();
}

function startLabels() {
  const [select, annotator, place, undo, save] = ["metric", "annotator", "sample", "undo", "download"].map((part) => byId(`label-${part}`));
  if (!fillSampleMetricSelect(select)) return;
  let labels = storedLabels();
  let started = null; // metric, samples, values to choose from, who labels

  const isOwn = (label) => label.annotator === started.annotator && label.metric === started.metric.m && label.evaluator === started.metric.e;

  function showCount() {
    byId("label-count").textContent = labels.length === 1 ? "1 label in this browser" : `${labels.length} labels in this browser`;
    save.disabled = labels.length === 0;
    undo.disabled = !started || !labels.some(isOwn);
  }

  function give(each, value) {
    const label = { benchmark: PAGE.benchmark, system: each.system, question_id: each.id, evaluator: started.metric.e, metric: started.metric.m, value, annotator: started.annotator };
    labels = [...labels, label];
    storeLabels(labels);
    announce(`Label ${value} is kept in this browser.`);
    next();
  }

  function buttons(each) {
    const keys = started.choices.every(Number.isInteger) ? started.choices : started.choices.map((_, at) => at + 1);
    const made = started.choices.map((value, at) =>
      el("button", { type: "button", "data-key": keys[at], onclick: () => give(each, value) }, el("kbd", keys[at]), ` ${value}`),
    );
    const { low, high } = started.metric;
    const other = el("input", { type: "number", step: "any", min: low, max: high, required: true });
    const form = el("form", { class: "controls" }, made, el("label", "Another value ", other), el("button", "Keep"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      give(each, other.valueAsNumber);
    });
    return form;
  }

  async function next() {
    showCount();
    const done = new Set(labels.filter(isOwn).map((label) => `${label.system}\n${label.question_id}`));
    const each = started.samples.find((found) => !done.has(`${found.system}\n${found.id}`));
    const title = el("h3", started.metric.title);
    if (!each) {
      place.replaceChildren(title, el("p", `All ${started.samples.length} answers have your label.`));
      return;
    }
    const found = await sample(each.at);
    const answer = found.answers.find((given) => given.system === each.system);
    const text = el("div", el("h4", "Answer"), prose(answer.answer), answer.label === null ? null : el("p", "chose ", name(answer.label)));
    const cited = answer.cited === null ? "" : el("div", el("h4", "Citations"), citedOf(answer, found));
    place.replaceChildren(title, el("p", started.metric.summary), questionPart(found), text, cited, contextsOf(answer, found) ?? "", buttons(each));
    place.focus({ preventScroll: true });
  }

  byId("label-start").addEventListener("submit", async (event) => {
    event.preventDefault();
    const metric = metricAt.get(select.value);
    const samples = await samplesToLabel(metric);
    started = { metric, samples, choices: labelChoices(metric, samples.map((each) => each.value)), annotator: annotator.value.trim() };
    next();
  });
  undo.addEventListener("click", () => {
    labels = labels.toSpliced(labels.findLastIndex(isOwn), 1);
    storeLabels(labels);
    next();
  });
  save.addEventListener("click", () => {
    const lines = labels.map((label) => `${JSON.stringify(label)}\n`);
    const address = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
    el("a", { href: address, download: "labels.jsonl" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  place.addEventListener("keydown", (event) => {
    if (event.target.tagName === "INPUT" || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    const button = place.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (button) event.preventDefault();
    button?.click();
  });
  showCount();
}

if (byId("labels")) startLabels();
