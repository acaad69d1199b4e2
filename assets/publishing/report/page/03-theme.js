// Light and dark mode: the system's setting until the reader chooses.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const onTheme = [];

function storedTheme() {
  try {
    return localStorage.getItem("scoreline-theme");
  } catch {
    return null; // browsers may refuse storage to file: pages
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
  button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} mode`);
  for (const each of onTheme) each();
}

function startTheme() {
  byId("theme").addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("scoreline-theme", theme);
    } catch {
      // without storage, the choice lasts until the page is closed
    }
    setTheme(theme);
  });
  dark.addEventListener("change", () => setTheme(null));
  setTheme(storedTheme());
}
