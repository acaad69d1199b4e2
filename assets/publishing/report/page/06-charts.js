// Charts: Vega-Lite specifications, drawn in the colours of the page when they scroll into view.

function chartConfig() {
  const style = getComputedStyle(document.documentElement);
  const colour = (key) => style.getPropertyValue(key).trim();
  const [ink, quiet, line] = [colour("--text"), colour("--text-muted"), colour("--border")];
  const font = getComputedStyle(document.body).fontFamily;
  return {
    background: "transparent",
    font,
    view: { stroke: null },
    axis: { labelFlush: false, labelOverlap: true, labelSeparation: 6, labelColor: quiet, titleColor: ink, gridColor: line, domainColor: quiet, tickColor: quiet, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" },
    legend: { labelColor: ink, titleColor: ink, labelFontSize: 13 },
    header: { labelColor: ink, labelFontSize: 13 },
    text: { color: ink },
  };
}

const FACET = 265; // pixels of one facet with its margins
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
  if (spec.facet && spec.columns > 1) return { ...spec, columns: columns((room - NAMES) / FACET, 4) };
  if (spec.facet) {
    const width = Math.min(spec.spec.width, Math.max(FACET - 35, room - NAMES - 20));
    return { ...spec, spec: { ...spec.spec, width } };
  }
  return { ...spec, width: "container", autosize: { type: "fit-x", contains: "padding" } };
}

async function draw(place) {
  const spec = JSON.parse(byId(`chart-${place.dataset.chart}`).textContent);
  if (spec.facet) place.classList.add("facets");
  if (!window.vegaEmbed) {
    place.replaceChildren(el("p", { class: "warn" }, "The file vega-*.js in the folder above this page is missing."));
    return;
  }
  const { view } = await vegaEmbed(place, fitToWidth(spec, place.clientWidth), {
    ast: true, // interprets expressions, so that the policy need not allow eval
    renderer: "svg",
    actions: false,
    config: chartConfig(),
    tooltip: { theme: isDark() ? "dark" : "light" },
  });
  place.view = view;
  place.dataset.drawn = "yes";
  const drawn = place.querySelector("svg");
  if (drawn) drawn.setAttribute("aria-hidden", "true");
}

function whenIdle(callback) {
  const later = window.requestIdleCallback ?? ((call) => setTimeout(call, 500));
  window.addEventListener("load", () => later(callback, { timeout: 3000 }));
}

function startCharts() {
  const places = [...document.querySelectorAll("[data-chart]")];
  const waiting = new Set(places);
  const drawOnce = (place) => waiting.delete(place) && draw(place);
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries.filter((each) => each.isIntersecting)) {
        seen.unobserve(entry.target);
        drawOnce(entry.target);
      }
    },
    { rootMargin: "300px" },
  );
  for (const place of places) seen.observe(place);
  onTheme.push(() => places.filter((place) => place.dataset.drawn).forEach(draw));
  // Draw all charts before the page is printed.
  whenIdle(() => places.forEach(drawOnce));
  for (const button of document.querySelectorAll("[data-reset]"))
    button.addEventListener("click", () => draw(document.querySelector(`[data-chart="${button.dataset.reset}"]`)));
}
