// The answers on which one of our metrics and that of another tool differ most.

function startReported() {
  const select = byId("reported-pair");

  async function show() {
    const pair = PAGE.reported[select.value];
    const known = await questions();
    const rows = pair.rows.map(([at, system, repeat, ours, theirs, difference]) => ({ ...known[at], system: PAGE.systems[system], repeat, ours, theirs, difference }));
    let list = [];
    const columns = [
      { title: "Question", value: (row) => row.id, cell: (row) => questionLink(row, [row.system], () => list) },
      { title: "System", value: (row) => row.system, cell: (row) => name(row.system) },
      { title: "Answer", value: (row) => row.repeat, cell: (row) => count(row.repeat + 1), numeric: true, kind: "secondary" },
      { title: "Ours", value: (row) => row.ours, cell: (row) => number(row.ours), numeric: true, hint: pair.ours },
      { title: "Theirs", value: (row) => row.theirs, cell: (row) => number(row.theirs), numeric: true, hint: pair.theirs },
      { title: "Difference", value: (row) => row.difference, cell: (row) => number(row.difference), numeric: true, first: "desc", hint: "On a scale from 0 to 1" },
    ].filter((column) => column.title !== "Answer" || rows.some((row) => row.repeat > 0));
    const onOrder = (found) => (list = found.map((row) => row.at));
    const caption = `${pair.ours} and ${pair.theirs}, the largest differences first`;
    byId("reported-table").replaceChildren(sortableTable(columns, rows, { caption, size: 20, label: "answers", empty: "No answer differs.", onOrder }));
  }

  showSection("reported", {}, show, true);
}

if (byId("reported")) startReported();
