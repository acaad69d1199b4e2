// The links of insights to their questions.

for (const link of document.querySelectorAll("[data-question]")) {
  const { question, system } = link.dataset;
  link.addEventListener("click", () => openQuestion(question, system ? [system] : []));
}
