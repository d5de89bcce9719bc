// Runs before the page is drawn, so that a chosen theme never flashes. Everything else is a module.
(() => {
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage may be forbidden; the system's preference then decides.
  }
})();
