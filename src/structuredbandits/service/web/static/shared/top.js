// The right end of the top of every page: the theme switch.
import { theme, themeChanged } from "/static/shared/colours.js";
import { h, s } from "/static/shared/elements.js";

const SUN = "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11 1h2v4h-2zM11 19h2v4h-2zM1 11h4v2H1zM19 11h4v2h-4zM4.2 5.6l1.4-1.4 2.8 2.8L7 8.4zM15.6 17l1.4-1.4 2.8 2.8-1.4 1.4zM4.2 18.4 7 15.6 8.4 17l-2.8 2.8zM15.6 7l2.8-2.8 1.4 1.4L17 8.4z";
const MOON = "M12 2a10 10 0 1 0 10 10 8 8 0 0 1-10-10z";

export function themeSwitch() {
  const button = h("button", { type: "button", class: "quiet square", id: "theme" });
  const show = () => {
    const dark = theme() === "dark";
    button.setAttribute("aria-label", dark ? "Use the light theme" : "Use the dark theme");
    button.title = button.getAttribute("aria-label");
    button.replaceChildren(s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: dark ? SUN : MOON })));
  };
  button.addEventListener("click", () => {
    const next = theme() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem("theme", next);
    } catch {
      // Storage may be forbidden; the choice then lasts until the page is left.
    }
    show();
    themeChanged();
  });
  show();
  return button;
}
