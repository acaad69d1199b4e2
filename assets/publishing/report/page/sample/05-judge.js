// What the judge was asked and said, what it cost, and how long it took.

// Which answer, which judge of a panel and which step a call is.
function stepText({ a: repeat, p: member, n: step }) {
  return [repeat ? `answer ${repeat + 1}` : null, member ? `judge ${member + 1}` : null, `step ${step + 1}`].filter(Boolean).join(", ");
}

// The messages of the calls about the answers to a question, by system, evaluator, repeat, member and step.
async function prompts(at) {
  const { parts, calls } = await loadJson(`prompts-${Math.floor(at / PAGE.per_file)}`);
  const texts = (places) => places.map((place) => parts[place]).join("\n");
  const own = calls[at % PAGE.per_file] ?? [];
  return new Map(own.map((call) => [JSON.stringify(call.slice(0, -1)), call.at(-1).map(([role, places]) => ({ role, text: texts(places) }))]));
}

// A button that loads the messages of a call and shows them.
function askedPart(call, at) {
  const box = el("details", { class: "asked" }, el("summary", "what it was asked"));
  const missing = el("p", { class: "none" }, "The report keeps the messages of some calls only: ", el("code", "scoreline show --format json"), " prints those of all.");
  box.addEventListener("toggle", async () => {
    if (!box.open || box.dataset.loaded) return;
    box.dataset.loaded = "yes";
    try {
      const found = PAGE.prompts.includes(Math.floor(at / PAGE.per_file)) ? (await prompts(at)).get(JSON.stringify([call.system, call.e, call.a, call.p, call.n])) : undefined;
      box.append(...(found ? found.flatMap(({ role, text }) => [el("h5", role), prose(text)]) : [missing]));
    } catch (error) {
      box.append(el("p", { class: "warn" }, error.message));
    }
  });
  return box;
}

const secondsText = (value) => (value < 0.005 ? "below 0.01 s" : `${number(value, value < 10 ? 2 : 1)} s`);

// What a call took: its latency, cost, tokens and attempts, as far as they are known.
function callText({ latency, cost, tokens_in: asked, tokens_out: said, attempts }) {
  const parts = [
    latency === null ? null : secondsText(latency),
    cost === null ? null : money(cost),
    asked === null && said === null ? null : `${count(asked)} tokens in, ${count(said)} out`,
    attempts > 1 ? `${count(attempts)} attempts` : null,
  ];
  return parts.filter(Boolean).join(", ");
}

function judgedOf(answer, at) {
  const calls = answer.judged ?? [];
  if (!calls.length) return null;
  const parts = calls.map((call) => [
    el("h4", `${call.e}, ${stepText(call)}`, el("span", { class: "fine" }, ` ${[call.m, call.s === "scored" ? null : call.s.replaceAll("_", " "), callText(call)].filter(Boolean).join(", ")}`)),
    askedPart(call, at),
    call.x ? el("p", { class: "warn", dir: "auto" }, call.x) : null,
    call.r === null ? el("p", { class: "none" }, "no reply") : evidence(parsed(call.r)),
  ]);
  return details(plural(calls.length, "call"), false, parts);
}

// What the answer and the calls of the judge about it took; null where nothing is known.
function spentPart(answer) {
  const calls = answer.judged ?? [];
  const total = (key) => (calls.some((call) => call[key] === null) ? null : calls.reduce((sum, call) => sum + call[key], 0));
  const own = { latency: answer.latency === null ? null : Number(answer.latency), cost: answer.cost === null ? null : Number(answer.cost), tokens_in: null, tokens_out: null };
  const judge = calls.length ? { latency: total("latency"), cost: total("cost"), tokens_in: total("tokens_in"), tokens_out: total("tokens_out") } : null;
  const lines = [
    callText(own) ? el("p", `answer: ${callText(own)}`) : null,
    judge ? el("p", `judge, ${plural(calls.length, "call")}: ${callText(judge) || "unknown"}`) : null,
  ].filter(Boolean);
  return lines.length ? lines : null;
}
