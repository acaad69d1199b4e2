// The dialog with one question.

let shown = { at: 0, systems: [], list: null };
let openedFrom = null;
let isLeaving = null; // until Back has removed the question from the address
let heatMapList = null; // the questions as the heat map shows them
const dialog = byId("sample");

// The address of this page changes with its contents, that of the first page does not.
function permanentAddress(id) {
  return `../../index.html#${encodeURIComponent(PAGE.benchmark)}/${encodeURIComponent(id)}`;
}

function fact(title, value) {
  return value === null || value === undefined || value === "" ? null : [el("dt", title), el("dd", value)];
}

// A question with what is known to be right; with its id, also its permanent link.
function questionPart(sample, id) {
  const gold = (sample.gold_sentences || []).map((id) => {
    const text = (sample.sentences || []).find((each) => each.id === id)?.text;
    return el("li", name(id), " ", text === undefined ? null : prose(text, "span"));
  });
  const tags = Object.entries(sample.tags || {}).map(([key, value]) => `${key}=${value}`);
  const expected = (sample.expected || []).map((text) => el("li", prose(text, "span")));
  const choices = (sample.choices || []).map((text, at) =>
    el("li", { class: at === sample.correct ? "right" : null }, prose(text, "span"), " ", at === sample.correct ? bestBadge("right") : null),
  );
  return el(
    "div",
    { class: "question" },
    prose(sample.question, "p"),
    el(
      "dl",
      fact("Expected", expected.length ? el("ul", expected) : null),
      fact("Right class", sample.label === null ? null : name(sample.label)),
      fact("Options", choices.length ? el("ol", { class: "choices" }, choices) : null),
      fact("Document", sample.doc === null ? null : name(sample.doc)),
      fact("Relevant", sample.gold_docs ? name(sample.gold_docs.join(", ")) : null),
      fact("Evidence", gold.length ? el("ul", gold) : null),
      fact("Noise", sample.noise),
      fact("Tags", tags.length ? name(tags.join(", ")) : null),
      Object.entries(sample.more ?? {}).map(([title, value]) => fact(title, evidence(value))),
      id === undefined ? null : fact("Permanent link", el("a", { href: permanentAddress(id) }, "this question in later reports too")),
      sample.rubric ? fact("Rubric", details("show", false, evidence(parsed(sample.rubric)))) : null,
    ),
  );
}

// A link that opens a question, with the start of its text. `list()` returns the questions around it.
function questionLink(row, systems, list) {
  return [
    linkButton(name(row.id), () => openSample(row.at, systems, list())),
    el("span", { class: "snippet", dir: "auto" }, row.text),
  ];
}

// Open a question by its id.
async function openQuestion(id, systems) {
  const all = await questions();
  const known = knownName(id, Array.from(all, (question) => question.id));
  const found = all.find((question) => question.id === known);
  if (found) return openSample(found.at, systems);
  setState({ q: null });
  return announce("The report does not show this question.");
}

// Open a question with some systems. Previous and Next follow the list; without one, the heat map.
async function openSample(at, systems, list = null) {
  await isLeaving;
  const wanted = { at, systems: systems.length ? systems : shown.systems, list };
  shown = wanted;
  const isNew = !dialog.open && state.q === null;
  if (!dialog.open) {
    openedFrom = document.activeElement;
    dialog.showModal();
  }
  const body = byId("sample-body");
  try {
    const [found, all, people] = await Promise.all([sample(at), questions(), labels()]);
    if (shown !== wanted) return; // the reader has gone on
    shown.systems = systemsToShow(found);
    setState({ q: all[at].id, systems: shown.systems }, isNew);
    body.replaceChildren(questionPart(found, all[at].id), chooser(found, at, people), answersPart(found, at, people));
    body.scrollTop = 0;
    byId("sample-title").replaceChildren("Question ", name(all[at].id), el("span", { class: "fine" }));
  } catch (error) {
    body.replaceChildren(el("p", { class: "warn" }, error.message));
  }
  showPlace();
}

// Show the place of the question among those that Previous and Next walk through.
function showPlace() {
  const place = around().indexOf(shown.at);
  const text = byId("sample-title").querySelector(".fine");
  if (text) text.textContent = place < 0 ? "" : ` ${count(place + 1)} of ${count(around().length)}`;
  byId("sample-back").disabled = neighbour(-1) === undefined;
  byId("sample-next").disabled = neighbour(1) === undefined;
}

// The questions that Previous and Next walk through.
function around() {
  return shown.list ?? heatMapList ?? Array.from({ length: PAGE.n_shown }, (_, at) => at);
}

function neighbour(step) {
  const place = around().indexOf(shown.at);
  return place < 0 ? around()[0] : around()[place + step];
}

function walk(step) {
  const at = neighbour(step);
  if (at !== undefined) openSample(at, [], shown.list);
}

// The systems to show: the chosen ones, filled up to two with the best others.
function systemsToShow(found) {
  const available = found.answers.map((answer) => answer.system);
  const chosen = shown.systems.filter((system) => available.includes(system));
  const best = PAGE.order.filter((system) => available.includes(system) && !chosen.includes(system));
  return chosen.length >= 2 ? chosen : [...chosen, ...best].slice(0, 2);
}

// Boxes to choose systems; the answers stand in the order of choice.
function chooser(found, at, people) {
  const boxes = PAGE.order
    .filter((system) => found.answers.some((answer) => answer.system === system))
    .map((system) => {
      const box = el("input", { type: "checkbox", value: system });
      box.checked = shown.systems.includes(system);
      box.addEventListener("change", () => {
        const others = shown.systems.filter((each) => each !== system);
        shown.systems = box.checked ? [...others, system] : others;
        setState({ systems: shown.systems });
        byId("answers").replaceWith(answersPart(found, at, people));
      });
      return el("label", box, " ", name(system));
    });
  return el("fieldset", { id: "chosen" }, el("legend", "Systems to compare"), boxes);
}

byId("sample-close").addEventListener("click", () => dialog.close());
byId("sample-back").addEventListener("click", () => walk(-1));
byId("sample-next").addEventListener("click", () => walk(1));

const STEPS = { ArrowLeft: -1, k: -1, ArrowRight: 1, j: 1 };

// At the first and the last question a button is disabled, and the document has the focus.
document.addEventListener("keydown", (event) => {
  if (!dialog.open) return;
  const step = STEPS[event.key];
  // Arrows scroll a wide table that has the focus.
  const isTaken = event.key.startsWith("Arrow") && event.target.closest(".wide:not(.fits)");
  if (!step || isTaken || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  walk(step);
});

// Closing goes back to the address before, unless the page was opened with the question.
dialog.addEventListener("close", () => {
  if (state.q !== null && history.state?.isOpened) {
    isLeaving = new Promise((resolve) => window.addEventListener("popstate", resolve, { once: true }));
    history.back();
  } else if (state.q !== null) setState({ q: null });
  byId("sample-body").replaceChildren();
  openedFrom?.focus();
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
