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
    const own = { mean: n ? sum / n : null, spread: n ? high - low : null, searched: `${question.id}\n${question.text}`.toLowerCase() };
    return { ...question, ...own, ...questionKinds(metric, table, question.at) };
  });
}

const MAX_TAGS = 500; // in the list of tags to choose from, the most frequent first

// Fill the select of tags with those that questions have.
function fillTags(select, rows) {
  const counts = new Map();
  for (const tag of rows.flatMap((row) => row.tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  const tags = sorted([...counts.keys()].sort(), (tag) => counts.get(tag), true).slice(0, MAX_TAGS);
  select.append(...sorted(tags, (tag) => tag, false).map((tag) => option(tag, `${tag} (${count(counts.get(tag))})`)));
  select.closest("label").hidden = !tags.length;
}

const HEAT_ORDERS = {
  hardest: (rows, metric) => sorted(rows, (row) => row.mean, metric.best === "low"),
  easiest: (rows, metric) => sorted(rows, (row) => row.mean, metric.best === "high"),
  difference: (rows) => sorted(rows, (row) => row.spread, true),
  id: (rows) => rows,
};

function startHeatMap() {
  const [metricSelect, order, filter, answers, wrong, tag, box] = ["metric", "order", "filter", "answers", "wrong", "tag", "table"].map((part) => byId(`heat-${part}`));
  if (!fillSampleMetricSelect(metricSelect)) return;
  const chips = [...document.querySelectorAll("#heat-only input")];
  wrong.append(...PAGE.order.map((system) => option(system, system)));
  wrong.closest("label").hidden = PAGE.systems.length < 2;

  let prepared = {}; // what a filter leaves as it is
  let loading = ""; // how much of the answers is loaded

  async function prepare(metric, by) {
    if (prepared.metric !== metric) {
      const table = await scoreMatrix(metric.e);
      const all = await heatRows(metric, table);
      markDisagreements(metric, all, await labels());
      if (tag.options.length === 1) {
        fillTags(tag, all);
        showState([tag], [state.tag], [""]);
      }
      prepared = { metric, table, all, scale: scaleEnds(metric, all) };
      byId("heat-meaning").textContent = meaningText(metric);
      for (const chip of chips) {
        const n = all.filter((row) => row[chip.value]).length;
        chip.parentElement.querySelector(".n").textContent = count(n);
        const isMissing = (chip.value === "disagreement" && !PAGE.labelled.includes(metric.at)) || (chip.value === "all_wrong" && passLimit(metric) === null);
        chip.parentElement.hidden = isMissing && !chip.checked;
      }
    }
    if (prepared.by !== by) Object.assign(prepared, { by, ordered: HEAT_ORDERS[by](prepared.all, metric) });
    return prepared;
  }

  const isFiltered = () => Boolean(filter.value.trim() || wrong.value || tag.value || chips.some((chip) => chip.checked));

  // The questions that the filter leaves, and how many there are.
  function filtered(ordered, term) {
    const kinds = chips.filter((chip) => chip.checked).map((chip) => chip.value);
    const system = PAGE.systems.indexOf(wrong.value);
    const isFound = (row) => row.searched.includes(term) || (answers.checked && (answersOf.get(row.at)?.lower.includes(term) ?? false));
    const rows = ordered.filter((row) => kinds.every((kind) => row[kind]) && (system < 0 || row.wrong === system) && (!tag.value || row.tags.includes(tag.value)) && isFound(row));
    byId("heat-count").textContent = `${isFiltered() ? `${count(rows.length)} of ` : ""}${plural(ordered.length, "question")}${loading && ` · ${loading}`}`;
    byId("heat-clear").hidden = !isFiltered();
    return rows;
  }

  function searchAnswers() {
    const say = (text) => {
      loading = text;
      if (prepared.ordered) filtered(prepared.ordered, filter.value.trim().toLowerCase());
    };
    loadAnswers(say).then(() => (loading = ""), (error) => (loading = error.message)).then(show);
  }

  async function show() {
    const metric = metricAt.get(metricSelect.value);
    const { table, scale, ordered } = await prepare(metric, order.value);
    const term = filter.value.trim().toLowerCase();
    if (!answers.checked && answersLoaded === "no") loading = "";
    if (term && answers.checked && answersLoaded === "no" && !loading) searchAnswers();
    const rows = filtered(ordered, term);
    const inAnswers = (row) => (term && answers.checked ? foundIn(row.at, term) : null);
    const heads = PAGE.order.map((system) => el("th", { scope: "col", class: "slanted" }, el("span", name(system))));
    const head = el("tr", el("th", { scope: "col", class: "pinned" }, "Question"), heads, el("th", { scope: "col", class: "num" }, "mean"));
    const line = (row) => {
      const cells = PAGE.order.map((system) => cell(metric, scale, row, system, table));
      return el("tr", el("th", { scope: "row" }, questionLink(row, [], () => heatMapList), inAnswers(row)), cells, el("td", { class: "num fine" }, number(row.mean, 2)));
    };
    heatMapList = rows.map((row) => row.at);
    const body = el("tbody");
    const pages = pager(25, "questions", (shown) => {
      body.replaceChildren(...shown.map(line));
      if (!shown.length) body.append(emptyRow(PAGE.order.length + 2, nothingText(term)));
    });
    pages.show(rows);
    const caption = tableCaption(`${metric.title}: ${metric.summary}`);
    const heat = el("table", { class: "heat" }, caption, el("thead", head), body);
    const scoresOf = (row) => PAGE.order.map((system) => table.value(metric.m, row.at, PAGE.systems.indexOf(system)));
    heat.values = () => ({ heads: ["question_id", "question", ...PAGE.order, "mean"], rows: rows.map((row) => [row.id, row.text, ...scoresOf(row), row.mean]) });
    box.replaceChildren(scrollable(heat, "heat map"), pages.nav);
    showPlace();
  }

  function nothingText(term) {
    if (loading) return loading;
    const others = isFiltered() && (wrong.value || tag.value || chips.some((chip) => chip.checked));
    if (!term || others) return "Nothing found: the filter leaves no question.";
    return nothingFound(filter, answers.checked ? "question and no answer" : "question");
  }

  byId("heat-clear").addEventListener("click", () => {
    setState({ text: null, only: [], wrong: null, tag: null });
    followState(["text", "only", "wrong", "tag"]);
    filter.focus();
  });

  const controls = { metric: [metricSelect], order: [order], text: [filter], in: [answers], only: chips, wrong: [wrong], tag: [tag] };
  // Next and Previous walk through the filtered questions, so that a link with a filter needs them at once.
  const isLinked = state.text || state.wrong || state.tag || state.only.length || state.order;
  showSection("questions", controls, show, !isLinked);
}

if (byId("questions")) startHeatMap();
