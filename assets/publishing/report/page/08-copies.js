// Copies of tables as CSV, Markdown and JSON.

// The columns and rows of a table: its values, or what it shows.
function tableValues(table) {
  if (table.values) return table.values();
  const texts = (row) => [...row.cells].map((cell) => cell.innerText.trim().replace(/\s+/g, " "));
  const body = [...table.tBodies].filter((each) => !each.hidden).flatMap((each) => [...each.rows]);
  return { heads: texts(table.tHead.rows[0]), rows: body.map(texts) };
}

const asText = (value) => (value === null || value === undefined || Number.isNaN(value) ? "" : String(value));

function csvCell(value) {
  // A spreadsheet would run a text that starts like a formula.
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : asText(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function markdownCell(value) {
  return asText(value).replace(/[\\|`*_<>[\]]/g, "\\$&").replace(/\s*\n\s*/g, " ");
}

const FORMATS = {
  CSV: ({ heads, rows }) => [heads, ...rows].map((row) => row.map(csvCell).join(",")).join("\n") + "\n",
  Markdown: ({ heads, rows }) => [heads, heads.map(() => "---"), ...rows].map((row, at) => `| ${(at === 1 ? row : row.map(markdownCell)).join(" | ")} |`).join("\n") + "\n",
  JSON: ({ heads, rows }) => JSON.stringify(rows.map((row) => Object.fromEntries(heads.map((head, at) => [head, Number.isNaN(row[at]) ? null : row[at] ?? null]))), null, 2) + "\n",
};

// The line below a table that copies it.
function copyLine(table) {
  const buttons = Object.entries(FORMATS).map(([format, write], at) => {
    const button = el("button", { type: "button", class: "link", "aria-label": `Copy the table as ${format}` }, format);
    return [at ? ", " : "Copy: ", copyButton(button, () => write(tableValues(table)))];
  });
  return el("p", { class: "fine downloads" }, buttons);
}

for (const box of document.querySelectorAll(".wide:has(> table)")) box.after(copyLine(box.querySelector("table")));
