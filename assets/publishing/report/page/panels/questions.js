// The heat map of questions and systems; each score opens the answer behind it.

const COLOUR_STOPS = [[194, 65, 12], [243, 233, 220], [29, 95, 168]]; // worst, middle, best

function cellColours(quality) {
  const at = Math.min(1, Math.max(0, quality)) * 2;
  const [from, to] = at < 1 ? [COLOUR_STOPS[0], COLOUR_STOPS[1]] : [COLOUR_STOPS[1], COLOUR_STOPS[2]];
  const mixed = from.map((part, index) => Math.round(part + (to[index] - part) * (at < 1 ? at : at - 1)));
  // White text has more contrast on the dark ends of the scale.
  const isDarkCell = at < 0.092 || at > 1.8156;
  return { background: `rgb(${mixed.join(" ")})`, color: isDarkCell ? "#fff" : "#000" };
}

// The ends of a metric's scale, or the range of the means of its questions.
function scaleEnds(metric, rows) {
  let [low, high] = [Infinity, -Infinity];
  for (const { mean } of rows) if (mean !== null) [low, high] = [Math.min(low, mean), Math.max(high, mean)];
  return [metric.low ?? low, metric.high ?? high];
}

// How good a score is, from 0 to 1.
function quality(metric, [low, high], value) {
  const share = high > low ? (value - low) / (high - low) : 1;
  return metric.best === "high" ? share : 1 - share;
}

function cell(metric, scale, row, system, table) {
  const s = PAGE.systems.indexOf(system);
  const value = table.value(metric.m, row.at, s);
  const code = CODES[table.code(metric.m, row.at, s)];
  const known = !Number.isNaN(value);
  const shown = Math.abs(value) < 1000 ? value.toFixed(2) : number(value, 2);
  const text = known ? shown : SIGNS[code] || "none";
  const meaning = code === "failed" || !known ? `, ${MEANINGS[code] || "not scored"}` : "";
  const title = `${system}: ${text}${meaning}`;
  const button = linkButton(text, () => openSample(row.at, [system], heatMapList));
  button.className = code === "failed" ? "cell failed" : "cell";
  button.title = title;
  button.setAttribute("aria-label", `${row.id}, ${title}`);
  if (known) Object.assign(button.style, cellColours(quality(metric, scale, value)));
  return el("td", button);
}

// The questions with the mean and the spread of their scores, and the text that a filter searches.
async function heatRows(metric, table) {
  const systems = PAGE.systems.map((_, s) => s);
  return (await questions()).map((question) => {
    let [n, sum, low, high] = [0, 0, Infinity, -Infinity];
    for (const s of systems) {
      const value = table.value(metric.m, question.at, s);
      if (Number.isNaN(value)) continue;
      [n, sum, low, high] = [n + 1, sum + value, Math.min(low, value), Math.max(high, value)];
    }
    return { ...question, mean: n ? sum / n : null, spread: n ? high - low : null, searched: `${question.id}\n${question.text}`.toLowerCase() };
  });
}

const HEAT_ORDERS = {
  hardest: (rows, metric) => sorted(rows, (row) => row.mean, metric.best === "low"),
  easiest: (rows, metric) => sorted(rows, (row) => row.mean, metric.best === "high"),
  difference: (rows) => sorted(rows, (row) => row.spread, true),
  id: (rows) => rows,
};

function startHeatMap() {
  const [metricSelect, order, filter, box] = ["heat-metric", "heat-order", "heat-filter", "heat-table"].map(byId);
  if (!fillSampleMetricSelect(metricSelect)) return;

  let prepared = {}; // what a filter leaves as it is

  async function prepare(metric, by) {
    if (prepared.metric !== metric) {
      const table = await scoreMatrix(metric.e);
      const all = await heatRows(metric, table);
      prepared = { metric, table, all, scale: scaleEnds(metric, all) };
    }
    if (prepared.by !== by) Object.assign(prepared, { by, ordered: HEAT_ORDERS[by](prepared.all, metric) });
    return prepared;
  }

  async function show() {
    const metric = metricAt.get(metricSelect.value);
    const { table, scale, ordered } = await prepare(metric, order.value);
    const term = filter.value.trim().toLowerCase();
    const rows = ordered.filter((row) => row.searched.includes(term));
    const heads = PAGE.order.map((system) => el("th", { scope: "col", class: "slanted" }, el("span", name(system))));
    const head = el("tr", el("th", { scope: "col", class: "pinned" }, "Question"), heads, el("th", { scope: "col", class: "num" }, "mean"));
    const line = (row) => {
      const cells = PAGE.order.map((system) => cell(metric, scale, row, system, table));
      return el("tr", el("th", { scope: "row" }, questionLink(row, [], () => heatMapList)), cells, el("td", { class: "num fine" }, number(row.mean, 2)));
    };
    heatMapList = rows.map((row) => row.at);
    const body = el("tbody");
    const pages = pager(25, "questions", (shown) => {
      body.replaceChildren(...shown.map(line));
      if (!shown.length) body.append(emptyRow(PAGE.order.length + 2, nothingFound(filter, "question")));
    });
    pages.show(rows);
    const caption = tableCaption(`${metric.title}: ${metric.summary}`);
    const heat = el("table", { class: "heat" }, caption, el("thead", head), body);
    const scoresOf = (row) => PAGE.order.map((system) => table.value(metric.m, row.at, PAGE.systems.indexOf(system)));
    heat.values = () => ({ heads: ["question_id", "question", ...PAGE.order, "mean"], rows: rows.map((row) => [row.id, row.text, ...scoresOf(row), row.mean]) });
    box.replaceChildren(scrollable(heat, "heat map"), pages.nav);
  }

  showSection("questions", { metric: [metricSelect] }, show, true);
}

if (byId("questions")) startHeatMap();
