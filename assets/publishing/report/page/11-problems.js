// Problems and insights, where there are any.

async function openById(id, systems) {
  const found = (await questions()).find((question) => question.id === id);
  if (found) openSample(found.at, systems);
  else announce("this question is not among those shown one by one");
}

function questionCell(row) {
  if (row.question_id === null) return "";
  const systems = row.system === null ? [] : [row.system];
  return el("button", { type: "button", class: "link", onclick: () => openById(row.question_id, systems) }, name(row.question_id));
}

const GRAVITY = ["low", "medium", "high"];

function startProblems() {
  const [wanted, place] = ["problems-filter", "problems-table"].map(byId);
  if (!place) return;
  const metric = (row) => [row.evaluator, row.metric].filter(Boolean).join(".");
  const columns = [
    { title: "Severity", value: (row) => GRAVITY.indexOf(row.severity), cell: (row) => el("span", { class: `severity ${row.severity}` }, row.severity), first: "desc" },
    { title: "What it is", value: (row) => row.message, cell: (row) => prose(row.message), kind: "told" },
    { title: "Question", value: (row) => row.question_id, cell: questionCell },
    { title: "System", value: (row) => row.system, cell: (row) => name(row.system ?? ""), kind: "aside" },
    { title: "Metric", value: metric, kind: "aside" },
    { title: "Kind", value: (row) => row.kind, cell: (row) => row.kind.replaceAll("_", " "), kind: "aside" },
  ];
  const filled = columns.filter((column) => FACTS.problems.some((row) => column.value(row) !== null && column.value(row) !== ""));
  function show() {
    const sought = wanted.value.trim().toLowerCase();
    const read = (row) => [row.kind.replaceAll("_", " "), ...Object.values(row)].join("\n").toLowerCase();
    const rows = FACTS.problems.filter((row) => read(row).includes(sought));
    const part = (some) => scrolling(sortable(filled, some, { header: 1 }), "problems");
    place.replaceChildren(paged(rows, 20, part, "problems"));
  }
  wanted.addEventListener("input", show);
  show();
}

function startInsights() {
  for (const place of document.querySelectorAll("[data-question]")) {
    const { question, system } = place.dataset;
    place.addEventListener("click", () => openById(question, system ? [system] : []));
  }
}
