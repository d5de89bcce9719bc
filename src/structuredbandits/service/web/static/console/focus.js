// Parts of a page are redrawn; the element with the focus, or being pressed, is kept.

// A click belongs to what is there both when a button goes down and when it comes up, so nothing is
// drawn in between.
let pressed = false;
const waiting = new Set();

function release() {
  if (!pressed) return;
  pressed = false;
  // The click itself comes right after this event.
  setTimeout(() => {
    const due = [...waiting];
    waiting.clear();
    due.forEach(keepingFocus);
  });
}

addEventListener("pointerdown", (event) => { pressed ||= event.button === 0; }, true);
addEventListener("keydown", (event) => { pressed ||= event.key === " "; }, true);
for (const name of ["pointerup", "pointercancel", "keyup", "blur"]) addEventListener(name, release, true);
// A menu or a window of the system may swallow the end of a press.
addEventListener("pointermove", (event) => { if (event.buttons === 0) release(); }, true);

/** Draws when nothing is pressed, and gives the focus back to what has the same id, name or address. */
export function keepingFocus(draw) {
  if (pressed) {
    waiting.add(draw);
    return;
  }
  const before = document.activeElement;
  const names = ["id", "aria-label", "href"].map((name) => [name, before?.getAttribute(name)]).filter(([, value]) => value);
  draw();
  if (!names.length || document.contains(before)) return;
  const [name, value] = names[0];
  document.querySelector(`#view [${name}="${CSS.escape(value)}"]`)?.focus({ preventScroll: true });
}
