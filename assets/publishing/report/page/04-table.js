// Sortable and paged tables.

// columns: {title, head, value(row), cell(row), numeric, kind, hint, first: "asc" | "desc"}
// options: caption, sort (index of a column), descending, header (index of a column), empty
function sortableTable(columns, rows, options = {}) {
  let at = options.sort ?? null;
  let descending = options.descending ?? false;
  const body = el("tbody");
  const heads = columns.map((column, index) => {
    const button = el(
      "button",
      { type: "button", class: "sort", title: column.hint, onclick: () => choose(index) },
      column.head ?? column.title,
    );
    return el("th", { scope: "col", class: columnClass(column) }, button);
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
    const ordered = at === null ? rows : sorted(rows, columns[at].value, descending);
    heads.forEach((head, index) => {
      if (index === at) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    body.replaceChildren(...ordered.map(tableRow));
    if (!ordered.length) {
      const text = options.empty || "No rows.";
      body.append(el("tr", el("td", { colspan: columns.length, class: "none" }, text)));
    }
  }

  function tableRow(row) {
    const cells = columns.map((column, index) => {
      const shown = column.cell ? column.cell(row) : column.value(row);
      const isHeader = index === (options.header ?? 0);
      return el(isHeader ? "th" : "td", { scope: isHeader ? "row" : null, class: columnClass(column) }, shown);
    });
    return el("tr", cells);
  }

  show();
  return el("table", options.caption ? tableCaption(options.caption) : null, el("thead", el("tr", heads)), body);
}

function columnClass(column) {
  return column.numeric ? "num" : column.kind;
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

// A box for a table that may be wider than the screen; the keyboard can scroll it.
function scrollable(table, label) {
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, table);
}

// Rows in pages; draw(rows) shows one page.
function pagedTable(rows, size, draw, label) {
  const inner = el("div");
  const text = el("span");
  const previous = el("button", { type: "button", onclick: () => go(-1) }, "Previous");
  const next = el("button", { type: "button", onclick: () => go(1) }, "Next");
  let page = 0;
  const last = Math.max(0, Math.ceil(rows.length / size) - 1);

  function go(step) {
    page = Math.min(last, Math.max(0, page + step));
    show();
    announce(text.textContent);
  }

  function show() {
    const [from, to] = [page * size, Math.min(rows.length, (page + 1) * size)];
    text.textContent = rows.length
      ? `${label} ${count(from + 1)} to ${count(to)} of ${count(rows.length)}`
      : `No ${label}.`;
    previous.disabled = page === 0;
    next.disabled = page === last;
    inner.replaceChildren(rows.length ? draw(rows.slice(from, to)) : el("p", { class: "none" }, `Nothing found: no ${label} match.`));
  }

  const controls = el("nav", { class: "pages", "aria-label": `pages of ${label}` }, previous, text, next);
  controls.hidden = rows.length <= size;
  show();
  return el("div", inner, controls);
}
