// Elements and texts. Data becomes text nodes, never markup.

const FOLD = 700; // characters of a long text that are shown at first

// el("p", { class: "fine" }, "a text", el("b", "another")): the attributes are optional.
function el(tag, ...children) {
  const made = document.createElement(tag);
  const attributes = children[0]?.constructor === Object ? children.shift() : {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

function svgEl(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// A name that cannot change the text direction around it.
function name(text) {
  return el("bdi", text);
}

const ESCAPES = /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))/g;

// The name that an address means. Pages have escapes in place of hidden characters, an address may
// have the characters.
function knownName(text, names) {
  const original = (each) => each.replace(ESCAPES, (_, ...codes) => String.fromCodePoint(parseInt(codes.slice(0, 3).find(Boolean), 16)));
  return names.find((each) => each === text) ?? names.find((each) => original(each) === text);
}

// A text of any length, with its own direction; a long one is folded.
function prose(text, tag = "div") {
  if (text === null || text === undefined) return el(tag, { class: "none" }, "none");
  if (text === "") return el(tag, { class: "none" }, "empty");
  const box = el(tag, { class: "prose", dir: "auto" });
  if (text.length <= FOLD * 1.2) {
    box.append(text);
    return box;
  }
  const unfold = () => {
    box.replaceChildren(text);
    box.tabIndex = -1;
    box.focus();
  };
  const label = `Show ${count(text.length - FOLD)} more characters`;
  box.append(text.slice(0, FOLD), "… ", linkButton(label, unfold));
  return box;
}

// A name of ours that may be broken after a dot or an underscore.
function breakable(text) {
  return text.split(/(?<=[._])/).flatMap((part, at) => (at ? [el("wbr"), part] : [part]));
}

function bestBadge(text) {
  return el("span", { class: "badge best" }, text);
}

// A button that looks like a link.
function linkButton(text, onclick) {
  return el("button", { type: "button", class: "link", onclick }, text);
}

function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.0005 || size >= 1e6)) return value.toExponential(2);
  if (Number.isInteger(value) && size >= 1000) return value.toLocaleString("en");
  return value.toFixed(digits);
}

// US dollars with two digits that count: $0.00057, $1.40.
function money(value) {
  if (value >= 0.1 || value === 0) return `$${value.toFixed(2)}`;
  return `$${value.toFixed(Math.min(12, 1 - Math.floor(Math.log10(value))))}`;
}

function count(value) {
  return value === null || value === undefined ? "–" : value.toLocaleString("en");
}

function percent(value) {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)} %`;
}

function byId(id) {
  return document.getElementById(id);
}

function option(value, text, selected) {
  const made = el("option", { value }, text);
  made.selected = Boolean(selected);
  return made;
}

function announce(text) {
  byId("status").textContent = text;
}
