// One row per arm: its mean reward with its interval, its pulls, and whether it is competitive.
import { nameOf } from "/static/charts/structure.js";
import { legible, onTheme } from "/static/shared/colours.js";
import { put, s, whenResized } from "/static/shared/elements.js";
import { short, ticks } from "/static/shared/numbers.js";

const ROW = 34;
const HEAD = 22;

/**
 * Draws into an element; `counted` is the word for the counts. `setStructure(arms, truth)`: truth is the mean of each arm at θ*, or null.
 * `update({counts, means, intervals, competitive, pulled})`: intervals, pairs (low, high), may be null, competitive may be null.
 */
export function armsChart(element, counted = "pulls") {
  let arms = null;
  let truth = null;
  let state = null;

  function draw() {
    const width = Math.floor(element.clientWidth);
    if (!arms || width === 0) return;
    const left = Math.min(132, 28 + 7.4 * Math.max(...arms.map((arm) => nameOf(arm.name, 1).length), 5));
    const right = width - 62;
    const [low, high] = reach(arms, truth);
    const toX = (value) => left + ((Math.min(high, Math.max(low, value)) - low) / (high - low)) * (right - left);
    const height = HEAD + arms.length * ROW + 22;
    const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": sentence() });
    svg.append(s("text", { class: "tick", x: width, y: 12, "text-anchor": "end" }, counted));
    svg.append(s("text", { class: "tick", x: left, y: 12 }, "mean reward and its interval"));
    for (const value of ticks(low, high, Math.max(2, (right - left) / 70))) {
      svg.append(s("line", { class: "grid", x1: toX(value), x2: toX(value), y1: HEAD, y2: height - 20 }));
      svg.append(s("text", { class: "tick", x: toX(value), y: height - 5, "text-anchor": "middle" }, String(value)));
    }
    const most = Math.max(1, ...(state?.counts ?? [1]));
    arms.forEach((arm, k) => svg.append(row(arm, k, { width, right, toX, most })));
    put(element, svg);
  }

  function row(arm, k, { width, right, toX, most }) {
    const colour = legible(arm.look.colour);
    const middle = HEAD + k * ROW + ROW / 2;
    const out = state?.competitive && !state.competitive.includes(k);
    const group = s("g", { "data-arm": arm.name });
    const inside = s("g", { class: out ? "out" : null });
    if (state?.pulled === k) group.append(s("rect", { class: "now", x: 0, y: middle - ROW / 2 + 2, width, height: ROW - 4, rx: 6 }));
    inside.append(s("circle", { cx: 6, cy: middle, r: 5, fill: colour }));
    inside.append(s("text", { x: 18, y: middle + (out ? -1 : 4) }, nameOf(arm.name, arms.every((a) => a.name.length <= 3) ? 1 : 99)));
    const count = state?.counts[k] ?? 0;
    if (count > 0) {
      const mean = state.means[k];
      const interval = state.intervals?.[k];
      if (interval !== undefined) inside.append(s("line", { x1: toX(interval[0]), x2: toX(interval[1]), y1: middle, y2: middle, stroke: colour, "stroke-width": 7, opacity: 0.38, "stroke-linecap": "butt" }));
      inside.append(s("circle", { cx: toX(mean), cy: middle, r: 4.5, fill: colour }));
    }
    const bar = 44 * (count / most);
    inside.append(s("rect", { x: right + 16, y: middle + 7, width: 44, height: 4, rx: 2, class: "allowed" }));
    inside.append(s("rect", { x: right + 16, y: middle + 7, width: bar, height: 4, rx: 2, fill: colour }));
    inside.append(s("text", { class: "tick", x: width, y: middle + 2, "text-anchor": "end" }, String(count)));
    group.append(inside);
    if (truth) group.append(s("path", { class: "true-mean", d: `M${toX(truth[k]).toFixed(1)} ${middle - 10}v20` }));
    if (out) group.append(s("text", { class: "tick out-word", x: 18, y: middle + 11 }, "out"));
    return group;
  }

  function sentence() {
    return (arms ?? [])
      .map((arm, k) => `${arm.name}: ${state?.counts[k] ?? 0} pulls${state?.counts[k] ? `, mean ${short(state.means[k])}` : ""}${state?.competitive && !state.competitive.includes(k) ? ", out" : ""}`)
      .join("; ");
  }

  whenResized(element, draw);
  onTheme(draw, element);
  return {
    setStructure(nextArms, nextTruth) {
      arms = nextArms;
      truth = nextTruth;
      state = null;
      draw();
    },
    update(next) {
      state = next;
      draw();
    },
  };
}

// Wide enough for all means and a standard deviation around them; intervals are cut off there.
function reach(arms, truth) {
  const all = [...arms.flatMap((arm) => arm.means), ...(truth ?? [])];
  let low = Infinity;
  let high = -Infinity;
  for (const value of all) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const padding = 0.25 * (high - low || 1);
  return [low - padding, high + padding];
}
