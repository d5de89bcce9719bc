// The reward functions over a one-dimensional θ, with the plausible θ shaded and θ* to be dragged.
import { bandsPath, edges, pathOf, plotArea, range } from "/static/charts/axes.js";
import { legible, onTheme } from "/static/shared/colours.js";
import { put, s, whenResized } from "/static/shared/elements.js";
import { spread } from "/static/shared/numbers.js";

const dashes = (look) => look.dash.map((length) => 2.2 * length).join(" ") || null;

/**
 * Draws into an element. `onTheta(value)` is called while θ* is dragged or moved by keys;
 * without it θ* is not drawn.
 */
export function structureChart(element, { onTheta, height = 340 } = {}) {
  let structure = null;
  let theta = null;
  let state = null;
  let parts = null;

  function draw() {
    const width = Math.floor(element.clientWidth);
    if (!structure || width === 0) return;
    const grid = structure.axes[0];
    const cells = edges(grid);
    const longest = Math.max(...structure.arms.map((arm) => arm.name.length));
    const labelWidth = Math.min(110, 16 + 7.2 * Math.min(longest, 14) + (longest <= 3 ? 26 : 0));
    const rows = structure.arms.flatMap((arm) => [arm.lower ?? arm.means, arm.upper ?? arm.means]);
    const area = plotArea({
      width,
      height: width < 500 ? Math.min(height, 280) : height,
      x: [grid[0], grid.at(-1)],
      y: range(rows),
      margin: { top: 36, right: labelWidth, left: width < 500 ? 36 : 44 },
      xLabel: structure.sides[0] === "theta" ? "θ" : structure.sides[0],
      yLabel: structure.minimize ? "mean cost" : "mean reward",
      label: `Mean reward of ${structure.arms.length} arms over θ`,
    });
    const shade = s("path", { class: "plausible", d: "M0 0" });
    area.under.append(shade);
    const places = structure.arms.map((arm) => area.toY(arm.means.at(-1)));
    const labels = spread(places, 15, area.inner.top, area.inner.bottom);
    const groups = structure.arms.map((arm, k) => armGroup(arm, grid, area, labels[k], longest));
    area.over.append(...groups);
    parts = { area, shade, groups, cells, handle: null };
    if (onTheta) {
      parts.handle = thetaHandle(area);
      area.over.append(parts.handle);
    }
    put(element, area.svg);
    showTheta();
    showState();
  }

  function armGroup(arm, grid, area, labelY, longest) {
    const colour = legible(arm.look.colour);
    const group = s("g", { "data-arm": arm.name });
    if (arm.lower) {
      const back = pathOf([...grid].reverse(), [...arm.lower].reverse(), area.toX, area.toY).replace("M", "L");
      group.append(s("path", { d: `${pathOf(grid, arm.upper, area.toX, area.toY)}${back}Z`, fill: colour, opacity: 0.18 }));
    }
    group.append(
      s("path", { class: "curve", d: pathOf(grid, arm.means, area.toX, area.toY), stroke: colour, "stroke-dasharray": dashes(arm.look) }),
      s("text", { class: "halo", x: area.inner.right + 8, y: labelY + 4, fill: colour }, nameOf(arm.name, longest)),
    );
    group.lastChild.style.fill = colour;
    return group;
  }

  function thetaHandle(area) {
    const group = s(
      "g",
      { class: "handle", tabindex: 0, role: "slider", "aria-label": "hidden θ*", "aria-orientation": "horizontal" },
      s("line", { class: "truth", y1: area.inner.top, y2: area.inner.bottom }),
      s("rect", { x: -16, width: 32, y: 0, height: area.inner.bottom + 24, fill: "transparent" }),
      s("circle", { r: 8, cy: area.inner.bottom }),
      s("text", { class: "halo", y: area.inner.top - 8, "text-anchor": "middle" }, "θ*"),
    );
    const [low, high] = [structure.axes[0][0], structure.axes[0].at(-1)];
    const move = (value) => {
      const step = (high - low) / 600;
      theta = Number(Math.min(high, Math.max(low, Math.round(value / step) * step)).toPrecision(6));
      showTheta();
      onTheta(theta);
    };
    const at = (event) => area.fromX(event.clientX - area.svg.getBoundingClientRect().left);
    group.addEventListener("pointerdown", (event) => {
      group.setPointerCapture(event.pointerId);
      event.preventDefault();
      group.focus({ focusVisible: false });
    });
    group.addEventListener("pointermove", (event) => {
      if (group.hasPointerCapture(event.pointerId)) move(at(event));
    });
    group.addEventListener("pointerup", (event) => move(at(event)));
    group.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
      const ends = { Home: low, End: high }[event.key];
      if (steps === undefined && ends === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      move(ends ?? theta + (steps * (high - low)) / 120);
    });
    return group;
  }

  function showTheta() {
    if (!parts?.handle || theta === null) return;
    const { area, handle } = parts;
    const x = area.toX(theta);
    handle.setAttribute("transform", `translate(${x.toFixed(1)} 0)`);
    handle.lastChild.textContent = `θ* = ${Number(theta.toPrecision(4))}`;
    const tooNear = { start: x - area.inner.left < 36, end: area.inner.right - x < 20 };
    handle.lastChild.setAttribute("text-anchor", tooNear.start ? "start" : tooNear.end ? "end" : "middle");
    handle.setAttribute("aria-valuemin", structure.axes[0][0]);
    handle.setAttribute("aria-valuemax", structure.axes[0].at(-1));
    handle.setAttribute("aria-valuenow", theta);
  }

  function showState() {
    if (!parts) return;
    const plausible = state?.plausible ?? [];
    parts.shade.setAttribute("d", bandsPath(plausible, parts.cells, parts.area));
    parts.groups.forEach((group, k) => group.classList.toggle("out", Boolean(state) && !state.competitive.includes(k)));
  }

  whenResized(element, draw);
  onTheme(draw, element);
  return {
    /** Shows another structure; the state of the old one is discarded. */
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
    /** `{plausible: stretches, competitive: positions}`, or null for a policy without a set. */
    update(next) {
      state = next;
      showState();
    },
    clear() {
      structure = null;
      put(element);
    },
  };
}

/** The label of an arm's curve: its name; "arm" precedes a bare number. */
export function nameOf(name, longest = 99) {
  const text = longest <= 3 && /^\d+$/.test(name) ? `arm ${name}` : name;
  return text.length > 14 ? `${text.slice(0, 13)}…` : text;
}
