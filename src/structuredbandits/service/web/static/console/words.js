// Small pieces of the console's pages: states, times, names of arms, links.
import { legible } from "/static/shared/colours.js";
import { h, swatch } from "/static/shared/elements.js";
import { short } from "/static/shared/numbers.js";

export const experimentLink = (id) => `#/experiments/${encodeURIComponent(id)}`;
export const subjectLink = (id, subject) => `${experimentLink(id)}/subjects/${encodeURIComponent(subject)}`;
export const experimentPath = (id) => `/v1/experiments/${encodeURIComponent(id)}`;

const STATES = { running: "good", paused: "warn", unusable: "bad" };

/** The state of an experiment; hovering shows why one cannot be served. */
export function stateTag({ state, reason }) {
  return h("span", { class: `tag ${STATES[state] ?? "warn"}`, title: reason }, state);
}

const VERDICTS = { fits: "good", doubtful: "warn", refuted: "bad", untested: "" };

/** The colour of a verdict on a structure. */
export const verdictKind = (verdict) => VERDICTS[verdict] ?? "";

export function healthTag(verdict) {
  return h("span", { class: `tag ${verdictKind(verdict)}` }, verdict);
}

export function armName(name, look) {
  return h("span", { class: "armname" }, swatch(look, legible(look.colour)), name);
}

export function time(text) {
  if (!text) return "–";
  const then = new Date(text);
  return h("time", { datetime: text, title: then.toLocaleString() }, ago(then));
}

function ago(then) {
  const seconds = (Date.now() - then) / 1000;
  if (seconds < 5) return "just now";
  for (const [size, unit] of [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]]) {
    const number = Math.floor(seconds / size);
    if (number >= 1) return `${number} ${unit}${number === 1 ? "" : "s"} ago`;
  }
  return then.toLocaleString();
}

/** A row of labelled figures: [label, value, remark?]. */
export function figures(rows) {
  return h("dl", { class: "figures" }, rows.filter(Boolean).map(([label, value, remark]) =>
    h("div", {}, h("dt", {}, label), h("dd", {}, value, remark ? h("small", {}, remark) : null))));
}

/** How much more the log earned than the baseline would have, in a colour; null if unknown. */
export function gain({ baseline }, minimize) {
  if (!baseline) return null;
  const difference = baseline.logged - baseline.estimate;
  const better = minimize ? difference < 0 : difference > 0;
  // No colour while the interval contains both signs: the log does not decide.
  const clear = baseline.logged < baseline.low || baseline.logged > baseline.high;
  const text = `${difference >= 0 ? "+" : "−"}${short(Math.abs(difference))}`;
  return h("span", { class: clear ? (better ? "up" : "down") : null }, text);
}

/** Asks before something that cannot be undone; resolves with true or false. */
export function confirmed(question, act) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-label": act });
    const end = (answer) => { dialog.close(); dialog.remove(); resolve(answer); };
    dialog.append(h("div", { class: "stack" }, h("p", {}, question), h("div", { class: "row" },
      h("button", { type: "button", autofocus: true, onclick: () => end(false) }, "Keep"),
      h("button", { type: "button", class: "main", onclick: () => end(true) }, act))));
    dialog.addEventListener("cancel", () => end(false));
    document.body.append(dialog);
    dialog.showModal();
  });
}
