// Tables that can be sorted by every column and read by every device.

// columns: {title, head, value(row), cell(row), numeric, kind, hint, first: "asc" | "desc"}
// options: caption, sort (index of a column), descending, onRow(row), rowKey(row), empty
function sortable(columns, rows, options = {}) {
  let at = options.sort ?? null;
  let descending = options.descending ?? false;
  const body = el("tbody");
  const heads = columns.map((column, index) => {
    const button = el(
      "button",
      { type: "button", class: "sort", title: column.hint, onclick: () => choose(index) },
      column.head ?? column.title,
    );
    return el("th", { scope: "col", class: kindOf(column) }, button);
  });
  const table = el(
    "table",
    {},
    options.caption ? captioned(options.caption) : null,
    el("thead", {}, el("tr", {}, heads)),
    body,
  );

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
    const ordered = at === null ? rows : inOrder(rows, columns[at].value, descending);
    heads.forEach((head, index) => {
      if (index === at) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    body.replaceChildren(...ordered.map(line));
    if (!ordered.length) {
      const text = options.empty || "nothing to show";
      body.append(el("tr", {}, el("td", { colspan: columns.length, class: "none" }, text)));
    }
  }

  function line(row) {
    return el(
      "tr",
      { class: options.rowClass ? options.rowClass(row) : null },
      columns.map((column, index) => {
        const shown = column.cell ? column.cell(row) : column.value(row);
        const kind = kindOf(column);
        return index === (options.header ?? 0)
          ? el("th", { scope: "row", class: kind }, shown)
          : el("td", { class: kind }, shown);
      }),
    );
  }

  show();
  return table;
}

function kindOf(column) {
  return column.numeric ? "num" : column.kind;
}

// A caption that wraps at the edge of the screen, however wide its table is.
function captioned(text) {
  return el("caption", {}, el("span", {}, text));
}

// Rows by a value; what has none comes last, whichever way the others go.
function inOrder(rows, value, descending) {
  const none = (each) => each === null || each === undefined || Number.isNaN(each);
  return [...rows].sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (none(a) || none(b)) return none(a) - none(b);
    const way = typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
    return descending ? -way : way;
  });
}

// A table that may be wider than the screen, in a box that the keyboard can scroll.
function scrolling(table, label) {
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, table);
}

// Many rows in pages: draw(part) shows one of them.
function paged(rows, size, draw, label) {
  const box = el("div");
  const inner = el("div");
  const text = el("span", {});
  const back = el("button", { type: "button", onclick: () => go(-1) }, "Previous");
  const next = el("button", { type: "button", onclick: () => go(1) }, "Next");
  let page = 0;
  const last = Math.max(0, Math.ceil(rows.length / size) - 1);

  function go(way) {
    page = Math.min(last, Math.max(0, page + way));
    show();
    announce(text.textContent);
  }

  function show() {
    const [from, to] = [page * size, Math.min(rows.length, (page + 1) * size)];
    text.textContent = rows.length
      ? `${label} ${count(from + 1)} to ${count(to)} of ${count(rows.length)}`
      : `no ${label}`;
    back.disabled = page === 0;
    next.disabled = page === last;
    inner.replaceChildren(draw(rows.slice(from, to)));
  }

  const controls = el("nav", { class: "pages", "aria-label": `pages of ${label}` }, back, text, next);
  controls.hidden = rows.length <= size;
  box.append(inner, controls);
  show();
  return box;
}
