// Problems, and the links of insights to their questions.

async function openQuestion(id, systems) {
  const found = (await questions()).find((question) => question.id === id);
  if (found) openSample(found.at, systems);
  else announce("The report does not show this question.");
}

function questionCell(row) {
  if (row.question_id === null) return "";
  const systems = row.system === null ? [] : [row.system];
  return el("button", { type: "button", class: "link", onclick: () => openQuestion(row.question_id, systems) }, name(row.question_id));
}

const SEVERITIES = ["low", "medium", "high"];

function startProblems() {
  const [filter, box] = ["problems-filter", "problems-table"].map(byId);
  if (!box) return;
  const metric = (row) => [row.evaluator, row.metric].filter(Boolean).join(".");
  const columns = [
    { title: "Severity", value: (row) => SEVERITIES.indexOf(row.severity), cell: (row) => el("span", { class: `severity ${row.severity}` }, row.severity), first: "desc" },
    { title: "Problem", value: (row) => row.message, cell: (row) => prose(row.message), kind: "message" },
    { title: "Question", value: (row) => row.question_id, cell: questionCell },
    { title: "System", value: (row) => row.system, cell: (row) => name(row.system ?? ""), kind: "secondary" },
    { title: "Metric", value: metric, kind: "secondary" },
    { title: "Kind", value: (row) => row.kind, cell: (row) => row.kind.replaceAll("_", " "), kind: "secondary" },
  ];
  const filled = columns.filter((column) => PAGE.problems.some((row) => column.value(row) !== null && column.value(row) !== ""));
  function show() {
    const term = filter.value.trim().toLowerCase();
    const read = (row) => [row.kind.replaceAll("_", " "), ...Object.values(row)].join("\n").toLowerCase();
    const rows = PAGE.problems.filter((row) => read(row).includes(term));
    const drawPage = (pageRows) => scrollable(sortableTable(filled, pageRows, { header: 1 }), "problems");
    box.replaceChildren(pagedTable(rows, 20, drawPage, "problems"));
  }
  filter.addEventListener("input", show);
  show();
}

function startInsights() {
  for (const box of document.querySelectorAll("[data-question]")) {
    const { question, system } = box.dataset;
    box.addEventListener("click", () => openQuestion(question, system ? [system] : []));
  }
}

startTheme();
startLeaderboard().then(() => document.documentElement.setAttribute("data-ready", "yes"));
startCharts();
startHeatMap();
startComparison();
startProblems();
startInsights();
startSample();
