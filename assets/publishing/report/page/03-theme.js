// Light and dark: the system's choice until the reader makes another.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const onTheme = [];

function remembered() {
  try {
    return localStorage.getItem("scoreline-theme");
  } catch {
    return null; // a browser may keep pages on a disk from remembering anything
  }
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : dark.matches;
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  const button = byId("theme");
  button.textContent = isDark() ? "Light" : "Dark";
  button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  for (const each of onTheme) each();
}

function startTheme() {
  byId("theme").addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("scoreline-theme", theme);
    } catch {
      // then the choice lasts as long as the page
    }
    setTheme(theme);
  });
  dark.addEventListener("change", () => setTheme(null));
  setTheme(remembered());
}
