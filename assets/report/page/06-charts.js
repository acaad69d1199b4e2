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
    axis: { labelColor: quiet, titleColor: ink, gridColor: line, domainColor: quiet, tickColor: quiet, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" },
    legend: { labelColor: ink, titleColor: ink, labelFontSize: 13 },
    header: { labelColor: ink, labelFontSize: 13 },
    text: { color: ink },
  };
}

// Charts of one panel are as wide as the page; panels beside one another keep their width.
function fitted(spec) {
  return spec.facet ? spec : { ...spec, width: "container", autosize: { type: "fit-x", contains: "padding" } };
}

async function draw(place) {
  const spec = JSON.parse(byId(`chart-${place.dataset.chart}`).textContent);
  const { view } = await vegaEmbed(place, fitted(spec), {
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

function startCharts() {
  const places = [...document.querySelectorAll("[data-chart]")];
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries.filter((each) => each.isIntersecting)) {
        seen.unobserve(entry.target);
        draw(entry.target);
      }
    },
    { rootMargin: "300px" },
  );
  for (const place of places) seen.observe(place);
  onTheme.push(() => places.filter((place) => place.dataset.drawn).forEach(draw));
  window.addEventListener("beforeprint", () => places.filter((place) => !place.dataset.drawn).forEach(draw));
  for (const button of document.querySelectorAll("[data-reset]"))
    button.addEventListener("click", () => draw(document.querySelector(`[data-chart="${button.dataset.reset}"]`)));
}
