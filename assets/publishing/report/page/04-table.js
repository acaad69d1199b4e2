// Sortable and paged tables.

// columns: {title, head, value(row), cell(row), numeric, kind, hint, first: "asc" | "desc", parts}
// options: caption, sort (index of a column), descending, header (index of a column), empty,
// size and label (rows of a page, and what they are called), onOrder(rows): the rows as they are shown
function sortableTable(columns, rows, options = {}) {
  let [at, ordered] = [options.sort ?? null, rows];
  let descending = options.descending ?? false;
  const header = options.header ?? 0;
  const body = el("tbody");
  const pages = options.size ? pager(options.size, options.label, fill) : null;
  const heads = columns.map((column, index) => {
    const button = el(
      "button",
      { type: "button", class: "sort", title: column.hint, onclick: () => choose(index) },
      column.head ?? column.title,
    );
    return el("th", { scope: "col", class: columnClass({ ...column, kind: index === header ? "pinned" : column.kind }) }, button);
  });
  function choose(index) {
    if (at === index) descending = !descending;
    else {
      at = index;
      descending = columns[index].first === "desc";
    }
    show();
    announce(`sorted by ${columns[index].title}, ${descending ? "descending" : "ascending"}`);
  }

  function show() {
    ordered = at === null ? rows : sorted(rows, columns[at].value, descending);
    heads.forEach((head, index) => {
      if (index === at) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    options.onOrder?.(ordered);
    if (pages) pages.show(ordered);
    else fill(ordered);
  }

  function fill(found) {
    body.replaceChildren(...found.map(tableRow));
    if (!found.length) body.append(emptyRow(columns.length, options.empty || "No rows."));
  }

  function tableRow(row) {
    const cells = columns.map((column, index) => {
      const shown = column.cell ? column.cell(row) : column.value(row);
      const isHeader = index === header;
      return el(isHeader ? "th" : "td", { scope: isHeader ? "row" : null, class: columnClass(column) }, shown);
    });
    return el("tr", cells);
  }

  show();
  const table = el("table", options.caption ? tableCaption(options.caption) : null, el("thead", el("tr", heads)), body);
  const parts = columns.flatMap((column) => column.parts ?? [column]);
  table.values = () => ({ heads: parts.map((part) => part.title), rows: ordered.map((row) => parts.map((part) => part.value(row))) });
  return el("div", scrollable(table, options.label), pages?.nav);
}

function emptyRow(width, text) {
  return el("tr", el("td", { colspan: width, class: "none" }, text));
}

function columnClass(column) {
  return [column.numeric ? "num" : null, column.kind].filter(Boolean).join(" ") || null;
}

// A caption that wraps at the edge of the screen, even if its table is wider.
function tableCaption(text) {
  return el("caption", el("span", text));
}

// Sort rows by a value; rows without a value come last in both directions.
function sorted(rows, valueOf, descending) {
  const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);
  return [...rows].sort((one, other) => {
    const [a, b] = [valueOf(one), valueOf(other)];
    if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b);
    const order = typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
    return descending ? -order : order;
  });
}

// A table in a box that may be wider than the screen and that the keyboard can scroll.
function scrollable(table, label) {
  const box = el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, table);
  return el("div", markEdge(box), copyLine(table));
}

const MAX_PRINTED = 1000; // rows up to which a table in pages is printed whole

// The controls of rows in pages: `nav`, and `show(rows)`; draw(rows) shows one page.
function pager(size, label, draw) {
  const text = el("span");
  const previous = el("button", { type: "button", onclick: () => go(-1) }, "Previous");
  const next = el("button", { type: "button", onclick: () => go(1) }, "Next");
  const nav = el("nav", { class: "pages", "aria-label": `pages of ${label}` }, previous, text, next);
  let [rows, page, isWhole] = [[], 0, false];
  const last = () => Math.max(0, Math.ceil(rows.length / size) - 1);

  function go(step) {
    page = Math.min(last(), Math.max(0, page + step));
    update();
    announce(text.textContent);
  }

  function update() {
    const [from, to] = isWhole ? [0, rows.length] : [page * size, Math.min(rows.length, (page + 1) * size)];
    text.textContent = `${label} ${count(from + 1)} to ${count(to)} of ${count(rows.length)}`;
    previous.disabled = page === 0;
    next.disabled = page === last();
    nav.hidden = rows.length <= size;
    draw(rows.slice(from, to));
  }

  nav.print = (isPrinted) => {
    if (rows.length <= size || rows.length > MAX_PRINTED) return;
    isWhole = isPrinted;
    update();
  };
  function show(found) {
    [rows, page] = [found, 0];
    update();
  }
  return { nav, show };
}

// Paper has no buttons: tables in pages are printed whole.
for (const [event, isPrinted] of [["beforeprint", true], ["afterprint", false]])
  window.addEventListener(event, () => {
    for (const nav of document.querySelectorAll("nav.pages")) nav.print(isPrinted);
  });
