// Makes elements without markup in strings, so that no text from outside can become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element: h("a", {href: "/"}, "text"). Names that begin with "on" are listeners. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Replaces the content of an element. */
export function put(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

export const byId = (id) => document.getElementById(id);

/** Calls `draw(width)` now and whenever the element's width changes. */
export function whenResized(element, draw) {
  let last = 0;
  const observer = new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      draw(width);
    }
  });
  observer.observe(element);
  return () => observer.disconnect();
}

/** A short line in the style of a policy or an arm, shown next to its name. */
export function swatch(look, colour) {
  const dash = look.dash.map((length) => length * 2).join(" ");
  return s(
    "svg",
    { class: "swatch", viewBox: "0 0 24 10", "aria-hidden": "true" },
    s("line", { x1: 0, x2: 24, y1: 5, y2: 5, stroke: colour, "stroke-width": 3, "stroke-dasharray": dash || null }),
  );
}
