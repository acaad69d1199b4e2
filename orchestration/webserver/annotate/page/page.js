// The page of `scoreline annotate`. All texts come from files of unknown origin: they are only ever
// set as text, never as markup.
"use strict";

const REFRESH_MS = 4000;
const NAME = "scoreline-annotator";

const find = (id) => document.getElementById(id);
const csrf = document.querySelector("meta[name=csrf]").content;

let shown = null; // the last reply of the server
let busy = false; // while a request runs, keys do nothing: the next sample is not on the screen yet
let retry = null; // what failed, and can be tried again

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

const format = (number) => String(Math.round(number * 1000) / 1000);

function chosen() {
  const [benchmark, metric] = JSON.parse(find("metric").value);
  return { benchmark, metric, annotator: find("annotator").value.trim() };
}

async function request(path, body) {
  const options = body && {
    method: "POST",
    headers: { "content-type": "application/json", "x-csrf-token": csrf },
    body: JSON.stringify(body),
  };
  const reply = await fetch(path, options);
  const found = await reply.json();
  if (!reply.ok) throw new Error(found.error);
  return found;
}

/** Send something and show the next sample; without one, the sample on the screen stays. */
async function act(send, said) {
  if (busy) return;
  busy = true;
  document.body.setAttribute("aria-busy", "true");
  find("error").textContent = "";
  try {
    show(await send());
    find("status").textContent = said;
    retry = null;
  } catch (error) {
    retry = () => act(send, said);
    find("error").textContent = `${error.message} (Nothing was changed; press r to try again.)`;
  } finally {
    busy = false;
    document.body.removeAttribute("aria-busy");
  }
}

const next = (said) => act(() => request(`/next?${new URLSearchParams(chosen())}`), said);

function save(value) {
  const number = shown.sample?.number;
  if (number === undefined) return;
  const body = { ...chosen(), sample: number, value };
  act(() => request("/labels", body), `Saved: ${format(value)}.`);
}

function skip() {
  const number = shown.sample?.number;
  if (number !== undefined) act(() => request("/skip", { ...chosen(), sample: number }), "Skipped.");
}

function undo() {
  if (shown.progress.can_undo) act(() => request("/undo", chosen()), "Taken back.");
}

function show(found) {
  shown = found;
  find("asked").textContent = found.metric.question;
  find("summary").textContent = summary(found.metric);
  find("criterion").textContent = found.metric.criterion ?? "";
  find("criterion").hidden = !found.metric.criterion;
  const sample = find("sample");
  sample.replaceChildren(...(found.sample ? fields(found.sample) : []));
  find("done").hidden = found.sample !== null;
  showChoices(found.metric, found.sample === null);
  showProgress(found);
  find("work").hidden = false;
  if (document.activeElement?.tagName !== "SELECT") {
    find("asked").focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

function summary(metric) {
  const [low, high] = metric.bounds.map((value) => (value === null ? "∞" : format(value)));
  const best = metric.best === "high" ? "High is good." : "Low is good.";
  return `${metric.metric}: ${metric.summary} From ${low} to ${high}. ${best}`;
}

function fields(sample) {
  const made = sample.fields.map(({ title, texts }) => {
    const part = element("div", undefined, title === "Answer" ? { class: "answer" } : {});
    part.append(element("h3", title));
    if (texts.length === 1) part.append(paragraph("p", texts[0]));
    else {
      const list = element("ol");
      list.append(...texts.map((text) => paragraph("li", text)));
      part.append(list);
    }
    return part;
  });
  if (sample.system !== undefined) {
    const part = element("details");
    part.append(element("summary", "System and verdict"), paragraph("p", `System: ${sample.system}`));
    part.append(paragraph("p", `Value: ${sample.value ?? sample.reason}`));
    if (sample.detail) part.append(paragraph("p", sample.detail));
    made.push(part);
  }
  return made;
}

const paragraph = (tag, text) => element(tag, text, { class: "text", dir: "auto" });

/** The keys of the choices: whole numbers are their own keys, others are counted from 1. */
function keys(choices) {
  const isOwn = choices.every((value) => Number.isInteger(value) && value >= 0 && value <= 9);
  return choices.map((value, at) => String(isOwn ? value : at + 1));
}

function meaning(value, choices) {
  if (choices.length !== 2 || choices[0] !== 0 || choices[1] !== 1) return format(value);
  return value === 1 ? "1 (yes)" : "0 (no)";
}

function showChoices(metric, isDone) {
  const named = keys(metric.choices);
  const buttons = metric.choices.map((value, at) => {
    const button = element("button", undefined, { type: "button", "data-key": named[at] });
    button.append(element("kbd", named[at]), meaning(value, metric.choices));
    button.addEventListener("click", () => save(value));
    button.disabled = isDone;
    return button;
  });
  find("choices").replaceChildren(...buttons);
  const value = find("value");
  value.value = "";
  const [low, high] = metric.bounds;
  value.toggleAttribute("min", low !== null);
  value.toggleAttribute("max", high !== null);
  if (low !== null) value.min = low;
  if (high !== null) value.max = high;
  for (const id of ["value", "save", "skip"]) find(id).disabled = isDone;
  find("undo").disabled = !shown.progress.can_undo;
}

function showProgress({ progress, published }) {
  const rows = [
    ["Your labels", `${progress.own} of ${progress.samples} samples`],
    ["Labelled by anyone", String(progress.labelled)],
    ["Annotators", String(progress.n_annotators)],
    ["Agreement", agreement(progress)],
    ["Published", publication(published)],
  ];
  if (progress.skipped) rows.splice(1, 0, ["Skipped", String(progress.skipped)]);
  find("progress").replaceChildren(
    ...rows.flatMap(([name, text]) => [element("dt", name), element("dd", text)]),
  );
  find("undo").disabled = !progress.can_undo;
}

function agreement(progress) {
  const shared = `${progress.n_shared} samples with labels of several people`;
  if (progress.alpha === null) return `none yet: ${shared}`;
  const interval =
    progress.alpha_low === null
      ? ""
      : ` (95 % interval ${format(progress.alpha_low)} to ${format(progress.alpha_high)})`;
  const kappa = progress.kappa === null ? "" : `, Cohen's kappa ${format(progress.kappa)}`;
  return `Krippendorff's alpha ${format(progress.alpha)}${interval}${kappa}, ${shared}`;
}

function publication({ at, is_pending, error }) {
  if (error) return `not yet, it is tried again: ${error}`;
  if (is_pending) return "in a few seconds";
  return at ? `all labels, at ${new Date(at).toLocaleTimeString()}` : "no new labels";
}

/** What others do, and what was published, without touching the sample. */
async function refresh() {
  if (busy || !shown || document.hidden) return;
  try {
    const found = await request(`/next?${new URLSearchParams(chosen())}`);
    if (!busy) showProgress(found);
  } catch {
    // The next request of the person says what is wrong.
  }
}

function press(event) {
  const isTyping = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName);
  if (isTyping || event.repeat || event.ctrlKey || event.metaKey || event.altKey || !shown) return;
  const button = document.querySelector(`#choices [data-key="${CSS.escape(event.key)}"]`);
  const action =
    button && !button.disabled
      ? () => button.click()
      : { s: skip, u: undo, r: retry }[event.key.toLowerCase()];
  if (!action) return;
  event.preventDefault();
  action();
}

async function start() {
  const found = await request("/metrics");
  const options = found.metrics.map(({ benchmark, metric }) =>
    element("option", `${benchmark}: ${metric}`, { value: JSON.stringify([benchmark, metric]) }),
  );
  find("metric").append(...options);
  find("annotator").value = localStorage.getItem(NAME) ?? "";
  find("settings").addEventListener("submit", (event) => {
    event.preventDefault();
    localStorage.setItem(NAME, chosen().annotator);
    next("");
  });
  find("metric").addEventListener("change", () => shown && next(""));
  find("labels").addEventListener("submit", (event) => {
    event.preventDefault();
    if (find("value").value !== "") save(find("value").valueAsNumber);
  });
  find("skip").addEventListener("click", skip);
  find("undo").addEventListener("click", undo);
  document.addEventListener("keydown", press);
  setInterval(refresh, REFRESH_MS);
  if (chosen().annotator) next("");
  else find("annotator").focus();
  document.documentElement.dataset.ready = "yes";
}

start();
