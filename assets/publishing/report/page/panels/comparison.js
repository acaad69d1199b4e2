// Two systems compared: the test result, and every question on which they differ.

const VERDICTS = {
  better: (a, b) => `${a} is better than ${b}.`,
  worse: (a, b) => `${a} is worse than ${b}.`,
  tied: (a, b) => `There is no significant difference between ${a} and ${b}.`,
  not_enough_data: () => "There are too few questions for a verdict.",
};

function comparison(metric, a, b) {
  const [one, other] = [PAGE.systems.indexOf(a), PAGE.systems.indexOf(b)];
  for (const [at, x, y, n, difference, low, high, p, verdict, detectable] of PAGE.comparisons) {
    if (at !== metric.at) continue;
    if (x === one && y === other) return { n, difference, low, high, p, verdict, detectable };
    if (x === other && y === one) {
      const turned = { better: "worse", worse: "better" }[verdict] || verdict;
      const minus = (value) => (value === null ? null : -value);
      return { n, difference: minus(difference), low: minus(high), high: minus(low), p, verdict: turned, detectable };
    }
  }
  return null;
}

function verdictText(metric, a, b) {
  const found = comparison(metric, a, b);
  if (!found) return [];
  const sentence = VERDICTS[found.verdict] ? VERDICTS[found.verdict]("\u2068" + a + "\u2069", "\u2068" + b + "\u2069") : found.verdict;
  const details = [];
  if (found.difference !== null) details.push(`Difference ${number(found.difference)}`);
  if (found.low !== null) details.push(`95 % interval ${number(found.low)} to ${number(found.high)}`);
  if (found.p !== null) details.push(`adjusted p ${number(found.p, 4)}`);
  details.push(`${count(found.n)} questions`);
  if (found.detectable !== null) details.push(`smallest difference detectable with 80 % power ${number(found.detectable)}`);
  else if (found.verdict !== "not_enough_data") details.push("no variation seen");
  return [el(["better", "worse"].includes(found.verdict) ? "strong" : "span", sentence), ` ${details.join("; ")}.`];
}

function startComparison() {
  const [metricSelect, left, right, only, verdict, box] = ["cmp-metric", "cmp-a", "cmp-b", "cmp-only", "cmp-verdict", "cmp-table"].map(byId);
  if (!fillSampleMetricSelect(metricSelect)) return;
  PAGE.order.forEach((system, at) => {
    left.append(option(system, system, at === 0));
    right.append(option(system, system, at === 1));
  });

  async function show() {
    const metric = metricAt.get(metricSelect.value);
    const [a, b] = [left.value, right.value];
    for (const [select, other] of [[left, b], [right, a]])
      for (const each of select.options) each.disabled = each.value === other;
    const [x, y] = [PAGE.systems.indexOf(a), PAGE.systems.indexOf(b)];
    const table = await scoreMatrix(metric.e);
    const sign = metric.best === "high" ? 1 : -1;
    const rows = (await questions()).map((question) => {
      const [one, other] = [x, y].map((s) => table.value(metric.m, question.at, s));
      return { ...question, one, other, difference: one - other };
    });
    const countRows = (matches) => rows.filter((row) => matches(sign * row.difference)).length;
    const unpaired = countRows((d) => Number.isNaN(d));
    const text = [
      `${count(countRows((d) => d > 0))} questions favour the first, ${count(countRows((d) => d < 0))} the second, `,
      `${count(countRows((d) => d === 0))} neither`,
      unpaired ? `; ${count(unpaired)} without scores of both systems.` : ".",
    ].join("");
    verdict.replaceChildren(el("p", ...verdictText(metric, a, b)), el("p", text));
    const shown = only.checked ? rows.filter((row) => row.difference !== 0 && !Number.isNaN(row.difference)) : rows;
    const empty = rows.every((row) => Number.isNaN(row.difference)) ? "No question has scores of both systems." : "The systems do not differ on any question.";
    const ordered = sorted(shown, (row) => Math.abs(row.difference), true);
    let list = [];
    const columns = [
      { title: "Question", value: (row) => row.id, cell: (row) => questionLink(row, [a, b], () => list) },
      { title: a, head: el("bdi", breakable(a)), value: (row) => row.one, cell: (row) => number(row.one), numeric: true, first: "desc" },
      { title: b, head: el("bdi", breakable(b)), value: (row) => row.other, cell: (row) => number(row.other), numeric: true, first: "desc" },
      { title: "Difference", value: (row) => row.difference, cell: (row) => number(row.difference), numeric: true, first: "desc" },
    ];
    const onOrder = (found) => (list = found.map((row) => row.at));
    if (!ordered.length) return box.replaceChildren(el("p", { class: "none" }, empty));
    box.replaceChildren(sortableTable(columns, ordered, { caption: metric.summary, size: 20, label: "compared questions", onOrder }));
  }

  showSection("comparison", { metric: [metricSelect], systems: [left, right] }, show, true);
}

if (byId("comparison")) startComparison();
