// Charts: Vega-Lite specifications, drawn in the colours of the page when they scroll into view.

const SCREEN = { background: "transparent", ink: "var(--text)", quiet: "var(--text-muted)", line: "var(--border)" };
const PAPER = { background: "white", ink: "#000", quiet: "#000", line: "#ddd" };

function chartConfig({ background, ink, quiet, line }) {
  return {
    background,
    font: getComputedStyle(document.body).fontFamily,
    view: { stroke: null },
    axis: { labelFlush: false, labelOverlap: true, labelSeparation: 6, labelColor: quiet, titleColor: ink, gridColor: line, domainColor: quiet, tickColor: quiet, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" },
    legend: { labelColor: ink, titleColor: ink, labelFontSize: 13 },
    header: { labelColor: ink, labelFontSize: 13 },
    text: { color: ink },
  };
}

const FACET = 272; // pixels of the smallest facet with its margins
const MARGINS = 42; // pixels between facets
const SMALLEST = 120; // pixels of a facet on a phone, with long names beside it
const NAMES = 110; // pixels of the system names beside the first facet
const LEGEND = 205; // pixels of one name in a legend

// Fit a chart to the width of the page: one facet fills it, several share a row if they fit.
// A legend has as many columns as fit.
function fitToWidth(spec, room) {
  const columns = (width, most) => Math.max(1, Math.min(most, Math.floor(width)));
  const legends = (part) => {
    for (const each of Object.values(part ?? {})) if (each && typeof each === "object") legends(each);
    if (part?.legend?.columns) part.legend.columns = columns((room - 60) / LEGEND, 4);
  };
  legends(spec);
  if (spec.facet && spec.columns > 1) {
    const inRow = columns((room - NAMES) / FACET, Math.min(4, spec.facet.sort?.length ?? 4));
    const width = Math.max(spec.spec.width, Math.min(420, Math.floor((room - NAMES) / inRow) - MARGINS));
    return { ...spec, columns: inRow, spec: { ...spec.spec, width } };
  }
  if (spec.facet) {
    const width = Math.min(spec.spec.width, Math.max(FACET - 35, room - NAMES - 20));
    return { ...spec, spec: { ...spec.spec, width } };
  }
  return { ...spec, width: "container", autosize: { type: "fit-x", contains: "padding" } };
}

function chartSpec(chart) {
  return JSON.parse(byId(`chart-${chart}`).textContent);
}

async function embed(place, spec, colours) {
  if (!window.vegaEmbed) throw new Error("The file vega-*.js in the folder above this page is missing.");
  const { view } = await vegaEmbed(place, spec, {
    ast: true, // interprets expressions, so that the policy need not allow eval
    renderer: "svg",
    actions: false,
    config: chartConfig(colours),
    tooltip: { theme: "report" },
  });
  return view;
}

// Draw a chart: its own specification, or one that its panel has made for the controls.
async function draw(place, made = place.spec ?? chartSpec(place.dataset.chart)) {
  place.spec = made;
  const spec = { ...structuredClone(made), description: place.getAttribute("aria-label") }; // Vega sets the label to it
  place.classList.toggle("facets", Boolean(spec.facet));
  place.view?.finalize();
  const fitted = fitToWidth(spec, place.clientWidth);
  let view = await embed(place, fitted, SCREEN);
  const excess = place.scrollWidth - place.clientWidth; // long names leave less room for the facets
  if (excess > 0 && fitted.facet) {
    fitted.spec.width = Math.max(SMALLEST, fitted.spec.width - Math.ceil(excess / (fitted.columns ?? 1)));
    view.finalize();
    view = await embed(place, fitted, SCREEN);
  }
  place.view = view;
  place.dataset.drawn = "yes";
  place.querySelector("svg")?.setAttribute("aria-hidden", "true");
}

// Call back once, when an element comes near the screen. With `isPrinted`, also when the browser is
// idle, so that the page can be printed completely.
function whenSeen(element, callback, isPrinted) {
  const seen = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && start(), { rootMargin: "300px" });
  let started = false;
  async function start() {
    if (started) return;
    started = true;
    seen.disconnect();
    try {
      await callback();
    } catch (error) {
      element.append(el("p", { class: "warn" }, error.message));
    }
  }
  seen.observe(element);
  const later = window.requestIdleCallback ?? ((call) => setTimeout(call, 500));
  if (isPrinted) window.addEventListener("load", () => later(start, { timeout: 3000 }));
}

for (const place of document.querySelectorAll("[data-chart]")) whenSeen(place, () => draw(place), true);
for (const button of document.querySelectorAll("[data-reset]"))
  button.addEventListener("click", () => draw(document.querySelector(`[data-chart="${button.dataset.reset}"]`)));

// Save a chart as an image, at its own size and in the colours of paper.
async function saveImage({ save: chart, format }) {
  const shown = document.querySelector(`[data-chart="${chart}"]`)?.spec;
  const view = await embed(el("div"), structuredClone(shown ?? chartSpec(chart)), PAPER);
  el("a", { href: await view.toImageURL(format, 2), download: `${chart}.${format}` }).click();
  view.finalize();
}

for (const button of document.querySelectorAll("[data-format]"))
  button.addEventListener("click", () => saveImage(button.dataset).catch((error) => button.after(el("span", { class: "warn" }, error.message))));
