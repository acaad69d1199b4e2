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

// How good a score is, from 0 to 1, on the metric's scale or else on the range of the scores.
function quality(metric, scores, value) {
  const known = scores.filter((score) => !Number.isNaN(score));
  const low = metric.low ?? Math.min(...known);
  const high = metric.high ?? Math.max(...known);
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

async function heatRows(metric, table) {
  const systems = PAGE.systems.map((_, s) => s);
  return (await questions()).map((question) => {
    const numbers = systems.map((s) => table.value(metric.m, question.at, s)).filter((x) => !Number.isNaN(x));
    const mean = numbers.length ? numbers.reduce((sum, x) => sum + x, 0) / numbers.length : null;
    const spread = numbers.length ? Math.max(...numbers) - Math.min(...numbers) : null;
    return { ...question, mean, spread };
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

  async function show() {
    const metric = metricAt.get(metricSelect.value);
    const table = await scoreMatrix(metric.e);
    const matches = textFilter(filter);
    const all = await heatRows(metric, table);
    const found = all.filter((row) => matches(`${row.id}\n${row.text}`));
    const scale = all.map((row) => row.mean ?? NaN);
    const rows = HEAT_ORDERS[order.value](found, metric);
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
