// The step-by-step figure: one small panel per arm, with its interval and the θ that it alone allows.
import { bandsPath, edges, pathOf, plotArea, range } from "/static/charts/axes.js";
import { nameOf } from "/static/charts/structure.js";
import { legible, onTheme } from "/static/shared/colours.js";
import { h, put, s, swatch, whenResized } from "/static/shared/elements.js";

/** Draws into an element, for a one-dimensional Θ. */
export function stepsChart(element) {
  let structure = null;
  let state = null;
  let panels = [];

  function draw() {
    if (!structure) return;
    const y = range(structure.arms.flatMap((arm) => [arm.lower ?? arm.means, arm.upper ?? arm.means]), 0.12);
    panels = structure.arms.map((arm) => panelOf(arm));
    put(element, ...panels.map((panel) => panel.box));
    for (const panel of panels) paint(panel, y);
    showState();
  }

  function panelOf(arm) {
    const chart = h("div", { class: "chart" });
    const short = structure.arms.every((one) => one.name.length <= 3);
    const title = h("h3", {}, swatch(arm.look, legible(arm.look.colour)), nameOf(arm.name, short ? 1 : 99));
    return { arm, chart, box: h("div", { class: "panel", "data-arm": arm.name }, title, chart) };
  }

  function paint(panel, y) {
    const grid = structure.axes[0];
    const width = Math.floor(panel.chart.clientWidth);
    if (width === 0) return;
    const area = plotArea({ width, height: 124, x: [grid[0], grid.at(-1)], y, margin: { top: 6, left: 30, right: 6, bottom: 22 }, label: `Arm ${panel.arm.name}`, parts: { x: 3, y: 2 } });
    const colour = legible(panel.arm.look.colour);
    panel.area = area;
    panel.cells = edges(grid);
    panel.allowed = s("path", { class: "allowed", d: "M0 0" });
    panel.interval = s("rect", { x: area.inner.left, width: area.inner.right - area.inner.left, y: 0, height: 0, fill: colour, opacity: 0.22 });
    panel.mean = s("line", { x1: area.inner.left, x2: area.inner.right, stroke: colour, "stroke-dasharray": "2 3", visibility: "hidden" });
    area.under.append(panel.allowed);
    area.over.append(panel.interval, panel.mean, s("path", { class: "curve", d: pathOf(grid, panel.arm.means, area.toX, area.toY), stroke: colour }));
    put(panel.chart, area.svg);
  }

  function showState() {
    panels.forEach((panel, k) => {
      if (!panel.area) return;
      const count = state?.counts[k] ?? 0;
      const interval = state?.intervals?.[k];
      const seen = count > 0 && interval !== undefined;
      const [low, high] = seen ? interval : [-Infinity, Infinity];
      panel.allowed.setAttribute("d", bandsPath(allowedBy(panel.arm, low, high), panel.cells, panel.area));
      panel.box.classList.toggle("is-out", Boolean(state?.competitive) && !state.competitive.includes(k));
      panel.mean.setAttribute("visibility", count > 0 ? "visible" : "hidden");
      const { inner, toY } = panel.area;
      const inside = (value) => Math.min(inner.bottom, Math.max(inner.top, toY(value)));
      if (count > 0) for (const name of ["y1", "y2"]) panel.mean.setAttribute(name, inside(state.means[k]));
      panel.interval.setAttribute("y", seen ? inside(high) : 0);
      panel.interval.setAttribute("height", seen ? Math.max(0, inside(low) - inside(high)) : 0);
    });
  }

  whenResized(element, draw);
  onTheme(draw, element);
  return {
    setStructure(next) {
      structure = next;
      state = null;
      draw();
    },
    update(next) {
      state = next;
      showState();
    },
  };
}

/** The stretches of θ whose mean (or bounds) meets an open interval. */
export function allowedBy(arm, low, high) {
  const stretches = [];
  const [below, above] = [arm.lower ?? arm.means, arm.upper ?? arm.means];
  let first = -1;
  for (let i = 0; i <= below.length; i += 1) {
    const allowed = i < below.length && below[i] < high && above[i] > low;
    if (allowed && first < 0) first = i;
    if (!allowed && first >= 0) {
      stretches.push([first, i]);
      first = -1;
    }
  }
  return stretches;
}
