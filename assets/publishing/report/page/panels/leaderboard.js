// The leaderboard: means with intervals, ranks with their uncertainty, and missing scores.

const ARROW = { high: "↑", low: "↓" };

function intervalText(row) {
  const ends = row.ci_low === null ? null : `${number(row.ci_low)} to ${number(row.ci_high)}`;
  const note = row.ci_method === "no_variation" ? "no variation seen" : null;
  return [ends, note].filter((part) => part !== null).join(", ");
}

// A mean with its interval below it.
function meanCell(row) {
  const interval = el("span", { class: "fine interval" }, intervalText(row));
  return [el(row.mark === "best" ? "strong" : "span", number(row.mean)), row.mean === null ? null : interval];
}

// The columns of a mean and its interval in a copied table; rowOf(row) is a row of the leaderboard.
function meanParts(title, rowOf = (row) => row) {
  const part = (of, key) => ({ title: of, value: (row) => rowOf(row)?.[key] ?? null });
  return [part(title, "mean"), part(`${title}, 95 % from`, "ci_low"), part(`${title}, 95 % to`, "ci_high")];
}

function rankText(row) {
  if (row.rank === null) return "–";
  const isRange = row.rank_low !== null && row.rank_low !== row.rank_high;
  return isRange ? `${row.rank} (${row.rank_low} to ${row.rank_high})` : `${row.rank}`;
}

function systemCell(row) {
  const tied = () => el("span", { class: "badge", title: "no significant difference from the first" }, "tied");
  return [name(row.name), " ", row.is_best ? (row.mark === "best" ? bestBadge("best") : tied()) : null];
}

function missingText(row) {
  const unanswered = row.n - row.n_scored - row.n_undefined - row.n_parse_failure - row.n_judge_error - row.n_not_applicable;
  const parts = [
    [row.n_undefined, "undefined"],
    [row.n_parse_failure, "parse failures"],
    [row.n_judge_error, "judge errors"],
    [row.n_not_asked, "not asked"],
    [row.n_not_applicable - row.n_not_asked, "not applicable"],
    [unanswered, "failed"],
    [row.mean === null ? row.n_scored : 0, unanswered ? "scored, but failed answers have no worst value" : "scored, all for failed answers"],
  ];
  return parts.filter(([n]) => n).map(([n, what]) => `${count(n)} ${what}`).join(", ");
}

function warned(text, isBad) {
  return el("span", { class: isBad ? "warn" : null }, text);
}

const coverageCell = ({ coverage }) => warned(percent(coverage), coverage !== null && coverage < 1);

function metricTable(metric, rows, options) {
  const passing = rows.some((row) => row.passes !== null);
  const columns = [
    { title: "Rank", value: (row) => row.rank, cell: rankText, numeric: true, hint: "in brackets: the range of ranks within the uncertainty" },
    { title: "System", value: (row) => row.name, cell: systemCell },
    { title: `Mean ${ARROW[metric.best]}`, value: (row) => row.mean, cell: meanCell, parts: meanParts(metric.title), numeric: true, first: metric.best === "high" ? "desc" : "asc", hint: "below it: the 95 % interval" },
    { title: "Scored", value: (row) => row.n_scored, cell: (row) => `${count(row.n_scored)} of ${count(row.n)}`, numeric: true, first: "desc" },
    { title: "Coverage", value: (row) => row.coverage, cell: coverageCell, numeric: true, hint: "share of the applicable samples that have a score" },
    { title: "Failed", value: (row) => row.n_target_error, cell: (row) => warned(count(row.n_target_error), row.n_target_error), numeric: true, first: "desc", hint: "failed answers; they get the worst value if the metric has one" },
    { title: "No score", value: (row) => row.n - row.n_scored, cell: (row) => missingText(row) || "none", first: "desc" },
  ];
  if (rows.some((row) => row.chance !== null))
    columns.splice(3, 0, { title: "By chance", value: (row) => row.chance, cell: (row) => number(row.chance), numeric: true, first: "asc", hint: "what noise alone gives a system without fault; only the excess counts" });
  if (rows.some((row) => row.n_not_asked))
    columns.push({ title: "Not asked", value: (row) => row.n_not_asked, cell: (row) => count(row.n_not_asked), numeric: true, hint: "questions that the system was not asked" },
      { title: "Common mean", value: (row) => row.common_mean, cell: (row) => number(row.common_mean), numeric: true, hint: `mean over the ${count(rows[0].n_common)} questions that all systems were asked; it determines the rank` });
  if (passing)
    columns.push({ title: `Threshold ${number(metric.threshold, 2)}`, value: (row) => row.passes, cell: (row) => (row.passes === null ? "–" : row.passes ? "passes" : el("span", { class: "warn" }, "fails")), first: "desc" });
  return sortableTable(columns, rows, { ...options, caption: `${metric.summary} ${marksText(options.slice, rows)}${commonText(rows)}` });
}

const MAX_CHART = { metrics: 8, systems: 30 };
const CHART_WIDTH = { one: 620, many: 230 };
const PAUSE = 150; // milliseconds without a key before the chart is drawn again

// The ends of a metric's scale: its bounds, or the range of the metrics of its evaluator, so that
// their charts are comparable.
function chartScale(metric, rows) {
  if (metric.low !== null && metric.high !== null) return [metric.low, metric.high];
  const others = rows.filter((row) => row.of.e === metric.e && (row.of.low === null || row.of.high === null));
  const ends = others.flatMap((row) => [row.mean, row.ci_low, row.ci_high]).filter((end) => end !== null);
  return [Math.min(0, ...ends), Math.max(0, ...ends)];
}

function chartRow(row, rows) {
  const [low, high] = chartScale(row.of, rows);
  const hasThreshold = row.of.threshold !== null && row.of.threshold >= low && row.of.threshold <= high;
  return {
    system: row.name, metric: row.of.title, mean: row.mean, rank: row.rank,
    tied: row.mark === "tied" ? "tied with the best" : "",
    low: row.ci_low, high: row.ci_high, from: row.ci_low ?? row.mean, to: row.ci_high ?? row.mean,
    scale_low: low, scale_high: high, bound_low: row.bound_low ?? row.mean, bound_high: row.bound_high ?? row.mean,
    threshold: hasThreshold ? row.of.threshold : low, has_threshold: hasThreshold,
  };
}

// Draw the chart below the table: the same systems in the same order, metrics and questions.
let nextDrawing = null;
function drawLeaderboard(metrics, rows, systems, slice, group) {
  const place = document.querySelector("[data-chart=leaderboard]");
  if (!place) return;
  const shown = { metrics: metrics.slice(0, MAX_CHART.metrics), systems: systems.slice(0, MAX_CHART.systems) };
  const drawn = rows.filter((row) => row.mean !== null && shown.metrics.includes(row.of) && shown.systems.includes(row.name));
  const figure = place.closest("figure");
  figure.hidden = !drawn.length;
  if (figure.hidden) return;
  const titles = shown.metrics.map((metric) => metric.title);
  const spec = chartSpec("leaderboard");
  spec.data.values = drawn.map((row) => chartRow(row, drawn));
  spec.facet.sort = titles;
  spec.columns = Math.min(2, titles.length);
  spec.spec.width = titles.length === 1 ? CHART_WIDTH.one : CHART_WIDTH.many;
  spec.spec.encoding.y.sort = shown.systems;
  place.spec = spec;
  const kind = group ? `metrics of ${group[0].e}` : "primary metrics";
  const many = titles.length < metrics.length ? `The first ${titles.length} of ${metrics.length} ${kind}` : kind[0].toUpperCase() + kind.slice(1);
  const what = titles.length === 1 ? titles[0] : many;
  const which = systems.length > shown.systems.length ? `, the first ${shown.systems.length} of ${count(systems.length)} systems` : "";
  const caption = `${what}: means with 95 % intervals, ${slice === "all" ? "all questions" : slice}${which}.`;
  const values = drawn.map((row) => `${row.name}${titles.length > 1 ? ` by ${row.of.title}` : ""} ${number(row.mean)} (${intervalText(row) || "no interval"})`);
  figure.querySelector("figcaption").textContent = caption;
  place.setAttribute("aria-label", `Chart. ${caption} ${values.slice(0, MAX_CHART.systems).join(", ")}.`);
  clearTimeout(nextDrawing);
  if (place.dataset.drawn) nextDrawing = setTimeout(() => draw(place), PAUSE);
}

// Which systems are marked, or why none is: among many slices and metrics, some differ by chance.
function marksText(slice, rows) {
  const because = "are exploratory and have no marks, because among many of them some differ by chance.";
  if (slice !== "all") return `Slices ${because}`;
  if (rows.length > 1 && rows.every((row) => row.mark === null && row.rank_low !== null)) return `Metrics that are not primary ${because}`;
  const metrics = new Set(rows.map((row) => row.metric)); // a filter may hide the winner
  if (boardRows(PAGE.board).some((row) => row.mark === "best" && metrics.has(row.metric))) return "In bold: significantly better than every other system.";
  return PAGE.systems.length > 1 ? "No system is significantly better than every other one." : "";
}

// On how many questions the ranks rest, if systems were asked different ones.
function commonText(rows) {
  if (!rows.some((row) => row.n_not_asked)) return "";
  const common = rows[0].n_common;
  return common ? ` Ranks rest on the ${count(common)} questions that all systems were asked.` : " There are no ranks: no question was asked of all systems.";
}

// How many applicable samples have a score, if not all of them.
function partText(row) {
  const applicable = row.n - row.n_not_applicable;
  if (applicable === 0) return "not applicable";
  return row.n_scored < applicable ? `${count(row.n_scored)} of ${count(applicable)} scored` : null;
}

// Systems by metrics: the primary metrics, or all metrics of one evaluator.
function metricsTable(metrics, rows, options) {
  const systems = new Map();
  for (const row of rows) {
    if (!systems.has(row.name)) systems.set(row.name, { name: row.name, cells: new Map() });
    systems.get(row.name).cells.set(row.metric, row);
  }
  for (const system of systems.values()) {
    system.failed = Math.max(...[...system.cells.values()].map((row) => row.n_target_error ?? 0));
  }
  const ranked = metrics.includes(HEADLINE) ? HEADLINE : metrics.find((metric) => metric.primary) ?? metrics[0];
  const leading = (system) => system.cells.get(ranked?.at);
  const columns = [
    { title: "Rank", value: (system) => leading(system)?.rank ?? null, cell: (system) => (leading(system) ? rankText(leading(system)) : "–"), numeric: true, hint: `by ${ranked?.title}; in brackets: the range of ranks within the uncertainty` },
    { title: "System", value: (system) => system.name, cell: (system) => name(system.name) },
    ...metrics.map((metric) => ({
      title: `${metric.title} ${ARROW[metric.best]}`,
      head: breakable(`${options.evaluator ? metric.m : metric.title} ${ARROW[metric.best]}`),
      hint: metric.summary,
      numeric: true,
      first: metric.best === "high" ? "desc" : "asc",
      value: (system) => system.cells.get(metric.at)?.mean ?? null,
      cell: (system) => {
        const row = system.cells.get(metric.at);
        if (!row) return "–";
        const part = partText(row);
        const coverage = part ? el("span", { class: row.n_scored || part !== "not applicable" ? "fine warn part" : "fine part", title: missingText(row) }, part) : null;
        if (row.mean === null) return coverage ?? "–";
        return [meanCell(row), coverage];
      },
      parts: meanParts(metric.title, (system) => system.cells.get(metric.at)),
    })),
    { title: "Failed", value: (system) => system.failed, cell: (system) => warned(count(system.failed), system.failed), numeric: true, first: "desc" },
  ];
  const what = options.evaluator ? `All metrics of ${options.evaluator}; ranks are by ${ranked.m}.` : "Primary metrics.";
  const caption = `${what} ${marksText(options.slice, rows)} Below a mean: its 95 % interval, and how many of the applicable samples have a score, if not all.` + commonText(rows.filter((row) => row.metric === ranked?.at));
  const ordered = sorted([...systems.values()], (system) => PAGE.order.indexOf(system.name));
  return sortableTable(columns, ordered, { ...options, caption });
}

// Offer all metrics of each evaluator that has several; return them by the evaluator's name.
function fillGroups(select) {
  const groups = new Map();
  for (const group of select.querySelectorAll("optgroup")) {
    const metrics = METRICS.filter((metric) => metric.e === group.label && metric.measured);
    if (metrics.length < 2) continue;
    groups.set(group.label, metrics);
    group.prepend(option(group.label, `all metrics of ${group.label}`));
  }
  return groups;
}

function startLeaderboard() {
  const [metricSelect, sliceSelect, filter, box] = ["lb-metric", "lb-slice", "lb-filter", "lb-table"].map(byId);
  if (SHOWN.length > 1) metricSelect.append(option("", "all primary metrics", true));
  fillMetricSelect(metricSelect, (metric) => metric.title + (metric.primary ? " (primary)" : ""));
  const groups = fillGroups(metricSelect);
  if (SHOWN.length === 1) metricSelect.value = SHOWN[0].title;
  for (const slice of PAGE.slices) sliceSelect.append(option(slice, slice === "all" ? "all questions" : slice));
  sliceSelect.disabled = PAGE.slices.length < 2;

  async function show() {
    const matches = textFilter(filter);
    const slice = sliceSelect.value;
    const rows = (await board(slice)).filter((row) => matches(row.name));
    const metric = metricAt.get(metricSelect.value);
    const group = groups.get(metricSelect.value);
    const metrics = metric ? [metric] : group ?? SHOWN;
    const own = rows.filter((row) => metrics.includes(row.of));
    const onOrder = (found) => drawLeaderboard(metrics, own, found.map((row) => row.name), slice, group);
    const options = { slice, evaluator: group && metricSelect.value, sort: 0, header: 1, label: "leaderboard", empty: nothingFound(filter, "system"), onOrder };
    box.replaceChildren(metric ? metricTable(metric, own, options) : metricsTable(metrics, own, options));
  }

  return showSection("leaderboard", { metric: [metricSelect], slice: [sliceSelect] }, show);
}

startLeaderboard().then(() => document.documentElement.setAttribute("data-ready", "yes"));
