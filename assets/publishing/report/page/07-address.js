// The state of the page in its address: #q=ID&systems=A,B&metric=M&slice=S, and the filter of questions.

const EMPTY = { q: null, systems: [], metric: null, slice: null, order: null, text: null, in: [], only: [], wrong: null, tag: null };
const state = { ...EMPTY, ...readAddress() };
const followers = [];

// The state in the address; null where the address names a section, or nothing.
function readAddress() {
  const hash = location.hash.slice(1);
  if (hash !== "" && !hash.includes("=")) return null;
  const parts = new Map(hash.split("&").map((part) => part.split("=")));
  const read = (key) => (parts.get(key) ?? "").split(",").map(decoded).filter(Boolean);
  const found = Object.fromEntries(Object.entries(EMPTY).map(([key, empty]) => [key, Array.isArray(empty) ? read(key) : read(key)[0] ?? null]));
  return { ...found, systems: found.systems.map((system) => knownName(system, PAGE.systems) ?? system) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return ""; // someone cut the address
  }
}

function stateAddress() {
  const parts = Object.keys(EMPTY)
    .map((key) => [key, [state[key] ?? []].flat().map(encodeURIComponent).join(",")])
    .filter(([, text]) => text !== "");
  return parts.length ? `#${parts.map(([key, text]) => `${key}=${text}`).join("&")}` : location.pathname + location.search;
}

// Change the state and the address. With `isNew`, Back returns to the state before.
function setState(changes, isNew = false) {
  if (isNew) writeAddress();
  Object.assign(state, changes);
  if (isNew) history.pushState({ isOpened: true }, "", stateAddress());
  else writeAddress();
}

const TYPING = 300; // milliseconds: browsers limit how often a page may change its address
let nextAddress = null;

function writeAddress() {
  clearTimeout(nextAddress);
  nextAddress = null;
  history.replaceState(history.state, "", stateAddress());
}

// Show a section again when a control changes, or the state that it shows. Some controls show a part
// of the state: {metric: [select], systems: [select, select], text: [input], only: [box, box]}.
// With `isLazy`, it is first shown when it comes near the screen.
function showSection(section, controls, show, isLazy) {
  const bound = Object.entries(controls).map(([key, all]) => ({ key, all, first: all.map((control) => control.value) }));
  let isShown = !isLazy;
  const follow = (keys) => {
    const changed = bound.filter(({ key }) => keys.includes(key));
    for (const { key, all, first } of changed) showState(all, [state[key] ?? []].flat(), first);
    return changed.length && isShown ? show() : null;
  };
  const start = () => {
    isShown = true;
    return show();
  };
  for (const control of byId(section).querySelectorAll(".controls select, .controls input")) {
    const { key, all } = bound.find((each) => each.all.includes(control)) ?? {};
    control.addEventListener(control.type === "search" ? "input" : "change", () => {
      if (!key) return show();
      const values = all.filter((each) => each.type !== "checkbox" || each.checked).map((each) => each.value || null);
      const change = { [key]: Array.isArray(EMPTY[key]) ? values : values[0] };
      if (control.type === "search") {
        Object.assign(state, change);
        clearTimeout(nextAddress);
        nextAddress = setTimeout(writeAddress, TYPING);
      } else setState(change);
      return followState([key]);
    });
  }
  followers.push(follow);
  follow(Object.keys(EMPTY));
  if (isLazy) whenSeen(byId(section), start, PAGE.n_shown <= MAX_PRINTED);
  return isLazy ? null : start();
}

// Show a part of the state in its controls.
function showState(controls, values, first) {
  if (controls[0]?.type === "checkbox") for (const box of controls) box.checked = values.includes(box.value);
  else if (controls[0]?.type === "search") controls[0].value = values[0] ?? "";
  else chooseOptions(controls, values, first);
}

// Select the given values, or the first ones where a select does not have them all.
function chooseOptions(selects, values, first) {
  const named = (select, value) => (value ? knownName(value, Array.from(select.options, (each) => each.value)) : undefined);
  const found = selects.map((select, at) => named(select, values[at]));
  const known = !found.includes(undefined);
  selects.forEach((select, at) => (select.value = known ? found[at] : first[at]));
}

function followState(keys) {
  return Promise.all(followers.map((follow) => follow(keys)));
}

// Back and Forward, and addresses that the reader changes.
window.addEventListener("popstate", () => {
  clearTimeout(nextAddress);
  const before = { ...state };
  Object.assign(state, readAddress() ?? { q: null });
  followState(Object.keys(state).filter((key) => String(state[key]) !== String(before[key])));
  if (state.q === null) dialog.close();
  else openFromAddress();
});

function openFromAddress() {
  return state.q === null ? null : openQuestion(state.q, state.systems);
}

queueMicrotask(openFromAddress); // after the panels have started

// Copy a text; browsers offer the clipboard only on secure pages, such as files and https.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = el("textarea", { class: "copied" }, text);
    (dialog.open ? dialog : document.body).append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

// A click copies what `text()` returns, and the button says so.
function copyButton(button, text) {
  const label = button.textContent;
  button.addEventListener("click", async () => {
    await copyText(text());
    button.textContent = "Copied";
    announce("copied");
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

for (const button of document.querySelectorAll(".copy-link")) copyButton(button, () => new URL(stateAddress(), location.href).href);
