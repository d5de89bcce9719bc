// Curves over rounds or time, drawn by uPlot in the page's colours.
import { cssColour, legible, onTheme } from "/static/shared/colours.js";
import { whenResized } from "/static/shared/elements.js";
import { short } from "/static/shared/numbers.js";
import uPlot from "/static/vendor/uplot/uPlot.esm.js";

/**
 * Draws into an element. `series`: [{label, look, width?, points?, fill?}] in the order of the data's
 * columns after the first. `options`: {height, xRange, yRange, time, stacked}.
 */
export function lineChart(element, label) {
  let plot = null;
  let made = null;
  let data = null;
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", label);

  function build() {
    const width = Math.floor(element.clientWidth);
    plot?.destroy();
    plot = null;
    if (!made || !data || width === 0) return;
    const { series, options } = made;
    const axis = { stroke: cssColour("--ink-soft"), grid: { stroke: cssColour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const values = (_, splits) => splits.map((value) => (value === null ? "" : value.toLocaleString("en", { maximumFractionDigits: 6 })));
    plot = new uPlot(
      {
        width,
        height: options.height ?? 220,
        legend: { show: false },
        cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
        scales: {
          x: { time: Boolean(options.time), range: options.xRange },
          y: { range: options.yRange ?? undefined },
        },
        axes: [
          { ...axis, grid: { show: false }, size: 28, ...(options.time ? { values: timeNames, space: 90 } : { values, incrs: WHOLE }) },
          { ...axis, size: 50, values: options.yValues ? (_, splits) => splits.map(options.yValues) : values },
        ],
        series: [{}, ...series.map(lineOf)],
        hooks: { setCursor: [tell] },
      },
      data,
      element,
    );
    tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    plot.over.append(tip);
  }

  let tip = null;
  function tell(drawn) {
    const at = drawn.cursor.idx;
    if (!tip) return;
    tip.hidden = at === null || at === undefined || drawn.cursor.left < 0;
    if (tip.hidden) return;
    const { series, options } = made;
    const when = options.time ? new Date(1000 * data[0][at]).toLocaleString() : `${options.xName ?? "round"} ${data[0][at].toLocaleString("en")}`;
    const rows = series.map((one, i) => {
      const value = (options.shown ?? data)[i + 1]?.[at];
      return value === null || value === undefined ? null : `${one.label}: ${(options.yValues ?? short)(value)}`;
    });
    tip.textContent = [when, ...rows.filter(Boolean)].join("\n");
    const toLeft = drawn.cursor.left > drawn.over.clientWidth / 2;
    tip.style.left = toLeft ? "auto" : `${drawn.cursor.left + 12}px`;
    tip.style.right = toLeft ? `${drawn.over.clientWidth - drawn.cursor.left + 12}px` : "auto";
  }

  whenResized(element, build);
  onTheme(build, element);
  return {
    set(series, options, next) {
      made = { series, options };
      data = next;
      build();
    },
    update(next) {
      data = next;
      plot?.setData(next);
    },
  };
}

/** Labels of times, as short as their distance allows. */
export function timeNames(_, splits) {
  const step = splits.length > 1 ? splits[1] - splits[0] : 1;
  const clock = { hour: "2-digit", minute: "2-digit", second: step < 60 ? "2-digit" : undefined };
  const format = step < 86400 ? clock : { day: "numeric", month: "short" };
  const long = splits.length > 1 && splits.at(-1) - splits[0] > 86400 && step < 86400;
  return splits.map((at) => new Date(1000 * at).toLocaleString("en-GB", long ? { ...clock, day: "numeric", month: "short" } : format));
}

// Rounds are whole numbers.
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 1e8, 1e9];

function lineOf({ label, look, width = 2.2, points = false, fill = null, stepped = false }) {
  const colour = legible(look.colour);
  return {
    label,
    stroke: colour,
    width,
    dash: look.dash.length ? look.dash.map((length) => 2 * length) : undefined,
    points: { show: points, size: 5 },
    fill: fill ? colour + fill : undefined,
    paths: stepped ? uPlot.paths.stepped({ align: 1 }) : undefined,
    spanGaps: true,
  };
}
