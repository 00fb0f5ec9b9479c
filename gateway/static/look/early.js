// Runs before the first paint, so that a dark room stays dark: a classic script, kept to the bare minimum.
(() => {
  const asked = new URLSearchParams(location.search);
  const root = document.documentElement;
  try {
    const theme = asked.get("theme") || localStorage.getItem("passeur.theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    const language = asked.get("lang") || localStorage.getItem("passeur.language") || navigator.language;
    root.lang = /^(fr|en|es)/.exec(language)?.[0] ?? "en";
  } catch {
    // Storage refused: the system's choice stands.
  }
  if (asked.get("view") === "light") root.dataset.view = "light";
})();
