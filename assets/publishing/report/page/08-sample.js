// One question with its answers side by side.

let shown = { at: 0, systems: [] };
let openedFrom = null;
const dialog = byId("sample");

function fact(title, value) {
  return value === null || value === undefined || value === "" ? null : [el("dt", title), el("dd", value)];
}

function questionPart(sample) {
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
      sample.rubric ? fact("Rubric", details("show", false, evidence(parsed(sample.rubric)))) : null,
    ),
  );
}

function answerPart(answer, sample) {
  const spent = [
    answer.latency === null ? null : `${number(Number(answer.latency))} s`,
    answer.cost === null ? null : `$${number(Number(answer.cost), 5)}`,
  ].filter(Boolean);
  return el(
    "article",
    { class: "answer" },
    el("h4", name(answer.system), spent.length ? el("span", { class: "fine" }, ` ${spent.join(", ")}`) : null),
    answer.not_asked ? el("p", { class: "fine" }, "not asked") : null,
    answer.error === null ? null : el("p", { class: "warn", dir: "auto" }, `failed to answer: ${answer.error}`),
    answer.answer === null ? null : prose(answer.answer),
    answer.label === null ? null : el("p", "chose ", el("strong", name(answer.label))),
    choicesOf(answer, sample),
    scoresOf(answer),
    citedOf(answer, sample),
    evidenceOf(answer),
    judgedOf(answer),
    contextsOf(answer, sample),
  );
}

// A link that opens a question, with the start of its text.
function questionLink(row, systems) {
  return [
    linkButton(name(row.id), () => openSample(row.at, systems)),
    el("span", { class: "snippet", dir: "auto" }, row.text),
  ];
}

// Open a question by its id.
async function openQuestion(id, systems) {
  const found = (await questions()).find((question) => question.id === id);
  if (found) openSample(found.at, systems);
  else announce("The report does not show this question.");
}

async function openSample(at, systems) {
  shown = { at, systems: systems.length ? systems : shown.systems };
  if (!dialog.open) {
    openedFrom = document.activeElement;
    dialog.showModal();
  }
  const body = byId("sample-body");
  try {
    const [found, all] = [await sample(at), await questions()];
    const wanted = systemsToShow(found);
    byId("sample-title").replaceChildren("Question ", name(all[at].id));
    body.replaceChildren(questionPart(found), chooser(found, wanted), answersPart(found, wanted));
    body.scrollTop = 0;
  } catch (error) {
    body.replaceChildren(el("p", { class: "warn" }, error.message));
  }
  byId("sample-back").disabled = at === 0;
  byId("sample-next").disabled = at === PAGE.n_shown - 1;
}

// The systems to show: the chosen ones, filled up to two with the best others.
function systemsToShow(found) {
  const available = found.answers.map((answer) => answer.system);
  const chosen = shown.systems.filter((system) => available.includes(system));
  const best = PAGE.order.filter((system) => available.includes(system) && !chosen.includes(system));
  return chosen.length >= 2 ? chosen : [...chosen, ...best].slice(0, 2);
}

function chooser(found, wanted) {
  const boxes = PAGE.order
    .filter((system) => found.answers.some((answer) => answer.system === system))
    .map((system) => {
      const box = el("input", { type: "checkbox", value: system });
      box.checked = wanted.includes(system);
      box.addEventListener("change", () => {
        const checked = [...document.querySelectorAll("#chosen input:checked")].map((each) => each.value);
        shown.systems = checked;
        document.querySelector("#answers").replaceWith(answersPart(found, checked));
      });
      return el("label", box, " ", name(system));
    });
  return el("fieldset", { id: "chosen" }, el("legend", "Systems to compare"), boxes);
}

function answersPart(found, wanted) {
  const answers = wanted.map((system) => found.answers.find((answer) => answer.system === system)).filter(Boolean);
  return el("div", { id: "answers", class: "answers" }, answers.map((answer) => answerPart(answer, found)));
}

byId("sample-close").addEventListener("click", () => dialog.close());
byId("sample-back").addEventListener("click", () => openSample(shown.at - 1, []));
byId("sample-next").addEventListener("click", () => openSample(shown.at + 1, []));
dialog.addEventListener("close", () => openedFrom?.focus());
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
