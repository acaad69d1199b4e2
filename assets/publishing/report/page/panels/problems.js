// The problems, the most severe first.

const SEVERITIES = ["low", "medium", "high"];

function questionCell({ question_id: id, system }) {
  return id === null ? "" : linkButton(name(id), () => openQuestion(id, system === null ? [] : [system]));
}

function startProblems() {
  const metric = (row) => [row.evaluator, row.metric].filter(Boolean).join(".");
  const words = (row) => row.kind.replaceAll("_", " ");
  const columns = [
    { title: "Severity", value: (row) => SEVERITIES.indexOf(row.severity), cell: (row) => el("span", { class: `severity ${row.severity}` }, row.severity), first: "desc" },
    { title: "Problem", value: (row) => row.message, cell: (row) => prose(row.message), kind: "message" },
    { title: "Question", value: (row) => row.question_id, cell: questionCell },
    { title: "System", value: (row) => row.system, cell: (row) => name(row.system ?? ""), kind: "secondary" },
    { title: "Metric", value: metric, kind: "secondary" },
    { title: "Kind", value: (row) => row.kind, cell: words, kind: "secondary" },
  ];
  const filled = columns.filter((column) => PAGE.problems.some((row) => column.value(row) !== null && column.value(row) !== ""));
  function show() {
    const matches = textFilter(byId("problems-filter"));
    const rows = PAGE.problems.filter((row) => matches([words(row), ...Object.values(row)].join("\n")));
    const drawPage = (pageRows) => scrollable(sortableTable(filled, pageRows, { header: 1 }), "problems");
    byId("problems-table").replaceChildren(pagedTable(rows, 20, drawPage, "problems"));
  }
  onInput("problems", show);
  show();
}

startProblems();
