// The share of decisions of each arm over time: one stacked column per period.
import { legible, onTheme } from "/static/shared/colours.js";
import { put, s, whenResized } from "/static/shared/elements.js";
import { percent } from "/static/shared/numbers.js";

const HEIGHT = 220;

/** Draws into an element. `set(arms, buckets)`: arms [{name, look}], buckets [{start, decisions: {name: number}}]. */
export function allocationChart(element) {
  let arms = [];
  let buckets = [];

  function draw() {
    const width = Math.floor(element.clientWidth);
    if (width === 0) return;
    const [left, right, top, bottom] = [40, width - 4, 8, HEIGHT - 24];
    const svg = s("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": sentence() });
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const y = bottom - share * (bottom - top);
      svg.append(s("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }));
      svg.append(s("text", { class: "tick", x: left - 6, y: y + 4, "text-anchor": "end" }, `${100 * share} %`));
    }
    const step = (right - left) / Math.max(1, buckets.length);
    buckets.forEach((bucket, i) => svg.append(column(bucket, left + i * step, step, top, bottom)));
    timeMarks(svg, left, step, width);
    put(element, svg);
  }

  function column(bucket, x, step, top, bottom) {
    const group = s("g");
    const total = arms.reduce((sum, arm) => sum + (bucket.decisions[arm.name] ?? 0), 0);
    let y = bottom;
    const lines = [new Date(bucket.start).toLocaleString()];
    for (const arm of arms) {
      const share = total ? (bucket.decisions[arm.name] ?? 0) / total : 0;
      if (share === 0) continue;
      const height = share * (bottom - top);
      y -= height;
      group.append(s("rect", { x: x.toFixed(2), y: y.toFixed(2), width: Math.max(step - Math.min(1.5, step * 0.15), 0.5).toFixed(2), height: height.toFixed(2), fill: legible(arm.look.colour) }));
      if (share > 0.005) lines.push(`${arm.name}: ${percent(share)}`);
    }
    group.append(s("title", {}, lines.join("\n")));
    return group;
  }

  function timeMarks(svg, left, step, width) {
    if (!buckets.length) return;
    const many = Math.min(buckets.length, Math.max(2, Math.floor(width / 150)));
    const sameDay = new Date(buckets[0].start).toDateString() === new Date(buckets.at(-1).start).toDateString();
    const format = sameDay ? { hour: "2-digit", minute: "2-digit", second: buckets.length > 1 && new Date(buckets.at(-1).start) - new Date(buckets[0].start) < 6e5 ? "2-digit" : undefined } : { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" };
    for (let i = 0; i < many; i += 1) {
      const at = Math.round((i * (buckets.length - 1)) / Math.max(1, many - 1));
      const anchor = i === 0 ? "start" : i === many - 1 ? "end" : "middle";
      svg.append(s("text", { class: "tick", x: left + (at + (i === 0 ? 0 : i === many - 1 ? 1 : 0.5)) * step, y: HEIGHT - 6, "text-anchor": anchor }, new Date(buckets[at].start).toLocaleString("en-GB", format)));
    }
  }

  function sentence() {
    const last = buckets.at(-1);
    if (!last) return "No decisions yet";
    const total = arms.reduce((sum, arm) => sum + (last.decisions[arm.name] ?? 0), 0) || 1;
    return `Share of decisions, lately: ${arms.map((arm) => `${arm.name} ${percent((last.decisions[arm.name] ?? 0) / total)}`).join(", ")}`;
  }

  whenResized(element, draw);
  onTheme(draw, element);
  return {
    set(nextArms, nextBuckets) {
      arms = nextArms;
      buckets = nextBuckets;
      draw();
    },
  };
}
