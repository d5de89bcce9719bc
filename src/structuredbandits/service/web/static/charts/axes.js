// A plotting area with axes, in pixels of the screen: the basis of every chart over θ.
import { s } from "/static/shared/elements.js";
import { ticks } from "/static/shared/numbers.js";

/** Scales and an SVG with axes. `x` and `y` are [low, high]; the layers lie in the order given. */
export function plotArea({ width, height, x, y, margin, xLabel, yLabel, label, parts = {} }) {
  const { top, right, bottom, left } = { top: 14, right: 14, bottom: 36, left: 44, ...margin };
  const inner = { left, top, right: width - right, bottom: height - bottom };
  const wide = inner.right - inner.left;
  const tall = inner.bottom - inner.top;
  const toX = (value) => inner.left + ((value - x[0]) / (x[1] - x[0] || 1)) * wide;
  const toY = (value) => inner.bottom - ((value - y[0]) / (y[1] - y[0] || 1)) * tall;
  const fromX = (pixel) => x[0] + ((pixel - inner.left) / wide) * (x[1] - x[0]);
  const fromY = (pixel) => y[0] + ((inner.bottom - pixel) / tall) * (y[1] - y[0]);
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label });
  const under = s("g");
  const lines = s("g", { "aria-hidden": "true" });
  for (const value of ticks(y[0], y[1], parts.y ?? Math.max(2, tall / 52))) {
    lines.append(s("line", { class: "grid", x1: inner.left, x2: inner.right, y1: toY(value), y2: toY(value) }));
    lines.append(s("text", { class: "tick", x: inner.left - 7, y: toY(value) + 4, "text-anchor": "end" }, String(value)));
  }
  for (const value of ticks(x[0], x[1], parts.x ?? Math.max(2, wide / 80))) {
    lines.append(s("text", { class: "tick", x: toX(value), y: inner.bottom + 16, "text-anchor": "middle" }, String(value)));
  }
  lines.append(s("line", { class: "axis", x1: inner.left, x2: inner.right, y1: inner.bottom, y2: inner.bottom }));
  if (xLabel) lines.append(s("text", { class: "tick", x: inner.right, y: height - 4, "text-anchor": "end" }, xLabel));
  if (yLabel) lines.append(s("text", { class: "tick", x: 0, y: 11 }, yLabel));
  const over = s("g");
  svg.append(under, lines, over);
  return { svg, under, over, inner, toX, toY, fromX, fromY };
}

/** The path of a line through points. */
export function pathOf(xs, ys, toX, toY) {
  let path = "";
  for (let i = 0; i < xs.length; i += 1) path += `${i ? "L" : "M"}${toX(xs[i]).toFixed(1)} ${toY(ys[i]).toFixed(1)}`;
  return path;
}

/** The edges of the cells around the points of a grid, clipped to its ends. */
export function edges(points) {
  const found = [points[0]];
  for (let i = 1; i < points.length; i += 1) found.push((points[i - 1] + points[i]) / 2);
  found.push(points.at(-1));
  return found;
}

/** One path that covers stretches of grid cells over the whole height. */
export function bandsPath(stretches, cellEdges, area) {
  const { inner, toX } = area;
  let path = "";
  for (const [first, end] of stretches) {
    let from = toX(cellEdges[first]);
    let to = toX(cellEdges[end]);
    if (to - from < 1.5) {
      // A single θ stays visible.
      const middle = (from + to) / 2;
      from = middle - 0.75;
      to = middle + 0.75;
    }
    path += `M${from.toFixed(1)} ${inner.top}H${to.toFixed(1)}V${inner.bottom}H${from.toFixed(1)}Z`;
  }
  return path || "M0 0";
}

/** [low, high] of all means, with some padding. */
export function range(rows, padding = 0.08) {
  let low = Infinity;
  let high = -Infinity;
  for (const row of rows) {
    for (const value of row) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  const extra = (high - low || 1) * padding;
  return [low - extra, high + extra];
}
