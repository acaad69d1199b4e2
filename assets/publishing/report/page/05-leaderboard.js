// The leaderboard: means with intervals, ranks with their uncertainty, and missing scores.

const PRIMARY = METRICS.filter((metric) => metric.primary && metric.measured);
const ARROW = { high: "↑", low: "↓" };

function metricScale(metric, rows) {
  if (metric.low !== null && metric.high !== null) return [metric.low, metric.high];
  const ends = rows.flatMap((row) => [row.mean, row.ci_low, row.ci_high]).filter((x) => x !== null);
  const [low, high] = [Math.min(...ends, 0), Math.max(...ends)];
  return low === high ? [low - 1, high + 1] : [low, high];
}

// A mean as a point, its interval as a line, the range that missing scores allow as a pale band.
function intervalBar(row, [low, high], width = 160) {
  const height = 18;
  const x = (value) => 4 + ((width - 8) * (value - low)) / (high - low);
  const label =
    row.ci_low === null
      ? `mean ${number(row.mean)}, no interval`
      : `mean ${number(row.mean)}, 95 % interval ${number(row.ci_low)} to ${number(row.ci_high)}`;
  const drawn = svgEl("svg", { class: "interval-bar", viewBox: `0 0 ${width} ${height}`, width, height });
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", label);
  drawn.append(svgEl("title", {}, label), svgEl("rect", { class: "rail", x: 4, y: 8.5, width: width - 8, height: 1 }));
  if (row.bound_low !== null && row.bound_high !== null && row.bound_high > row.bound_low) {
    const wide = x(row.bound_high) - x(row.bound_low);
    drawn.append(svgEl("rect", { class: "bound", x: x(row.bound_low), y: 3, width: wide, height: 12 }));
  }
  if (row.of.threshold !== null && row.of.threshold >= low && row.of.threshold <= high) {
    const at = x(row.of.threshold);
    drawn.append(svgEl("line", { class: "threshold", x1: at, x2: at, y1: 1, y2: 17 }));
  }
  if (row.mean === null) return drawn;
  if (row.ci_low !== null) {
    const [from, to] = [x(row.ci_low), x(row.ci_high)];
    drawn.append(
      svgEl("line", { class: "ci", x1: from, x2: to, y1: 9, y2: 9 }),
      svgEl("line", { class: "ci", x1: from, x2: from, y1: 5, y2: 13 }),
      svgEl("line", { class: "ci", x1: to, x2: to, y1: 5, y2: 13 }),
    );
  }
  drawn.append(svgEl("circle", { class: "mean", cx: x(row.mean), cy: 9, r: 4 }));
  return drawn;
}

function rankText(row) {
  if (row.rank === null) return "–";
  const isRange = row.rank_low !== null && row.rank_low !== row.rank_high;
  return isRange ? `${row.rank} (${row.rank_low} to ${row.rank_high})` : `${row.rank}`;
}

function systemCell(row) {
  const tied = row.tied_with_best === 1 && row.rank !== 1;
  const badges = [];
  if (row.rank === 1) badges.push(el("span", { class: "badge best" }, "best"));
  if (tied) badges.push(el("span", { class: "badge", title: "cannot be distinguished from the best" }, "tied with best"));
  return [name(row.name), " ", ...badges];
}

function missingText(row) {
  const parts = [
    [row.n_undefined, "undefined"],
    [row.n_parse_failure, "parse failures"],
    [row.n_judge_error, "judge errors"],
    [row.n_not_applicable, "not applicable"],
  ];
  return parts.filter(([n]) => n).map(([n, what]) => `${count(n)} ${what}`).join(", ");
}

function metricTable(metric, rows) {
  const scale = metricScale(metric, rows);
  const passing = rows.some((row) => row.passes !== null);
  const columns = [
    { title: "Rank", value: (row) => row.rank, cell: rankText, numeric: true, hint: "in brackets: the range of ranks within the uncertainty" },
    { title: "System", value: (row) => row.name, cell: systemCell },
    { title: `Mean ${ARROW[metric.best]}`, value: (row) => row.mean, cell: (row) => el("strong", {}, number(row.mean)), numeric: true, first: metric.best === "high" ? "desc" : "asc" },
    { title: "95 % interval", value: (row) => row.ci_low, cell: (row) => [intervalBar(row, scale), el("span", { class: "fine interval" }, row.ci_low === null ? "" : `${number(row.ci_low)} to ${number(row.ci_high)}`)] },
    { title: "Scored", value: (row) => row.n_scored, cell: (row) => `${count(row.n_scored)} of ${count(row.n)}`, numeric: true, first: "desc" },
    { title: "Coverage", value: (row) => row.coverage, cell: (row) => el("span", { class: row.coverage !== null && row.coverage < 1 ? "warn" : null }, percent(row.coverage)), numeric: true, hint: "share of the applicable samples that have a score" },
    { title: "Failed", value: (row) => row.n_target_error, cell: (row) => el("span", { class: row.n_target_error ? "warn" : null }, count(row.n_target_error)), numeric: true, first: "desc", hint: "failed answers; they get the worst value if the metric has one" },
    { title: "No score", value: (row) => row.n - row.n_scored, cell: (row) => missingText(row) || "none", first: "desc" },
  ];
  if (passing)
    columns.push({ title: `Threshold ${number(metric.threshold, 2)}`, value: (row) => row.passes, cell: (row) => (row.passes === null ? "–" : row.passes ? "passes" : el("span", { class: "warn" }, "fails")), first: "desc" });
  return sortableTable(columns, rows, { sort: 0, header: 1, caption: metric.summary, empty: "No system has that name." });
}

function primaryMetricsTable(metrics, rows) {
  const systems = new Map();
  for (const row of rows) {
    if (!systems.has(row.name)) systems.set(row.name, { name: row.name, cells: new Map() });
    systems.get(row.name).cells.set(row.metric, row);
  }
  const scales = new Map(metrics.map((metric) => [metric.at, metricScale(metric, rows.filter((row) => row.metric === metric.at))]));
  const highest = (system, column) => Math.max(...[...system.cells.values()].map((row) => row[column] ?? 0));
  const lowestCoverage = (system) => {
    const known = [...system.cells.values()].map((row) => row.coverage).filter((x) => x !== null);
    return known.length ? Math.min(...known) : null;
  };
  const columns = [
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
        if (!row || row.mean === null) return el("span", { class: "none", title: row ? missingText(row) : null }, "none");
        const best = row.tied_with_best === 1 || row.rank === 1;
        return [el(best ? "strong" : "span", {}, number(row.mean)), intervalBar(row, scales.get(metric.at), 90)];
      },
    })),
    { title: "Failed", value: (system) => highest(system, "n_target_error"), cell: (system) => el("span", { class: highest(system, "n_target_error") ? "warn" : null }, count(highest(system, "n_target_error"))), numeric: true, first: "desc" },
    { title: "Coverage", value: lowestCoverage, cell: (system) => el("span", { class: (lowestCoverage(system) ?? 1) < 1 ? "warn" : null }, percent(lowestCoverage(system))), numeric: true, hint: "the lowest of the primary metrics" },
  ];
  const caption = "Primary metrics. Values in bold are the best or cannot be distinguished from it.";
  const first = metrics[0];
  return sortableTable(columns, [...systems.values()], { sort: 1, descending: first.best === "high", caption, empty: "No system has that name." });
}

// Fill a select with the metrics that have values, grouped by evaluator.
function fillMetricSelect(select, label, isShown = () => true) {
  for (const evaluator of PAGE.evaluators) {
    const metrics = METRICS.filter((metric) => metric.e === evaluator.name && metric.measured);
    const options = metrics.filter((metric) => isShown(metric, evaluator)).map((metric) => option(metric.title, label(metric)));
    if (options.length) select.append(el("optgroup", { label: evaluator.name }, options));
  }
}

function startLeaderboard() {
  const [metricSelect, sliceSelect, filter, box] = ["lb-metric", "lb-slice", "lb-filter", "lb-table"].map(byId);
  if (PRIMARY.length > 1) metricSelect.append(option("", "all primary metrics", true));
  fillMetricSelect(metricSelect, (metric) => metric.title + (metric.primary ? " (primary)" : ""));
  if (PRIMARY.length === 1) metricSelect.value = PRIMARY[0].title;
  for (const slice of PAGE.slices) sliceSelect.append(option(slice, slice === "all" ? "all questions" : slice));
  sliceSelect.disabled = PAGE.slices.length < 2;

  async function show() {
    const term = filter.value.trim().toLowerCase();
    const rows = (await board(sliceSelect.value)).filter((row) => row.name.toLowerCase().includes(term));
    const metric = metricAt.get(metricSelect.value);
    const table = metric
      ? metricTable(metric, rows.filter((row) => row.metric === metric.at))
      : primaryMetricsTable(PRIMARY, rows.filter((row) => row.of.primary));
    box.replaceChildren(scrollable(table, "leaderboard"));
  }

  for (const each of [metricSelect, sliceSelect]) each.addEventListener("change", show);
  filter.addEventListener("input", show);
  return show();
}
