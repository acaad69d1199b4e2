// The problems, the most severe first: one row for each system and evaluator.

const SEVERITIES = ["low", "medium", "high"];

function questionCell({ question_id: id, system }) {
  return id === null ? "" : linkButton(name(id), () => openQuestion(id, system === null ? [] : [system]));
}

// The first problem of a group, with the others below it.
function messageCell({ message, others }) {
  if (!others.length) return prose(message);
  const list = el("ul", others.map((row) => el("li", prose(row.message, "span"), " ", questionCell(row))));
  return [prose(message), el("details", el("summary", `${count(others.length)} more`), list)];
}

// Rows with the same system and evaluator as one row, in the order of their first ones.
function grouped(rows) {
  const groups = new Map();
  for (const row of rows) {
    const key = JSON.stringify([row.system, row.evaluator]);
    if (groups.has(key)) groups.get(key).others.push(row);
    else groups.set(key, { ...row, others: [] });
  }
  return [...groups.values()];
}

function startProblems() {
  const metric = (row) => [row.evaluator, row.metric].filter(Boolean).join(".");
  const words = (row) => row.kind.replaceAll("_", " ");
  const columns = [
    { title: "Severity", value: (row) => SEVERITIES.indexOf(row.severity), parts: [{ title: "Severity", value: (row) => row.severity }], cell: (row) => el("span", { class: `severity ${row.severity}` }, row.severity), first: "desc" },
    { title: "Problem", value: (row) => row.message, cell: messageCell, kind: "message" },
    { title: "Question", value: (row) => row.question_id, cell: questionCell },
    { title: "System", value: (row) => row.system, cell: (row) => name(row.system ?? ""), kind: "secondary" },
    { title: "Metric", value: metric, kind: "secondary" },
    { title: "Kind", value: (row) => row.kind, cell: words, kind: "secondary" },
  ];
  const filled = columns.filter((column) => PAGE.problems.some((row) => column.value(row) !== null && column.value(row) !== ""));
  function show() {
    const matches = textFilter(byId("problems-filter"));
    const rows = grouped(PAGE.problems.filter((row) => matches([words(row), ...Object.values(row)].join("\n"))));
    const options = { header: 1, size: 20, label: "problems", empty: nothingFound(byId("problems-filter"), "problem") };
    byId("problems-table").replaceChildren(sortableTable(filled, rows, options));
  }
  showSection("problems", {}, show);
}

if (byId("problems")) startProblems();
