// Runs before anything is drawn: the theme that was chosen, if one was.
(() => {
  try {
    const chosen = localStorage.getItem("recrawl-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // No storage: the system's preference holds.
  }
})();
