// Θ as a map: a plane of two hidden numbers, or tiles for visitor types. Colour is the best arm.
import { edges } from "/static/charts/axes.js";
import { nameOf } from "/static/charts/structure.js";
import { inkOn, legible, onTheme } from "/static/shared/colours.js";
import { h, put, s, whenResized } from "/static/shared/elements.js";
import { ticks } from "/static/shared/numbers.js";

/** Draws into an element; `onTheta(value)` is called when a place is chosen. */
export function thetaMap(element, { onTheta } = {}) {
  let structure = null;
  let theta = null;
  let state = null;
  let cells = [];
  let mark = null;

  function draw() {
    const width = Math.floor(element.clientWidth);
    if (!structure || width === 0) return;
    const drawn = structure.kind === "box" ? plane(structure, width) : tiles(structure, width);
    cells = drawn.cells;
    mark = drawn.mark;
    drawn.svg.addEventListener("click", (event) => {
      const position = event.target.getAttribute("data-position");
      if (position !== null && onTheta) onTheta(valueAt(structure, Number(position)));
    });
    put(element, drawn.svg);
    showTheta();
    showState();
  }

  function showTheta() {
    if (!mark || theta === null) return;
    const cell = cells[positionOf(structure, theta)];
    if (!cell) return;
    for (const name of ["x", "y", "width", "height"]) mark.setAttribute(name, cell.getAttribute(name));
  }

  function showState() {
    const plausible = new Uint8Array(cells.length).fill(state ? 0 : 1);
    for (const [first, end] of state?.plausible ?? []) plausible.fill(1, first, end);
    cells.forEach((cell, i) => {
      const out = !plausible[i];
      if (cell.classList.contains("ruled-out") !== out) cell.classList.toggle("ruled-out", out);
    });
  }

  whenResized(element, draw);
  onTheme(draw, element);
  return {
    setStructure(next, nextTheta = null) {
      structure = next;
      theta = nextTheta;
      state = null;
      draw();
    },
    setTheta(next) {
      theta = next;
      showTheta();
    },
    update(next) {
      state = next;
      showState();
    },
    clear() {
      structure = null;
      cells = [];
      mark = null;
      put(element);
    },
  };
}

/** The θ at a position of Θ, as the service reads it. */
export function valueAt(structure, position) {
  if (structure.kind === "interval") return structure.axes[0][position];
  if (structure.kind === "labels") return structure.labels[position].length === 1 ? structure.labels[position][0] : structure.labels[position];
  const second = structure.axes[1].length;
  return [structure.axes[0][Math.floor(position / second)], structure.axes[1][position % second]];
}

/** A square and a name for each arm that is the best somewhere. */
export function bestArms(structure) {
  const square = (k) => s("svg", { class: "key", viewBox: "0 0 12 12", "aria-hidden": "true" }, s("rect", { width: 12, height: 12, fill: legible(structure.arms[k].look.colour) }));
  const bare = structure.arms.every((arm) => arm.name.length <= 3);
  return [...new Set(structure.best)].sort((a, b) => a - b).map((k) => h("span", {}, square(k), nameOf(structure.arms[k].name, bare ? 1 : 99)));
}

const nearest = (axis, value) => axis.reduce((best, v, i) => (Math.abs(v - value) < Math.abs(axis[best] - value) ? i : best), 0);

/** The position in Θ of a θ, or of the grid point next to it. */
export function positionOf(structure, theta) {
  if (structure.kind === "interval") return nearest(structure.axes[0], theta);
  if (structure.kind === "box") return nearest(structure.axes[0], theta[0]) * structure.axes[1].length + nearest(structure.axes[1], theta[1]);
  const wanted = [theta].flat().map(String).join("\n");
  return structure.labels.findIndex((parts) => parts.join("\n") === wanted);
}

function cellOf(structure, position, box) {
  const colour = legible(structure.arms[structure.best[position]].look.colour);
  return s("rect", { ...box, class: "cell", fill: colour, "data-position": position });
}

function frame(width, height, label) {
  return s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

const marker = () => s("rect", { class: "theta-mark", rx: 2 });

function plane(structure, width) {
  const [left, bottom, top] = [40, 34, 12];
  const side = Math.min(width - left - 12, 420);
  const [first, second] = structure.axes;
  const svg = frame(width, side + top + bottom, "The plane of hidden parameters, coloured by the best arm; those still possible are bright");
  const scale = (axis, value) => (value - axis[0]) / (axis.at(-1) - axis[0]);
  const x = edges(first).map((value) => left + side * scale(first, value));
  const y = edges(second).map((value) => top + side * (1 - scale(second, value)));
  const cells = [];
  for (let i = 0; i < first.length; i += 1) {
    for (let j = 0; j < second.length; j += 1) {
      const box = { x: x[i].toFixed(2), y: y[j + 1].toFixed(2), width: (x[i + 1] - x[i]).toFixed(2), height: (y[j] - y[j + 1]).toFixed(2) };
      // Without anti-aliasing, so that no seams are visible between the cells of a fine grid.
      cells.push(cellOf(structure, i * second.length + j, { ...box, "shape-rendering": "crispEdges" }));
    }
  }
  const mark = marker();
  svg.append(s("g", {}, ...cells), mark);
  for (const value of ticks(first[0], first.at(-1), 5)) {
    svg.append(s("text", { class: "tick", x: left + side * scale(first, value), y: top + side + 16, "text-anchor": "middle" }, String(value)));
  }
  for (const value of ticks(second[0], second.at(-1), 5)) {
    svg.append(s("text", { class: "tick", x: left - 7, y: top + side * (1 - scale(second, value)) + 4, "text-anchor": "end" }, String(value)));
  }
  svg.append(s("text", { class: "tick", x: left + side, y: top + side + 31, "text-anchor": "end" }, symbol(structure.sides[0])));
  svg.append(s("text", { class: "tick", x: 0, y: 10 }, symbol(structure.sides[1])));
  return { svg, cells, mark };
}

// Colours repeat where there are many arms, so a tile also carries the first letters of its arm.
function letters(arm, cell, size, tall) {
  const colour = legible(arm.look.colour);
  const [x, y] = [Number(cell.getAttribute("x")) + size / 2 - 1, Number(cell.getAttribute("y")) + tall / 2 + 4];
  const text = s("text", { class: "letters", x, y }, arm.name.slice(0, 3));
  text.style.fill = inkOn(colour);
  return text;
}

const symbol = (name) => name.replace(/^theta_?/, "θ");

// Visitor types with two parts are a table, first part by second; the others are rows of tiles.
function tiles(structure, width) {
  const two = structure.labels.every((parts) => parts.length === 2);
  const columns = two ? [...new Set(structure.labels.map((parts) => parts[1]))].sort() : null;
  const rows = two ? [...new Set(structure.labels.map((parts) => parts[0]))] : null;
  const left = two ? 60 : 0;
  const head = two ? 118 : 0;
  const across = two ? columns.length : Math.max(1, Math.floor(width / 34));
  const size = Math.min(34, Math.floor((width - left - 30) / across));
  const down = two ? rows.length : Math.ceil(structure.labels.length / across);
  const tall = Math.max(size, 18);
  const svg = frame(width, head + down * (tall + 2) + 6, "Visitor types, coloured by the best arm; those still possible are bright");
  const cells = structure.labels.map((parts, i) => {
    const column = two ? columns.indexOf(parts[1]) : i % across;
    const row = two ? rows.indexOf(parts[0]) : Math.floor(i / across);
    const cell = cellOf(structure, i, { x: left + column * size, y: head + row * (tall + 2), width: Math.max(size - 2, 3), height: tall, rx: 2 });
    cell.append(s("title", {}, `${parts.join(", ")}: best is ${structure.arms[structure.best[i]].name}`));
    return cell;
  });
  const mark = marker();
  svg.append(s("g", {}, ...cells), mark);
  if (size >= 24) svg.append(s("g", { "aria-hidden": "true" }, ...cells.map((cell, i) => letters(structure.arms[structure.best[i]], cell, size, tall))));
  (rows ?? []).forEach((name, i) => {
    svg.append(s("text", { class: "tick", x: left - 6, y: head + i * (tall + 2) + tall / 2 + 4, "text-anchor": "end" }, name));
  });
  const every = size < 12 ? 2 : 1;
  (columns ?? []).forEach((name, i) => {
    if (i % every) return;
    const [x, y] = [left + i * size + size / 2, head - 6];
    const text = name.length > 18 ? `${name.slice(0, 17)}…` : name;
    svg.append(s("text", { class: "tick", x, y, transform: `rotate(-55 ${x} ${y})` }, text));
  });
  return { svg, cells, mark };
}
