// The heat map of questions and systems; each score opens the answer behind it.

const COLOUR_STOPS = [[194, 65, 12], [243, 233, 220], [29, 95, 168]]; // worst, middle, best

function cellColours(quality) {
  const at = Math.min(1, Math.max(0, quality)) * 2;
  const [from, to] = at < 1 ? [COLOUR_STOPS[0], COLOUR_STOPS[1]] : [COLOUR_STOPS[1], COLOUR_STOPS[2]];
  const mixed = from.map((drawPage, index) => Math.round(drawPage + (to[index] - drawPage) * (at < 1 ? at : at - 1)));
  const [r, g, b] = mixed.map((drawPage) => {
    const share = drawPage / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return { background: `rgb(${mixed.join(" ")})`, color: light > 0.179 ? "#000" : "#fff" };
}

// How good a score is, from 0 to 1, on the metric's scale or else on the range of the scores.
function quality(metric, scores, value) {
  const known = scores.filter((score) => !Number.isNaN(score));
  const low = metric.low ?? Math.min(...known);
  const high = metric.high ?? Math.max(...known);
  const share = high > low ? (value - low) / (high - low) : 1;
  return metric.best === "high" ? share : 1 - share;
}

// Two decimals are enough for a cell, except for large numbers.
function brief(value) {
  return Math.abs(value) < 1000 ? value.toFixed(2) : number(value, 2);
}

function cell(metric, scale, row, system, table) {
  const s = PAGE.systems.indexOf(system);
  const value = table.value(metric.m, row.at, s);
  const code = CODES[table.code(metric.m, row.at, s)];
  const known = !Number.isNaN(value);
  const text = known ? brief(value) : SIGNS[code] || "none";
  const meaning = code === "failed" || !known ? `, ${MEANINGS[code] || "not scored"}` : "";
  const button = el(
    "button",
    {
      type: "button",
      class: code === "failed" ? "cell failed" : "cell",
      "aria-label": `${row.id}, ${system}: ${text}${meaning}`,
      title: `${system}: ${text}${meaning}`,
      onclick: () => openSample(row.at, [system]),
    },
    text,
  );
  if (known) {
    const { background, color } = cellColours(quality(metric, scale, value));
    button.style.background = background;
    button.style.color = color;
  }
  return el("td", {}, button);
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

// Fill a select with the metrics of single samples; return whether there are any.
function fillSampleMetricSelect(select) {
  fillMetricSelect(select, (metric) => metric.title, (metric, evaluator) => evaluator.metrics.includes(metric.m));
  const first = PRIMARY.find((metric) => metric.level === "sample");
  if (first) select.value = first.title;
  return select.options.length > 0;
}

// A link that opens a question, with the start of its text.
function questionLink(row, systems) {
  return [
    el("button", { type: "button", class: "link", onclick: () => openSample(row.at, systems) }, name(row.id)),
    el("span", { class: "snippet", dir: "auto" }, row.text),
  ];
}

function startHeatMap() {
  const [metricSelect, order, filter, box] = ["heat-metric", "heat-order", "heat-filter", "heat-table"].map(byId);
  if (!fillSampleMetricSelect(metricSelect)) return;

  async function show() {
    const metric = metricAt.get(metricSelect.value);
    const table = await scoreMatrix(metric.e);
    const term = filter.value.trim().toLowerCase();
    const all = await heatRows(metric, table);
    const found = all.filter((row) => `${row.id}\n${row.text}`.toLowerCase().includes(term));
    const scale = all.map((row) => row.mean ?? NaN);
    const rows = HEAT_ORDERS[order.value](found, metric);
    const heads = PAGE.order.map((system) => el("th", { scope: "col", class: "slanted" }, el("span", {}, name(system))));
    const line = (row) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, questionLink(row, [])),
        PAGE.order.map((system) => cell(metric, scale, row, system, table)),
        el("td", { class: "num fine" }, number(row.mean, 2)),
      );
    const drawPage = (pageRows) =>
      scrollable(
        el(
          "table",
          { class: "heat" },
          tableCaption(`${metric.title}: ${metric.summary}`),
          el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Question"), heads, el("th", { scope: "col", class: "num" }, "mean"))),
          el("tbody", {}, pageRows.map(line)),
        ),
        "heat map",
      );
    box.replaceChildren(pagedTable(rows, 25, drawPage, "questions"));
  }

  for (const each of [metricSelect, order]) each.addEventListener("change", show);
  filter.addEventListener("input", show);
  whenSeen(byId("heat"), show);
}

const MAX_PRINTED = 1000; // questions up to which all sections load before they are seen

// Call back once, when an element comes near the screen. Small pages also call back when the
// browser is idle, so that they can be printed completely.
function whenSeen(element, callback) {
  let started = false;
  const start = () => {
    if (started) return;
    started = true;
    Promise.resolve(callback()).catch((error) => element.append(el("p", { class: "warn" }, String(error.message))));
  };
  const seen = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen.disconnect();
      start();
    },
    { rootMargin: "300px" },
  );
  seen.observe(element);
  if (PAGE.n_shown <= MAX_PRINTED) whenIdle(start);
}
