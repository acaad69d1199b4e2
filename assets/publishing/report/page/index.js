// The first page: a search over benchmarks, systems and metrics, and lasting addresses of questions.

const cards = new Map();
for (const card of document.querySelectorAll(".benchmarks > li"))
  cards.set(card.id, { card, text: card.textContent.toLowerCase() });

function say(place, text) {
  byId(place).textContent = text;
  byId(place).hidden = !text;
}

byId("find").addEventListener("input", (event) => {
  const typed = event.target.value.trim();
  let found = 0;
  for (const { card, text } of cards.values()) {
    card.hidden = !text.includes(typed.toLowerCase());
    if (!card.hidden) found += 1;
  }
  for (const row of document.querySelectorAll("tr[data-benchmark]")) row.hidden = cards.get(row.dataset.benchmark).card.hidden;
  for (const block of document.querySelectorAll("#matrix .wide")) block.hidden = !block.querySelector("tbody tr:not([hidden])");
  say("nothing", found ? "" : `Nothing found: no benchmark, system or metric contains “${typed}”.`);
  announce(found ? `${count(found)} benchmark${found === 1 ? "" : "s"}` : "nothing found");
});

// Open the question of an address `index.html#BENCHMARK/ID`. The address of a benchmark's page
// changes with its contents, this one does not.
function followAddress() {
  const [, benchmark, id] = location.hash.match(/^#([^/]+)\/(.+)$/s) ?? [];
  if (id === undefined) return;
  const link = cards.get(knownName(decoded(benchmark), [...cards.keys()]))?.card.querySelector("h3 a");
  if (link) location.replace(`${link.href}#q=${encodeURIComponent(decoded(id))}`);
  else say("unknown", `This report has no benchmark “${decoded(benchmark)}”.`);
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign that encodes nothing
  }
}

window.addEventListener("hashchange", followAddress);
followAddress();
document.documentElement.setAttribute("data-ready", "yes");
