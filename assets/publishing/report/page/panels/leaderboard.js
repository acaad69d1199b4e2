// The leaderboard: means with intervals, ranks with their uncertainty, and missing scores.

const ARROW = { high: "↑", low: "↓" };

function metricScale(metric, rows) {
  if (metric.low !== null && metric.high !== null) return [metric.low, metric.high];
  const ends = rows.flatMap((row) => [row.mean, row.ci_low, row.ci_high]).filter((x) => x !== null);
  const [low, high] = [Math.min(...ends, 0), Math.max(...ends)];
  return low === high ? [low - 1, high + 1] : [low, high];
}

// A mean as a point, its interval as a line, the range that missing scores allow as a pale band.
function intervalBar(row, [low, high], width = 160) {
  const x = (value) => 4 + ((width - 8) * (value - low)) / (high - low);
  const line = (kind, x1, x2, y1, y2) => svgEl("line", { class: kind, x1, x2, y1, y2 });
  const rect = (kind, x, y, width, height) => svgEl("rect", { class: kind, x, y, width, height });
  const interval = row.ci_low === null ? intervalText(row) || "no interval" : `95 % interval ${intervalText(row)}`;
  const label = `mean ${number(row.mean)}, ${interval}`;
  const parts = [svgEl("title", {}, label), rect("rail", 4, 8.5, width - 8, 1)];
  if (row.bound_low !== null && row.bound_high > row.bound_low)
    parts.push(rect("bound", x(row.bound_low), 3, x(row.bound_high) - x(row.bound_low), 12));
  const { threshold } = row.of;
  if (threshold !== null && threshold >= low && threshold <= high)
    parts.push(line("threshold", x(threshold), x(threshold), 1, 17));
  if (row.mean !== null && row.ci_low !== null) {
    const [from, to] = [x(row.ci_low), x(row.ci_high)];
    parts.push(line("ci", from, to, 9, 9), line("ci", from, from, 5, 13), line("ci", to, to, 5, 13));
  }
  if (row.mean !== null) parts.push(svgEl("circle", { class: "mean", cx: x(row.mean), cy: 9, r: 4 }));
  const attributes = { class: "interval-bar", role: "img", "aria-label": label, viewBox: `0 0 ${width} 18`, width, height: 18 };
  return svgEl("svg", attributes, ...parts);
}

function intervalText(row) {
  const ends = row.ci_low === null ? null : `${number(row.ci_low)} to ${number(row.ci_high)}`;
  const note = row.ci_method === "no_variation" ? "no variation seen" : null;
  return [ends, note].filter((part) => part !== null).join(", ");
}

function rankText(row) {
  if (row.rank === null) return "–";
  const isRange = row.rank_low !== null && row.rank_low !== row.rank_high;
  return isRange ? `${row.rank} (${row.rank_low} to ${row.rank_high})` : `${row.rank}`;
}

function systemCell(row) {
  const tied = () => el("span", { class: "badge", title: "cannot be distinguished from the best" }, "tied with best");
  return [name(row.name), " ", row.is_best ? (row.rank === 1 ? bestBadge("best") : tied()) : null];
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

function metricTable(metric, rows) {
  const scale = metricScale(metric, rows);
  const passing = rows.some((row) => row.passes !== null);
  const columns = [
    { title: "Rank", value: (row) => row.rank, cell: rankText, numeric: true, hint: "in brackets: the range of ranks within the uncertainty" },
    { title: "System", value: (row) => row.name, cell: systemCell },
    { title: `Mean ${ARROW[metric.best]}`, value: (row) => row.mean, cell: (row) => el("strong", number(row.mean)), numeric: true, first: metric.best === "high" ? "desc" : "asc" },
    { title: "95 % interval", value: (row) => row.ci_low, cell: (row) => [intervalBar(row, scale), el("span", { class: "fine interval" }, intervalText(row))] },
    { title: "Scored", value: (row) => row.n_scored, cell: (row) => `${count(row.n_scored)} of ${count(row.n)}`, numeric: true, first: "desc" },
    { title: "Coverage", value: (row) => row.coverage, cell: coverageCell, numeric: true, hint: "share of the applicable samples that have a score" },
    { title: "Failed", value: (row) => row.n_target_error, cell: (row) => warned(count(row.n_target_error), row.n_target_error), numeric: true, first: "desc", hint: "failed answers; they get the worst value if the metric has one" },
    { title: "No score", value: (row) => row.n - row.n_scored, cell: (row) => missingText(row) || "none", first: "desc" },
  ];
  if (rows.some((row) => row.chance !== null))
    columns.splice(4, 0, { title: "By chance", value: (row) => row.chance, cell: (row) => number(row.chance), numeric: true, first: "asc", hint: "what noise alone gives a system without fault; only the excess counts" });
  if (rows.some((row) => row.n_not_asked))
    columns.push({ title: "Not asked", value: (row) => row.n_not_asked, cell: (row) => count(row.n_not_asked), numeric: true, hint: "questions that the system was not asked" },
      { title: "Common mean", value: (row) => row.common_mean, cell: (row) => number(row.common_mean), numeric: true, hint: `mean over the ${count(rows[0].n_common)} questions that all systems were asked; it determines the rank` });
  if (passing)
    columns.push({ title: `Threshold ${number(metric.threshold, 2)}`, value: (row) => row.passes, cell: (row) => (row.passes === null ? "–" : row.passes ? "passes" : el("span", { class: "warn" }, "fails")), first: "desc" });
  return sortableTable(columns, rows, { sort: 0, header: 1, caption: `${metric.summary}${commonText(rows)}`, empty: "No system has that name." });
}

// On how many questions the ranks rest, if systems were asked different ones.
function commonText(rows) {
  if (!rows.some((row) => row.n_not_asked)) return "";
  const { n_common: common, n } = rows[0];
  return common ? ` Ranks rest on the ${count(common)} of ${count(n)} questions that all systems were asked.` : " There are no ranks: no question was asked of all systems.";
}

// How many applicable samples have a score, if not all of them.
function partText(row) {
  const applicable = row.n - row.n_not_applicable;
  if (applicable === 0) return "not applicable";
  return row.n_scored < applicable ? `${count(row.n_scored)} of ${count(applicable)} scored` : null;
}

function shownMetricsTable(metrics, rows) {
  const systems = new Map();
  for (const row of rows) {
    if (!systems.has(row.name)) systems.set(row.name, { name: row.name, cells: new Map() });
    systems.get(row.name).cells.set(row.metric, row);
  }
  const scales = new Map(metrics.map((metric) => [metric.at, metricScale(metric, rows.filter((row) => row.metric === metric.at))]));
  for (const system of systems.values()) {
    system.failed = Math.max(...[...system.cells.values()].map((row) => row.n_target_error ?? 0));
  }
  const leading = (system) => system.cells.get(HEADLINE?.at);
  const columns = [
    { title: "Rank", value: (system) => leading(system)?.rank ?? null, cell: (system) => (leading(system) ? rankText(leading(system)) : "–"), numeric: true, hint: `by ${HEADLINE?.title}; in brackets: the range of ranks within the uncertainty` },
    { title: "System", value: (system) => system.name, cell: (system) => name(system.name) },
    ...metrics.map((metric) => ({
      title: `${metric.title} ${ARROW[metric.best]}`,
      head: [`${metric.e}.`, el("wbr"), `${metric.m} ${ARROW[metric.best]}`],
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
        return [el(row.is_best ? "strong" : "span", number(row.mean)), intervalBar(row, scales.get(metric.at), 90), coverage];
      },
    })),
    { title: "Failed", value: (system) => system.failed, cell: (system) => warned(count(system.failed), system.failed), numeric: true, first: "desc" },
  ];
  const caption = "Primary metrics. Values in bold are the best, where at least one system is significantly worse. Below a mean: how many of the applicable samples have a score, if not all." + commonText(rows.filter((row) => row.metric === HEADLINE?.at));
  const ordered = sorted([...systems.values()], (system) => PAGE.order.indexOf(system.name));
  return sortableTable(columns, ordered, { sort: 0, header: 1, caption, empty: "No system has that name." });
}

function startLeaderboard() {
  const [metricSelect, sliceSelect, filter, box] = ["lb-metric", "lb-slice", "lb-filter", "lb-table"].map(byId);
  if (SHOWN.length > 1) metricSelect.append(option("", "all primary metrics", true));
  fillMetricSelect(metricSelect, (metric) => metric.title + (metric.primary ? " (primary)" : ""));
  if (SHOWN.length === 1) metricSelect.value = SHOWN[0].title;
  for (const slice of PAGE.slices) sliceSelect.append(option(slice, slice === "all" ? "all questions" : slice));
  sliceSelect.disabled = PAGE.slices.length < 2;

  async function show() {
    const matches = textFilter(filter);
    const rows = (await board(sliceSelect.value)).filter((row) => matches(row.name));
    const metric = metricAt.get(metricSelect.value);
    const table = metric
      ? metricTable(metric, rows.filter((row) => row.metric === metric.at))
      : shownMetricsTable(SHOWN, rows.filter((row) => row.of.primary || row.of.headline));
    box.replaceChildren(scrollable(table, "leaderboard"));
  }

  onInput("leaderboard", show);
  return show();
}

startLeaderboard().then(() => document.documentElement.setAttribute("data-ready", "yes"));
