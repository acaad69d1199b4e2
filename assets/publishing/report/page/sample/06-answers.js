// The answers to a question as one table: a column for each system, a row for each thing to compare.

function answersPart(found, at, people) {
  const answers = shown.systems.map((system) => found.answers.find((answer) => answer.system === system)).filter(Boolean);
  const head = el("tr", el("td", { class: "pinned" }), answers.map((answer) => el("th", { scope: "col" }, name(answer.system))));
  const row = (title, cellOf) => answerRow(title, answers.map(cellOf));
  const first = [
    row("Answer", answerText),
    row("Compared with the expected answer", (answer) => differencePart(answer, found.expected)),
    row("Probabilities of the options", (answer) => choicesOf(answer, found)),
    ...scoreRows(answers, true),
    row("Labels of people", (answer) => labelsOf(answer, at, people)),
    row("Time and cost", spentPart),
  ];
  const last = [
    row("Citations", (answer) => citedOf(answer, found)),
    ...evidenceRows(answers),
    row("Judge", (answer) => judgedOf(answer, at)),
    row("Retrieved", (answer) => contextsOf(answer, found)),
    ...otherRows(answers),
  ];
  const bodies = [el("tbody", first.filter(Boolean)), ...folded("Other scores", scoreRows(answers, false), answers.length + 1), el("tbody", last.filter(Boolean))];
  const table = el("table", { class: "answers", style: `--systems: ${answers.length}` }, el("thead", head), answers.length ? bodies : null);
  return el("div", { id: "answers" }, scrollable(table, "answers side by side"));
}

// A row of cells; none if all are empty.
function answerRow(title, cells, isNumber = false) {
  if (cells.every((each) => each === null)) return null;
  const made = cells.map((each) => el("td", { class: isNumber ? "score" : null }, each ?? el("span", { class: "none" }, "none")));
  return el("tr", el("th", { scope: "row" }, title), made);
}

// The mean labels of an answer, and whether the scores agree with them.
function labelsOf(answer, at, people) {
  const own = people.filter(({ q, s }) => q === at && PAGE.systems[s] === answer.system);
  const lines = own.map((label) => {
    const metric = METRICS[label.metric];
    const agrees = label.value === null ? "" : disagrees(metric, label) ? ", the score disagrees" : ", the score agrees";
    return el("p", `${metric.title}: ${number(label.label)}${agrees}`, el("span", { class: "fine" }, ` (${plural(label.n, "label")})`));
  });
  return lines.length ? lines : null;
}

function answerText(answer) {
  const parts = [
    answer.answers > 1 ? el("p", { class: "fine" }, `the first of ${count(answer.answers)} answers; the scores are the means of all`) : null,
    answer.not_asked ? el("p", { class: "fine" }, "not asked") : null,
    answer.error === null ? null : el("p", { class: "warn", dir: "auto" }, `failed to answer: ${answer.error}`),
    answer.answer === null ? null : supportedText(answer),
    answer.label === null ? null : el("p", "chose ", el("strong", name(answer.label))),
  ].filter(Boolean);
  return parts.length ? parts : null;
}

// The scores of an answer by metric.
function gradesOf(answer) {
  const found = new Map();
  for (const grade of answer.grades || []) {
    const { metrics } = PAGE.evaluators.find((each) => each.name === grade.e);
    grade.v.forEach((value, at) => found.set(`${grade.e}.${metrics[at]}`, { value, status: grade.s?.[at] ?? "scored", reason: grade.r?.[at] ?? null }));
  }
  return found;
}

// A row for each metric; a score that is better than all others has a badge.
function scoreRows(answers, isPrimary) {
  const grades = answers.map(gradesOf);
  const metrics = METRICS.filter((metric) => metric.primary === isPrimary && grades.some((each) => each.has(metric.title)));
  return metrics.map((metric) => {
    const own = grades.map((each) => each.get(metric.title));
    const values = own.map((each) => each?.value ?? null).filter((value) => value !== null);
    const best = metric.best === "high" ? Math.max(...values) : Math.min(...values);
    const isAlone = values.length > 1 && values.filter((value) => value === best).length === 1;
    const cells = own.map((each) => (each ? [number(each.value), isAlone && each.value === best ? [" ", bestBadge(answers.length > 2 ? "best" : "better")] : null, whyText(each)] : null));
    return answerRow(el("span", { title: metric.summary }, breakable(metric.title), ` ${ARROW[metric.best]}`), cells, true);
  });
}

// Why there is no score, or how a score came about.
function whyText({ value, status, reason }) {
  const isFailed = reason === "target_error";
  const parts = [
    value === null ? MEANINGS[status] || status : isFailed ? MEANINGS.failed : null,
    reason && !isFailed ? reason.replaceAll("_", " ") : null,
  ].filter(Boolean);
  return parts.length ? el("p", { class: "fine", dir: "auto" }, parts.join(": ")) : null;
}

function evidenceRows(answers) {
  const given = answers.map((answer) => new Map((answer.grades || []).filter((grade) => grade.d !== null).map((grade) => [grade.e, grade.d])));
  return PAGE.evaluators
    .filter(({ name: evaluator }) => given.some((each) => each.has(evaluator)))
    .map(({ name: evaluator }) => answerRow(breakable(evaluator), given.map((each) => evidenceCell(evaluator, each.get(evaluator)))));
}

// A row for each other field of the answers.
function otherRows(answers) {
  const given = answers.map((answer) => (answer.more ? parsed(answer.more) : {}));
  const titles = [...new Set(given.flatMap((each) => Object.keys(each)))];
  return titles.map((title) => answerRow(title, given.map((each) => (each[title] === undefined ? null : evidence(each[title])))));
}

// Rows that a button shows and hides.
function folded(title, rows, width) {
  if (!rows.length) return [];
  const body = el("tbody", { hidden: true }, rows);
  const button = linkButton(`${title} (${rows.length})`, () => {
    body.hidden = !body.hidden;
    button.setAttribute("aria-expanded", !body.hidden);
  });
  button.setAttribute("aria-expanded", "false");
  return [el("tbody", el("tr", el("th", { scope: "row", colspan: width }, button))), body];
}
