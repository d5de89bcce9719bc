// Draw a structure: breakpoints that are dragged, added with a click and removed with a key.
import { pathOf, plotArea } from "/static/charts/axes.js";
import { legible } from "/static/shared/colours.js";
import { h, put, s, swatch, whenResized } from "/static/shared/elements.js";
import { simplified } from "/static/lab/simplify.js";

const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000", "#882255", "#999933"];
const MOST_ARMS = 9;
const MOST_POINTS = 40;
const look = (k) => ({ colour: COLOURS[k], dash: [], marker: "" });
const round = (value) => Number(value.toPrecision(4));

/** Opens the dialog; resolves with {breakpoints, sigma}, or null if it is left. */
export function openEditor(dialog, drawn, shown) {
  const draft = startFrom(drawn, shown);
  let chosen = { arm: 0, point: 0 };
  let resolveWith = null;

  const chart = h("div", { class: "chart", id: "editor-chart" });
  chart.addEventListener("mousedown", (event) => event.preventDefault()); // the new point keeps the focus
  const armBox = h("div", { class: "editor-arms", role: "radiogroup", "aria-label": "Arm to change" });
  const problem = h("p", { class: "note bad", role: "alert", hidden: true });
  const fields = fieldsOf();
  const word = (text) => { problem.textContent = text; problem.hidden = !text; };
  const button = (text, act, kind) => h("button", { type: "button", class: kind, onclick: act }, text);
  put(dialog, h("div", { class: "editor" },
    h("h2", { id: "editor-title" }, "Draw a structure"),
    h("p", { class: "small soft" }, "Choose an arm. Drag its points; click elsewhere to add one; Delete removes the chosen one. Arrow keys move it (with Shift: further)."),
    armBox, chart, problem,
    h("div", { class: "editor-fields" }, fields.all),
    h("div", { class: "row" },
      button("Add arm", addArm), button("Remove arm", removeArm), button("Add point", () => addPoint(null)), button("Remove point", removePoint),
      h("span", { class: "top-end" }), button("Cancel", () => finish(null)), button("Use this structure", () => finish(resultOf()), "main"))));

  const area = { now: null };
  function draw() {
    const width = Math.floor(chart.clientWidth);
    if (width === 0) return;
    area.now = plotArea({ width, height: width < 500 ? 260 : 340, x: [draft.low, draft.high], y: [draft.bottom, draft.top], margin: { right: 18 }, xLabel: "θ", label: "Curves to be drawn" });
    const curves = draft.arms.map((arm, k) => curveOf(arm, k)).sort((a, b) => Number(a.mine) - Number(b.mine));
    area.now.svg.addEventListener("pointerdown", clickGround);
    area.now.over.append(...curves.map((curve) => curve.group));
    put(chart, area.now.svg);
    put(armBox, draft.arms.map((arm, k) => h("label", {},
      h("input", { type: "radio", name: "editor-arm", checked: k === chosen.arm, onchange: () => choose(k, 0) }), swatch(look(k), legible(COLOURS[k])), arm.name)));
    fields.show();
  }

  function curveOf(arm, k) {
    const { toX, toY } = area.now;
    const colour = legible(COLOURS[k]);
    const mine = k === chosen.arm;
    const path = pathOf(arm.points.map((p) => p[0]), arm.points.map((p) => p[1]), toX, toY);
    const group = s("g", { class: mine ? null : "faint" }, s("path", { class: "curve", d: path, stroke: colour }));
    if (mine) arm.points.forEach((point, i) => group.append(knobOf(arm, k, i, colour)));
    return { group, mine };
  }

  function knobOf(arm, k, i, colour) {
    const { toX, toY } = area.now;
    const [theta, mean] = arm.points[i];
    const knob = s("circle", { class: i === chosen.point ? "knob chosen" : "knob", cx: toX(theta), cy: toY(mean), r: 9, fill: colour, tabindex: 0, role: "button", "aria-label": `${arm.name}, point ${i + 1} of ${arm.points.length}: θ ${round(theta)}, mean ${round(mean)}` });
    knob.addEventListener("pointerdown", (event) => startDrag(event, k, i));
    knob.addEventListener("focus", () => { if (chosen.point !== i) { chosen.point = i; refocus(); } });
    knob.addEventListener("keydown", keyOn);
    return knob;
  }

  function refocus() {
    draw();
    chart.querySelectorAll(".knob")[chosen.point]?.focus();
  }

  function choose(k, i) {
    chosen = { arm: k, point: i };
    draw();
  }

  function place(event) {
    const box = area.now.svg.getBoundingClientRect();
    return [area.now.fromX(event.clientX - box.left), area.now.fromY(event.clientY - box.top)];
  }

  function startDrag(event, k, i) {
    event.preventDefault();
    event.stopPropagation();
    chosen = { arm: k, point: i };
    const drag = (moved) => { movePoint(...place(moved)); draw(); };
    const end = () => { document.removeEventListener("pointermove", drag); document.removeEventListener("pointerup", end); refocus(); };
    document.addEventListener("pointermove", drag);
    document.addEventListener("pointerup", end);
  }

  function movePoint(theta, mean) {
    const { points } = draft.arms[chosen.arm];
    const i = chosen.point;
    const gap = (draft.high - draft.low) / 500;
    const ends = i === 0 || i === points.length - 1;
    const inside = Math.min((points[i + 1]?.[0] ?? 0) - gap, Math.max((points[i - 1]?.[0] ?? 0) + gap, theta));
    points[i] = [ends ? points[i][0] : round(inside), round(Math.min(draft.top, Math.max(draft.bottom, mean)))];
  }

  function clickGround(event) {
    const [theta, mean] = place(event);
    if (event.button === 0 && theta > draft.low && theta < draft.high) addPoint([theta, mean]);
  }

  function addPoint(at) {
    const { points } = draft.arms[chosen.arm];
    if (points.length >= MOST_POINTS) return word(`An arm has at most ${MOST_POINTS} points; remove one first.`);
    const i = at ? points.findIndex((point) => point[0] > at[0]) : Math.max(1, Math.min(points.length - 1, chosen.point + 1));
    const [before, after] = [points[i - 1], points[i]];
    const found = at ?? [(before[0] + after[0]) / 2, (before[1] + after[1]) / 2];
    points.splice(i, 0, found.map(round));
    chosen.point = i;
    return refocus();
  }

  function removePoint() {
    const { points } = draft.arms[chosen.arm];
    if (chosen.point === 0 || chosen.point === points.length - 1) return word("The first and the last point stay, since every arm is known at all θ; move them instead.");
    word("");
    points.splice(chosen.point, 1);
    chosen.point -= 1;
    return refocus();
  }

  function keyOn(event) {
    const far = event.shiftKey ? 10 : 1;
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [0, 0];
    if (event.key === "Delete" || event.key === "Backspace") { event.preventDefault(); return removePoint(); }
    if (!dx && !dy) return undefined;
    event.preventDefault();
    const [theta, mean] = draft.arms[chosen.arm].points[chosen.point];
    movePoint(theta + (dx * far * (draft.high - draft.low)) / 100, mean + (dy * far * (draft.top - draft.bottom)) / 100);
    return refocus();
  }

  function addArm() {
    if (draft.arms.length >= MOST_ARMS) return word(`At most ${MOST_ARMS} arms can be drawn.`);
    let number = draft.arms.length + 1;
    while (draft.arms.some((arm) => arm.name === String(number))) number += 1;
    const middle = round((draft.bottom + draft.top) / 2);
    draft.arms.push({ name: String(number), points: [[draft.low, middle], [draft.high, middle]] });
    word("");
    return choose(draft.arms.length - 1, 0);
  }

  function removeArm() {
    if (draft.arms.length <= 2) return word("A structure has at least two arms; change this one instead.");
    draft.arms.splice(chosen.arm, 1);
    word("");
    return choose(0, 0);
  }

  function fieldsOf() {
    const name = h("input", { type: "text", maxlength: 30, onchange: rename });
    const number = (act) => h("input", { type: "number", step: "any", onchange: act });
    const sigma = number(() => { if (Number(sigma.value) > 0) draft.sigma = Number(sigma.value); draw(); });
    const ends = [number(rescale), number(rescale), number(rescale), number(rescale)];
    const labelled = (text, field) => h("label", { class: "field" }, text, field);
    function rename() {
      const wanted = name.value.trim();
      if (!wanted || draft.arms.some((arm, k) => k !== chosen.arm && arm.name === wanted)) word("Give every arm a name of its own.");
      else { draft.arms[chosen.arm].name = wanted; word(""); }
      draw();
    }
    function rescale() {
      const [low, high, bottom, top] = ends.map((field) => Number(field.value));
      if (!(low < high && bottom < top)) { word("The lower end must be below the upper end."); return draw(); }
      const moved = ([theta, mean]) => [round(low + ((theta - draft.low) / (draft.high - draft.low)) * (high - low)), Math.min(top, Math.max(bottom, mean))];
      for (const arm of draft.arms) {
        arm.points = arm.points.map(moved);
        arm.points[0][0] = low;
        arm.points.at(-1)[0] = high;
      }
      Object.assign(draft, { low, high, bottom, top });
      word("");
      return draw();
    }
    return {
      all: [labelled("Arm's name", name), labelled("θ from", ends[0]), labelled("θ to", ends[1]), labelled("reward from", ends[2]), labelled("reward to", ends[3]), labelled("noise σ", sigma)],
      show() {
        name.value = draft.arms[chosen.arm].name;
        sigma.value = draft.sigma;
        [draft.low, draft.high, draft.bottom, draft.top].forEach((value, i) => { ends[i].value = round(value); });
      },
    };
  }

  const resultOf = () => ({ breakpoints: Object.fromEntries(draft.arms.map((arm) => [arm.name, arm.points])), sigma: draft.sigma });
  function finish(result) {
    const resolve = resolveWith;
    resolveWith = null;
    stopWatching();
    dialog.close();
    resolve?.(result);
  }

  dialog.addEventListener("cancel", () => finish(null), { once: true });
  dialog.showModal();
  const stopWatching = whenResized(chart, draw);
  return new Promise((resolve) => { resolveWith = resolve; });
}

// From what was drawn before, from the curves on the page, or from two plain lines.
function startFrom(drawn, shown) {
  if (drawn) {
    const arms = Object.entries(drawn.breakpoints).map(([name, points]) => ({ name, points: points.map((point) => [...point]) }));
    return withRanges(arms, drawn.sigma);
  }
  if (shown?.kind === "interval" && shown.arms.length <= MOST_ARMS) {
    const arms = shown.arms.map((arm) => ({ name: arm.name, points: simplified(shown.axes[0], arm.means) }));
    return withRanges(arms, shown.arms[0].sigma);
  }
  return withRanges([{ name: "1", points: [[0, 3], [6, 1]] }, { name: "2", points: [[0, 1], [6, 4]] }], 2);
}

function withRanges(arms, sigma) {
  const all = arms.flatMap((arm) => arm.points);
  const means = all.map((point) => point[1]);
  const [least, most] = [Math.min(...means), Math.max(...means)];
  const padding = 0.15 * (most - least || 1);
  return { arms, sigma, low: arms[0].points[0][0], high: arms[0].points.at(-1)[0], bottom: round(least - padding), top: round(most + padding) };
}
