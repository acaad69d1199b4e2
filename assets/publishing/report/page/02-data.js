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

const UNSUPPORTED = "This browser cannot read the compressed data of this page, as it has no DecompressionStream. Browsers have it since 2023.";
const canDecompress = "DecompressionStream" in window;
if (!canDecompress) byId("main").prepend(el("p", { class: "warn", role: "alert" }, UNSUPPORTED));

async function decompress(text) {
  if (!canDecompress) throw new Error(UNSUPPORTED);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at += 1) bytes[at] = raw.charCodeAt(at); // ten times as fast as Uint8Array.from
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// Load the bytes of a data file. Scripts, unlike fetch, also work from a file: address.
function load(key) {
  if (!loaded.has(key)) {
    const text = new Promise((resolve, reject) => {
      waiting.set(key, { resolve, reject });
      const script = el("script", { src: `data/${key}.js` });
      script.onload = () => script.remove(); // its text is as large as the file
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
    rows.map(([id, text, hardness, tags, failed], at) => ({ id, text, hardness, tags: tags ?? [], failed: failed > 0, at })),
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

// The labels of people: the mean label of a sample, how many there are, and the score of that answer.
let labelsLoaded = null;

function labels() {
  labelsLoaded ||= !PAGE.labelled.length ? Promise.resolve([]) : loadJson("labels").then((rows) =>
    rows.map(([metric, q, s, label, n, value]) => ({ metric, q, s, label, n, value })),
  );
  return labelsLoaded;
}

// The rows of a table that is stored by column. A column is a list of values; of lists their lengths
// (-1 where there is none) and all their values; or null where there is no value at all.
function tableRows(columns, length) {
  const all = Object.entries(columns).map(([key, column]) => [key, columnValues(column)]);
  return Array.from({ length }, (_, at) => Object.fromEntries(all.map(([key, values]) => [key, values === null ? null : values[at]])));
}

function columnValues(column) {
  if (column === null || Array.isArray(column)) return column;
  let end = 0;
  return column.lengths.map((length) => (length < 0 ? null : column.values.slice(end, (end += length))));
}

// The tables of a file with some questions and all answers. Who reads all files does not keep them.
async function loadTables(file, isKept = true) {
  const key = `answers-${file}`;
  const isNew = !loaded.has(key);
  const tables = await loadJson(key);
  if (isNew && !isKept) loaded.delete(key);
  return { ...tables, answers: tableRows(tables.answers, tables.answers.system.length) };
}

// The questions of a file, with `answers` to each: without scores, and with passages as numbers.
async function loadSamples(file, isKept = true) {
  const { known, sentences, answers } = await loadTables(file, isKept);
  const samples = known.map((each, at) => ({ known: each, sentences: sentences[at], answers: [] }));
  for (const answer of answers) samples[answer.question].answers.push(answer);
  return samples;
}

// A question with what is known about it and all answers, with scores, judge replies and passages.
async function sample(at) {
  const place = at % PAGE.per_file;
  const { known, sentences, answers, grades, judged } = await loadTables(Math.floor(at / PAGE.per_file));
  const scores = Object.entries(grades).map(([e, columns]) => tableRows(columns, answers.length).map((row) => ({ e, ...row })));
  const calls = tableRows(judged, judged.system?.length ?? 0).filter((call) => call.question === place);
  const rows = answers.map((answer, row) => ({ answer, row })).filter(({ answer }) => answer.question === place);
  const passages = await loadPassages(rows.flatMap(({ answer }) => answer.contexts ?? []));
  const found = rows.map(({ answer, row }) => ({
    ...answer,
    contexts: answer.contexts?.map((number) => (number === null ? null : passages.get(number))) ?? null,
    grades: scores.map((each) => each[row]).filter((grade) => grade.v !== null),
    judged: calls.filter((call) => call.system === answer.system),
  }));
  return { ...known[place], sentences: sentences[place], answers: found };
}

const passageFiles = new Map();

// The texts of passages by their numbers; answers to all questions share the files of passages.
async function loadPassages(numbers) {
  const starts = await loadJson("passages");
  const textOf = async (number) => {
    const file = starts.findLastIndex((start) => start <= number);
    if (!passageFiles.has(file)) passageFiles.set(file, loadJson(`passages-${file}`));
    return (await passageFiles.get(file))[number - starts[file]];
  };
  const wanted = [...new Set(numbers)].filter((number) => number !== null);
  return new Map(await Promise.all(wanted.map(async (number) => [number, await textOf(number)])));
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
