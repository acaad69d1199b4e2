// Data: what stands in the page, and what stands in files beside it.

const FACTS = JSON.parse(byId("facts").textContent);
const waiting = new Map();
const asked = new Map();

// The files beside the page call this with their content; see `ask`.
window.scoreline = {
  give(key, text) {
    const done = waiting.get(key);
    if (done) done.resolve(text);
  },
};

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// The bytes of a file beside the page. It is loaded as a script, which works from a disk as well.
function ask(key) {
  if (!asked.has(key)) {
    const text = new Promise((resolve, reject) => {
      waiting.set(key, { resolve, reject });
      const script = el("script", { src: `data/${key}.js` });
      script.onerror = () => reject(new Error(`the file data/${key}.js beside this page is missing`));
      document.head.append(script);
    });
    asked.set(key, text.then(unpacked).finally(() => waiting.delete(key)));
  }
  return asked.get(key);
}

async function askJson(key) {
  return JSON.parse(new TextDecoder().decode(await ask(key)));
}

const METRICS = FACTS.metrics.map((row, at) => ({ ...row, at, title: `${row.e}.${row.m}` }));
const metricAt = new Map(METRICS.map((metric) => [metric.title, metric]));

// Rows of the leaderboard as objects.
function boardRows(rows) {
  return rows.map((row) => {
    const made = Object.fromEntries(FACTS.columns.map((column, at) => [column, row[at]]));
    made.name = FACTS.systems[made.system];
    made.of = METRICS[made.metric];
    return made;
  });
}

const boards = new Map([["all", Promise.resolve(boardRows(FACTS.board))]]);

function board(slice) {
  if (!boards.has(slice)) {
    const at = FACTS.slices.indexOf(slice);
    boards.set(slice, askJson(`slice-${at}`).then(boardRows));
  }
  return boards.get(slice);
}

let questionsAsked = null;

function questions() {
  questionsAsked ||= askJson("questions").then((rows) =>
    rows.map(([id, text, hardness], at) => ({ id, text, hardness, at })),
  );
  return questionsAsked;
}

// The numbers of an evaluator: value(metric, question, system) and code(...).
async function grid(evaluator) {
  const { metrics } = FACTS.evaluators.find((each) => each.name === evaluator);
  const bytes = await ask(`grid-${evaluator}`);
  const [nq, ns] = [FACTS.n_shown, FACTS.systems.length];
  const size = metrics.length * nq * ns;
  const values = new Float32Array(bytes, 0, size);
  const codes = new Uint8Array(bytes, 4 * size, size);
  const place = (metric, q, s) => (metrics.indexOf(metric) * nq + q) * ns + s;
  return {
    value: (metric, q, s) => values[place(metric, q, s)],
    code: (metric, q, s) => codes[place(metric, q, s)],
  };
}

async function sample(at) {
  const chunk = Math.floor(at / FACTS.per_chunk);
  const rows = await askJson(`answers-${chunk}`);
  const { known, sentences, texts, answers } = rows[at % FACTS.per_chunk];
  return { ...known, sentences, texts, answers: answers.map(({ given, ...rest }) => ({ ...given, ...rest })) };
}

const CODES = [...FACTS.statuses, "failed"];
const SIGNS = {
  not_applicable: "n/a",
  undefined: "undef.",
  parse_failure: "unread",
  judge_error: "no judge",
  target_error: "failed",
};
const MEANINGS = {
  scored: "scored",
  not_applicable: "an input that the metric needs is absent",
  undefined: "the formula has no value here",
  parse_failure: "the judge's reply could not be read",
  judge_error: "the judge could not be asked",
  target_error: "the system failed to answer",
  failed: "the system failed to answer and takes the worst value",
};
