// Which questions a filter leaves: by their scores and labels, and by texts.

// From which value an answer passes: the threshold of the leaderboard or, as for the agreement with
// labels, the middle of the scale. Null where there is neither.
function passLimit(metric) {
  if (metric.threshold !== null) return metric.threshold;
  return metric.low === null || metric.high === null ? null : (metric.low + metric.high) / 2;
}

// Scores in data files are 32-bit numbers: so must be the limit that they may equal.
function passes(metric, value, limit = passLimit(metric)) {
  return metric.best === "high" ? value >= Math.fround(limit) : value <= Math.fround(limit);
}

function limitText(metric) {
  const limit = passLimit(metric);
  if (limit === null) return `${metric.title} has neither a threshold nor a scale with two ends: no answer is wrong by it.`;
  const side = metric.best === "high" ? "below" : "above";
  const origin = metric.threshold === null ? "the middle of its scale, as it has no threshold" : "the threshold of the leaderboard";
  return `Wrong: ${metric.title} ${side} ${limit}, ${origin}; all wrong: no score passes; only one is wrong: all other scores pass.`;
}

function meaningText(metric) {
  const people = PAGE.labelled.includes(metric.at) ? " Judge and people disagree: the mean label passes and the score does not, or the reverse." : "";
  return `${limitText(metric)} Failed: a system failed to answer. Not scored: a system has no score by this metric.${people}`;
}

// The kinds of a question by the scores of all systems: `wrong` is the only system that is wrong, or -1.
function questionKinds(metric, table, at) {
  const limit = passLimit(metric);
  const kinds = { all_wrong: false, not_scored: false, disagreement: false, wrong: -1 };
  let [scored, wrong, last] = [0, 0, -1];
  for (let s = 0; s < PAGE.systems.length; s += 1) {
    const value = table.value(metric.m, at, s);
    if (Number.isNaN(value)) kinds.not_scored = true;
    else {
      scored += 1;
      if (limit !== null && !passes(metric, value, limit)) [wrong, last] = [wrong + 1, s];
    }
  }
  kinds.all_wrong = scored > 0 && wrong === scored;
  if (wrong === 1 && scored > 1) kinds.wrong = last;
  return kinds;
}

// Mark the questions whose label and score stand on different sides of the limit.
function markDisagreements(metric, rows, found) {
  for (const label of found) if (label.metric === metric.at && disagrees(metric, label)) rows[label.q].disagreement = true;
}

// Whether only one of the mean label and the score of the labelled answer passes.
function disagrees(metric, { label, value }) {
  const limit = passLimit(metric) ?? 0.5;
  return value !== null && passes(metric, Math.fround(value), limit) !== passes(metric, Math.fround(label), limit);
}

// The texts of all answers to a question, in one string: fast to search, and in little memory.
const BETWEEN = "\u0000";
const answersOf = new Map(); // by the position of the question; complete when `answersLoaded` is "yes"
let answersLoaded = "no";
const AT_ONCE = 4; // files

// Load the answers to all questions, which a search needs; say how far it is.
async function loadAnswers(say) {
  if (answersLoaded !== "no") return;
  answersLoaded = "loading";
  const files = Math.ceil(PAGE.n_shown / PAGE.per_file);
  let [next, done] = [0, 0];
  const sayLoaded = () => say(`Loading the answers: ${count(done)} of ${plural(files, "file")}`);
  sayLoaded();
  async function loadSome() {
    while (next < files) {
      const file = next;
      next += 1;
      const rows = await loadSamples(file, false);
      rows.forEach((row, at) => answersOf.set(file * PAGE.per_file + at, searchedTexts(row)));
      done += 1;
      sayLoaded();
    }
  }
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, loadSome));
    answersLoaded = "yes";
  } catch (error) {
    answersLoaded = "no";
    throw error;
  }
}

function searchedTexts({ known, answers }) {
  const systems = answers.map((each) => each.system);
  const texts = [known.question ?? "", ...answers.map(({ answer, label }) => [answer, label].filter((text) => text !== null).join(" "))];
  const text = texts.join(BETWEEN);
  return { systems, text, lower: text.toLowerCase() };
}

const AROUND = 40; // characters before and after a text that was found

// Where an answer contains the text: the system, and the words around it.
function foundIn(at, term) {
  const { systems, text, lower } = answersOf.get(at) ?? {};
  const start = lower?.indexOf(term, lower.indexOf(BETWEEN) + 1) ?? -1;
  if (start < 0) return null;
  const whole = text.length === lower.length ? text : lower; // a few letters are longer in lower case
  const system = systems[whole.slice(0, start).split(BETWEEN).length - 2];
  const [from, to] = [whole.lastIndexOf(BETWEEN, start) + 1, whole.indexOf(BETWEEN, start)];
  const end = to < 0 ? whole.length : to;
  const [first, last] = [Math.max(from, start - AROUND), Math.min(end, start + term.length + AROUND)];
  const words = [first > from ? "…" : "", whole.slice(first, start), el("mark", whole.slice(start, start + term.length)), whole.slice(start + term.length, last), last < end ? "…" : ""];
  return el("span", { class: "snippet found" }, name(system), ": ", el("span", { dir: "auto" }, words));
}
