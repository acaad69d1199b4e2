// The first page: a search over benchmarks, systems and metrics.

byId("find").addEventListener("input", (event) => {
  const term = event.target.value.trim().toLowerCase();
  const cards = [...document.querySelectorAll(".benchmarks > li")];
  for (const card of cards) card.hidden = !card.textContent.toLowerCase().includes(term);
  announce(`${cards.filter((card) => !card.hidden).length} benchmarks`);
});
document.documentElement.setAttribute("data-ready", "yes");
