// Light and dark mode: the system's setting until the reader chooses.

const dark = window.matchMedia("(prefers-color-scheme: dark)");

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
}

byId("theme").addEventListener("click", () => {
  const theme = isDark() ? "light" : "dark";
  setTheme(theme);
  try {
    localStorage.setItem("scoreline-theme", theme);
  } catch {
    // without storage, the choice lasts until the page is closed
  }
});
dark.addEventListener("change", () => setTheme(null));
setTheme(storedTheme());
