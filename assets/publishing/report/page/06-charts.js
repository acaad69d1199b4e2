// Charts: Vega-Lite specifications drawn in the colours of the page, when they come into view.

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (key) => style.getPropertyValue(key).trim();
  const [ink, quiet, line] = [of("--ink"), of("--quiet"), of("--line")];
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

const PANEL = 265; // pixels of one panel with what stands around it
const NAMES = 110; // of the names before the first
const LEGEND = 205; // of one name in a legend

// Charts of one panel are as wide as the page; of several, as many stand in a row as have room.
// A legend has as many columns as there is room for.
function fitted(spec, room) {
  const columns = (width, most) => Math.max(1, Math.min(most, Math.floor(width)));
  const legends = (part) => {
    for (const each of Object.values(part ?? {})) if (each && typeof each === "object") legends(each);
    if (part?.legend?.columns) part.legend.columns = columns((room - 60) / LEGEND, 4);
  };
  legends(spec);
  if (spec.facet && spec.columns > 1) return { ...spec, columns: columns((room - NAMES) / PANEL, 4) };
  if (spec.facet) {
    const width = Math.min(spec.spec.width, Math.max(PANEL - 35, room - NAMES - 20));
    return { ...spec, spec: { ...spec.spec, width } };
  }
  return { ...spec, width: "container", autosize: { type: "fit-x", contains: "padding" } };
}

async function draw(place) {
  const spec = JSON.parse(byId(`chart-${place.dataset.chart}`).textContent);
  if (spec.facet) place.classList.add("panels");
  const { view } = await vegaEmbed(place, fitted(spec, place.clientWidth), {
    ast: true, // no code is made from text, so the page needs no leave to do so
    renderer: "svg",
    actions: false,
    config: colours(),
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
  // Paper shows all of them, and does not wait for what begins when it is asked for.
  whenIdle(() => places.forEach(drawOnce));
  for (const button of document.querySelectorAll("[data-reset]"))
    button.addEventListener("click", () => draw(document.querySelector(`[data-chart="${button.dataset.reset}"]`)));
}
