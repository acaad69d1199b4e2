// Data: JSON in the page, and script files beside it.

const PAGE = JSON.parse(byId("page-data").textContent);
const waiting = new Map();
const loaded = new Map();

// Data files call this with their content; see `load`.
window.scoreline = {
  give(key, text) {
    const done = waiting.get(key);
    if (done) done.resolve(text);
  },
};

async function decompress(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// Load the bytes of a data file. Scripts, unlike fetch, also work from a file: address.
function load(key) {
  if (!loaded.has(key)) {
    const text = new Promise((resolve, reject) => {
      waiting.set(key, { resolve, reject });
      const script = el("script", { src: `data/${key}.js` });
      script.onerror = () => reject(new Error(`The file data/${key}.js beside this page is missing.`));
      document.head.append(script);
    });
    loaded.set(key, text.then(decompress).finally(() => waiting.delete(key)));
  }
  return loaded.get(key);
}

async function loadJson(key) {
  return JSON.parse(new TextDecoder().decode(await load(key)));
}

const METRICS = PAGE.metrics.map((row, at) => ({ ...row, at, title: `${row.e}.${row.m}` }));
const SHOWN = METRICS.filter((metric) => (metric.primary || metric.headline) && metric.measured);
const HEADLINE = METRICS.find((metric) => metric.headline);
const metricAt = new Map(METRICS.map((metric) => [metric.title, metric]));

// Rows of the leaderboard as objects.
function boardRows(rows) {
  return rows.map((row) => {
    const made = Object.fromEntries(PAGE.columns.map((column, at) => [column, row[at]]));
    made.name = PAGE.systems[made.system];
    made.of = METRICS[made.metric];
    return made;
  });
}

const boards = new Map([["all", Promise.resolve(boardRows(PAGE.board))]]);

function board(slice) {
  if (!boards.has(slice)) {
    const at = PAGE.slices.indexOf(slice);
    boards.set(slice, loadJson(`slice-${at}`).then(boardRows));
  }
  return boards.get(slice);
}

let questionsLoaded = null;

function questions() {
  questionsLoaded ||= loadJson("questions").then((rows) =>
    rows.map(([id, text, hardness], at) => ({ id, text, hardness, at })),
  );
  return questionsLoaded;
}

// The scores of an evaluator: value(metric, question, system) and code(...).
async function scoreMatrix(evaluator) {
  const { metrics } = PAGE.evaluators.find((each) => each.name === evaluator);
  const bytes = await load(`scores-${evaluator}`);
  const [nq, ns] = [PAGE.n_shown, PAGE.systems.length];
  const size = metrics.length * nq * ns;
  const values = new Float32Array(bytes, 0, size);
  const codes = new Uint8Array(bytes, 4 * size, size);
  const index = (metric, q, s) => (metrics.indexOf(metric) * nq + q) * ns + s;
  return {
    value: (metric, q, s) => values[index(metric, q, s)],
    code: (metric, q, s) => codes[index(metric, q, s)],
  };
}

async function sample(at) {
  const file = Math.floor(at / PAGE.per_file);
  const rows = await loadJson(`answers-${file}`);
  const { known, sentences, texts, answers } = rows[at % PAGE.per_file];
  return { ...known, sentences, texts, answers: answers.map(({ given, ...rest }) => ({ ...given, ...rest })) };
}

const CODES = [...PAGE.statuses, "failed"];
const SIGNS = {
  not_applicable: "n/a",
  undefined: "undef.",
  parse_failure: "parse failure",
  judge_error: "judge error",
  target_error: "failed",
};
const MEANINGS = {
  scored: "scored",
  not_applicable: "an input that the metric needs is missing",
  undefined: "the formula has no value here",
  parse_failure: "the judge's reply could not be parsed",
  judge_error: "the call to the judge failed",
  target_error: "the system failed to answer",
  failed: "the system failed to answer and gets the worst value",
};
