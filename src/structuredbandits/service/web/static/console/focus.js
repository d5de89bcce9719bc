// Parts of a page are drawn anew; whoever stands on one of them with the keyboard stays there.

/** Draws, and gives the focus back to what has the same id, name or address as before. */
export function keepingFocus(draw) {
  const before = document.activeElement;
  const names = ["id", "aria-label", "href"].map((name) => [name, before?.getAttribute(name)]).filter(([, value]) => value);
  draw();
  if (!names.length || document.contains(before)) return;
  const [name, value] = names[0];
  document.querySelector(`#view [${name}="${CSS.escape(value)}"]`)?.focus({ preventScroll: true });
}
