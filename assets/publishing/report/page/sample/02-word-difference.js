// The words in which an answer differs from the expected one.

const MOST_PAIRS = 4_000_000; // pairs of words that are compared: some 20 milliseconds
const SEGMENTER = new Intl.Segmenter("en", { granularity: "word" }); // also finds words without spaces between them

// The words and signs of a text, each with the white space after it.
function wordsOf(text) {
  const words = [];
  for (const { segment } of SEGMENTER.segment(text)) {
    if (segment.trim()) words.push({ text: segment, space: "" });
    else if (words.length) words.at(-1).space += segment;
  }
  return words;
}

// The longest common subsequence of two lists of words, as steps from the first to the second:
// {kind: "same" | "del" | "ins", word}. Null where the lists are too long.
function wordSteps(from, to) {
  const equal = (a, b) => from[a].text === to[b].text;
  let [start, fromEnd, toEnd] = [0, from.length, to.length];
  while (start < Math.min(fromEnd, toEnd) && equal(start, start)) start += 1;
  while (fromEnd > start && toEnd > start && equal(fromEnd - 1, toEnd - 1)) [fromEnd, toEnd] = [fromEnd - 1, toEnd - 1];
  const [n, m] = [fromEnd - start, toEnd - start];
  if (n * m > MOST_PAIRS) return null;
  const width = m + 1;
  const longest = new Uint32Array((n + 1) * width); // of the words from (a, b) on
  for (let a = n - 1; a >= 0; a -= 1)
    for (let b = m - 1; b >= 0; b -= 1)
      longest[a * width + b] = equal(start + a, start + b) ? longest[(a + 1) * width + b + 1] + 1 : Math.max(longest[(a + 1) * width + b], longest[a * width + b + 1]);
  const steps = to.slice(0, start).map((word) => ({ kind: "same", word }));
  let [a, b] = [0, 0];
  while (a < n || b < m) {
    if (a < n && b < m && equal(start + a, start + b)) steps.push({ kind: "same", word: to[start + b] }), (a += 1), (b += 1);
    else if (a < n && (b === m || longest[(a + 1) * width + b] >= longest[a * width + b + 1])) steps.push({ kind: "del", word: from[start + a] }), (a += 1);
    else steps.push({ kind: "ins", word: to[start + b] }), (b += 1);
  }
  return [...steps, ...to.slice(toEnd).map((word) => ({ kind: "same", word }))];
}

// The same steps as texts: neighbours of one kind together.
function textSteps(steps) {
  const runs = [];
  for (const { kind, word } of steps) {
    if (runs.at(-1)?.kind !== kind) runs.push({ kind, text: "", space: "" });
    const run = runs.at(-1);
    run.text += run.space + word.text;
    run.space = word.space;
  }
  return runs;
}

// White space between two runs, which may come from different texts: none before a comma or a full stop.
function spaceBetween(run, next) {
  if (!next || /^[,.;:!?)\]}]/.test(next.text)) return "";
  return run.space || (/[\p{L}\p{N}]$/u.test(run.text) && /^[\p{L}\p{N}]/u.test(next.text) ? " " : "");
}

// An answer beside the nearest expected answer; null where there is nothing to compare.
function differencePart({ answer }, expected) {
  if (!answer || !expected?.length) return null;
  const words = wordsOf(answer);
  const found = expected.map((text) => {
    const other = wordsOf(text);
    const steps = wordSteps(other, words);
    const same = steps?.filter((step) => step.kind === "same").length ?? 0;
    return { steps, other, same, share: (2 * same) / Math.max(1, other.length + words.length) };
  });
  const nearest = found.reduce((best, each) => (each.share > best.share ? each : best));
  const which = expected.length > 1 ? `The nearest of ${count(expected.length)} expected answers: ` : "";
  if (found.some((each) => !each.steps)) return el("p", { class: "none" }, `Too long to compare: ${plural(words.length, "word")}.`);
  const [more, missing] = [words.length - nearest.same, nearest.other.length - nearest.same];
  if (!more && !missing) return el("p", { class: "fine" }, `${which}the same words.`);
  const summary = `${which}${count(nearest.same)} the same, ${count(more)} only in the answer, ${count(missing)} only expected.`;
  const runs = textSteps(nearest.steps);
  const shown = runs.map((run, at) => [run.kind === "same" ? run.text : el(run.kind, run.text), spaceBetween(run, runs[at + 1])]);
  return [el("p", { class: "fine" }, summary), el("div", { class: "prose difference", dir: "auto" }, shown)];
}
