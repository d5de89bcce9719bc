// All experiments that the key opens.
import { experimentLink, experimentPath, gain, healthTag, stateTag, time } from "/static/console/words.js";
import { get } from "/static/shared/api.js";
import { h, put } from "/static/shared/elements.js";
import { short } from "/static/shared/numbers.js";

const SAMPLE = "structuredbandits serve movielens --policy hierarchical --db bandits.db";
// Each row asks for its own figures; beyond this many a list is enough.
const MOST_SUMMARIES = 30;

export function listView() {
  const element = h("div", {});
  let experiments = [];
  const summaries = new Map();
  const asked = new Set();
  const body = h("tbody", {});

  async function load() {
    ({ experiments } = await get("/v1/experiments"));
    // One that cannot be served has no figures.
    for (const { id } of experiments.filter(({ state }) => state !== "unusable").slice(0, MOST_SUMMARIES)) fill(id);
  }

  // Figures come when they are ready; the list does not wait for them.
  async function fill(id) {
    if (asked.has(id)) return;
    asked.add(id);
    try {
      summaries.set(id, await get(`${experimentPath(id)}/summary`));
      const row = body.querySelector(`[data-id="${CSS.escape(id)}"]`);
      const one = experiments.find((experiment) => experiment.id === id);
      if (row && one && !row.contains(document.activeElement)) row.replaceWith(rowOf(one, summaries.get(id)));
    } catch {
      // Its figures stay as they were; the list itself reports if the service is unavailable.
    } finally {
      asked.delete(id);
    }
  }

  function rowOf(experiment, summary) {
    return h("tr", { class: "link", "data-id": experiment.id },
      h("td", {}, h("a", { href: experimentLink(experiment.id) }, experiment.id)),
      h("td", {}, stateTag(experiment)),
      h("td", { class: "nowrap" }, experiment.policy),
      h("td", { class: "number" }, experiment.arms.length || "–"),
      h("td", { class: "number" }, summary ? summary.subjects.toLocaleString("en") : "–"),
      h("td", { class: "number" }, summary ? summary.decisions.toLocaleString("en") : "–"),
      h("td", { class: "number" }, summary ? summary.pending.toLocaleString("en") : "–"),
      h("td", { class: "number" }, summary ? short(summary.mean_reward) : "–"),
      h("td", { class: "number" }, summary ? (gain(summary, summary.minimize) ?? "–") : "–"),
      h("td", {}, summary ? healthTag(summary.health.verdict) : "–"),
      h("td", { class: "nowrap soft small" }, time(experiment.created)));
  }

  function draw() {
    const heads = [["Experiment"], ["State"], ["Policy"], ["Arms", 1], ["Subjects", 1], ["Decisions", 1], ["Pending", 1], ["Mean reward", 1], ["Against unstructured", 1], ["Structure"], ["Created"]];
    const table = h("section", { class: "card", "aria-label": "Experiments" }, h("div", { class: "scroll" }, h("table", { id: "experiments" },
      h("thead", {}, h("tr", {}, heads.map(([text, number]) => h("th", { scope: "col", class: number ? "number" : null }, text)))),
      body)));
    put(body, experiments.map((one) => rowOf(one, summaries.get(one.id))));
    const empty = h("section", { class: "card empty" },
      h("h2", {}, "No experiment yet"),
      h("p", { class: "soft" }, "An experiment is a structure, a policy and settings. Create one when the service starts, or with POST /v1/experiments:"),
      h("pre", {}, SAMPLE));
    put(element,
      h("div", { class: "page-head" }, h("h1", {}, "Experiments"), h("span", { class: "live" }, "live")),
      experiments.length ? table : empty);
  }

  return { element, load, draw, live: true, title: "Experiments" };
}
