// The sequence of pulls: one row per arm, one mark per round, and where an arm was not competitive.
import { nameOf } from "/static/charts/structure.js";
import { cssColour, legible, onTheme } from "/static/shared/colours.js";
import { h, put, whenResized } from "/static/shared/elements.js";
import { ticks } from "/static/shared/numbers.js";

const ROW = 20;

/**
 * Draws into an element. `setRun` takes the arms, the sequence of their positions and the changes of
 * the competitive ones; `update(until, shown)` draws the first rounds on an axis of `shown` rounds.
 */
export function pullsChart(element) {
  const canvas = h("canvas", { role: "img", "aria-label": "Sequence of pulls" });
  put(element, canvas);
  let arms = null;
  let rounds = 1;
  let changes = [];
  let sequence = [];
  let until = 0;
  let first = 0;

  function draw() {
    const width = Math.floor(element.clientWidth);
    if (!arms || width === 0) return;
    const names = arms.map((arm) => nameOf(arm.name, arms.every((a) => a.name.length <= 3) ? 1 : 99));
    const left = Math.min(108, 14 + 6.6 * Math.max(...names.map((name) => name.length)));
    const height = arms.length * ROW + 24;
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.setAttribute("aria-label", `Arms of rounds ${first + 1} to ${first + until}: ${arms.map((arm, k) => `${arm.name} ${sequence.slice(0, until).filter((a) => a === k).length}`).join(", ")}`);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.clearRect(0, 0, width, height);
    const step = (width - left - 6) / rounds;
    const [soft, ground, line] = [cssColour("--ink-soft"), cssColour("--allowed"), cssColour("--line")];
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    pen.textBaseline = "middle";
    paintOut(pen, left, step, ground);
    arms.forEach((arm, k) => {
      pen.fillStyle = soft;
      pen.fillText(names[k], 0, k * ROW + ROW / 2);
      pen.fillStyle = line;
      pen.fillRect(left, (k + 1) * ROW - 1, width - left, 1);
    });
    const colours = arms.map((arm) => legible(arm.look.colour));
    const mark = Math.max(step * 0.86, 1);
    for (let i = 0; i < until; i += 1) {
      pen.fillStyle = colours[sequence[i]];
      pen.fillRect(left + i * step, sequence[i] * ROW + 3, mark, ROW - 7);
    }
    pen.fillStyle = soft;
    pen.textAlign = "center";
    for (const value of ticks(first, first + rounds, Math.max(2, (width - left) / 90))) {
      const x = Math.min(width - 14, left + (value - first) * step);
      pen.fillText(value.toLocaleString("en"), x, height - 9);
    }
    pen.textAlign = "start";
  }

  // Grey where an arm did not compete: from each change of the set to the next.
  function paintOut(pen, left, step, colour) {
    pen.fillStyle = colour;
    changes.forEach((change, i) => {
      if (change.round > until) return;
      const end = Math.min(until, changes[i + 1]?.round ?? until);
      arms.forEach((_, k) => {
        if (!change.competitive.includes(k)) pen.fillRect(left + change.round * step, k * ROW + 1, (end - change.round) * step + 0.3, ROW - 3);
      });
    });
  }

  whenResized(element, draw);
  onTheme(draw, element);
  return {
    /** `changes`: [{round, competitive}] in order, or an empty list; `before`: rounds that are not included. */
    setRun(nextArms, nextSequence, nextChanges, before = 0) {
      first = before;
      arms = nextArms;
      sequence = nextSequence;
      changes = nextChanges ?? [];
      until = 0;
      draw();
    },
    update(next, shown) {
      rounds = Math.max(1, shown);
      until = Math.min(next, sequence.length);
      draw();
    },
  };
}
