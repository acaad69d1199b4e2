// The controls above tables.

// Fill a select with the metrics that have values, grouped by evaluator.
function fillMetricSelect(select, label, isShown = () => true) {
  for (const evaluator of PAGE.evaluators) {
    const metrics = METRICS.filter((metric) => metric.e === evaluator.name && metric.measured);
    const options = metrics.filter((metric) => isShown(metric, evaluator)).map((metric) => option(metric.title, label(metric)));
    if (options.length) select.append(el("optgroup", { label: evaluator.name }, options));
  }
}

// Fill a select with the metrics of single samples; return whether there are any.
function fillSampleMetricSelect(select) {
  fillMetricSelect(select, (metric) => metric.title, (metric, evaluator) => evaluator.metrics.includes(metric.m));
  const first = SHOWN.find((metric) => metric.level === "sample");
  if (first) select.value = first.title;
  return select.options.length > 0;
}

// Return a test whether a text contains what the reader typed into a field.
function textFilter(field) {
  const term = field.value.trim().toLowerCase();
  return (text) => text.toLowerCase().includes(term);
}

// Say that a filter finds nothing.
function nothingFound(field, what) {
  return `Nothing found: no ${what} contains “${field.value.trim()}”.`;
}
