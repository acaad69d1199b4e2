// Quality by the metric that the reader selects, against cost and time.

function startCosts() {
  const select = byId("cost-metric");
  for (const { title } of SHOWN) select.append(option(title, title));

  function show() {
    for (const place of document.querySelectorAll("#cost_and_time [data-chart]")) {
      const spec = chartSpec(place.dataset.chart);
      spec.transform[0].filter.equal = select.value;
      for (const layer of spec.layer) if (layer.encoding.y?.title) layer.encoding.y.title = select.value;
      place.spec = spec;
      if (place.dataset.drawn) draw(place);
    }
  }

  showSection("cost_and_time", { metric: [select] }, show);
}

if (byId("cost-metric")) startCosts();
