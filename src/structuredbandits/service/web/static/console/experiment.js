// One experiment: who gets what, what it earns, what is missing, and whether the structure holds.
import { allocationChart } from "/static/charts/allocation.js";
import { lineChart } from "/static/charts/lines.js";
import { bestArms, thetaMap } from "/static/charts/map.js";
import { structureChart } from "/static/charts/structure.js";
import { readStructure } from "/static/console/structure.js";
import { subjectsCard } from "/static/console/subjects.js";
import { armName, confirmed, experimentPath, figures, gain, healthTag, stateTag, time } from "/static/console/words.js";
import { ask, get, post } from "/static/shared/api.js";
import { h, put } from "/static/shared/elements.js";
import { percent, short } from "/static/shared/numbers.js";

const BASELINE = { colour: "#6B6B6B", dash: [3, 2], marker: "" };

export function experimentView(id) {
  const path = experimentPath(id);
  const known = { version: 0 };
  const head = h("div", {});
  const facts = h("div", {});
  const health = h("div", {});
  const armsTable = h("div", { class: "scroll" });
  const structureText = h("p", {});
  const [allocationBox, rewardBox, structureBox] = ["allocation", "reward", "structure"].map((name) => h("div", { class: "chart", id: name }));
  const word = h("div", { role: "alert" });
  const subjects = subjectsCard(id);
  const allocation = allocationChart(allocationBox);
  const reward = lineChart(rewardBox, "Mean reward over time, with the baseline's estimate");
  const card = (name, text, ...inside) => h("section", { class: "card", "aria-label": name }, h("header", {}, h("h2", {}, name), text), ...inside);
  const remark = (text) => h("p", {}, text);
  const [legend, structureLegend] = [0, 1].map(() => h("div", { class: "legend" }));
  const baselineText = h("p", { class: "small soft" });
  const element = h("div", {}, head, word, h("div", { class: "stack" }, facts, health,
    h("div", { class: "two" },
      card("Allocation", remark("share of the decisions of each arm, over time"), allocationBox, legend),
      card("Reward", remark("mean of the rewards, over time"), rewardBox, baselineText)),
    h("div", { class: "two" },
      h("div", { class: "stack" }, card("Structure", structureText, structureBox, structureLegend), card("Arms", remark("over all subjects"), armsTable)),
      subjects.element)));

  async function load() {
    [known.experiment, known.summary] = await Promise.all([get(path), get(`${path}/summary`)]);
    const { structure_version: version, policy, arms } = known.experiment;
    if (version !== known.version) {
      const query = new URLSearchParams([["arms", arms.length], ["policy", policy.slice(0, 80)]]);
      const [answer, looks] = await Promise.all([get(`${path}/structures/${version}`), get(`/v1/lab/looks?${query}`)]);
      known.structure = readStructure(answer, looks.arms);
      known.look = looks.policies[policy.slice(0, 80)];
      known.version = version;
      known.drawn = false;
    }
    await subjects.load();
  }

  async function act(work) {
    try {
      await work();
      put(word);
      await load();
      draw();
    } catch (problem) {
      put(word, h("p", { class: "note bad" }, problem.message));
    }
  }

  function headOf({ state, policy, created }) {
    const next = state === "running" ? "paused" : "running";
    const change = h("button", { type: "button", id: "change-state", onclick: () => act(() => ask("PATCH", path, { state: next })) }, state === "running" ? "Pause" : "Let it run");
    return [
      h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Experiments"), " / "),
      h("div", { class: "page-head" }, h("h1", {}, id), stateTag(state), h("span", { class: "tag" }, policy), h("span", { class: "soft small" }, "created ", time(created)),
        h("div", { class: "row" }, h("span", { class: "live" }, "live"), change)),
    ];
  }

  function factsOf(summary) {
    const spread = summary.standard_error ? `± ${short(summary.standard_error)}` : null;
    const { baseline } = summary;
    return figures([
      ["Subjects", summary.subjects.toLocaleString("en")],
      ["Decisions", summary.decisions.toLocaleString("en")],
      ["Rewards", summary.rewards.toLocaleString("en")],
      ["Pending rewards", summary.pending.toLocaleString("en"), summary.decisions ? `${percent(summary.pending / summary.decisions)} of all decisions` : null],
      ["Late rewards", summary.late.toLocaleString("en"), summary.defaulted ? `${summary.defaulted} counted as the default` : summary.expired ? `${summary.expired} never came` : null],
      ["Mean reward", short(summary.mean_reward), spread],
      ["Against chance", gain(summary, known.structure.minimize) ?? "–", baseline?.estimate === null ? "not yet known" : `chance earns ${short(baseline.estimate)}`],
    ]);
  }

  function healthOf({ health: found }) {
    const kind = { fits: "good", doubtful: "warn", refuted: "bad" }[found.verdict] ?? "";
    return h("p", { class: `note ${kind}`, id: "health" }, h("strong", {}, "Structure: "), healthTag(found.verdict), " ", found.sentence);
  }

  function armsOf(summary) {
    const retired = new Set(known.experiment.retired_arms);
    const rows = summary.arms.map((arm, k) => {
      const out = retired.has(arm.arm);
      const verb = out ? "restore" : "retire";
      const work = async () => {
        if (out || (await confirmed(`“${arm.arm}” will be shown to nobody until it is restored.`, "Retire"))) await act(() => post(`${path}/arms/${encodeURIComponent(arm.arm)}/${verb}`));
      };
      return h("tr", {},
        h("td", {}, armName(arm.arm, known.structure.arms[k].look), out ? h("span", { class: "tag warn" }, "retired") : null),
        h("td", { class: "number" }, arm.decisions.toLocaleString("en")),
        h("td", { class: "number" }, percent(summary.decisions ? arm.decisions / summary.decisions : 0)),
        h("td", { class: "number" }, short(arm.mean_reward)),
        h("td", { class: "number" }, h("button", { type: "button", class: "quiet small", "aria-label": `${verb} ${arm.arm}`, onclick: work }, verb)));
    });
    const heads = [["Arm"], ["Decisions", 1], ["Share", 1], ["Mean reward", 1], ["", 1]];
    return h("table", { id: "arms" }, h("thead", {}, h("tr", {}, heads.map(([text, number]) => h("th", { scope: "col", class: number ? "number" : null }, text)))), h("tbody", {}, rows));
  }

  function drawReward({ buckets, baseline }) {
    const xs = buckets.map((bucket) => Date.parse(bucket.start) / 1000);
    const series = [{ label: known.experiment.policy, look: known.look, points: buckets.length < 40 }, { label: "chance (estimate)", look: BASELINE, width: 1.8 }];
    reward.set(series, { height: 220, time: true }, [xs, buckets.map((bucket) => bucket.mean_reward), buckets.map((bucket) => bucket.baseline)]);
    baselineText.textContent = baseline?.how ?? "";
  }

  function draw() {
    const { experiment, summary, structure } = known;
    put(head, headOf(experiment));
    put(facts, factsOf(summary));
    put(health, healthOf(summary));
    put(armsTable, armsOf(summary));
    allocation.set(structure.arms, summary.buckets);
    put(legend, structure.arms.length <= 12 ? structure.arms.map((arm) => armName(arm.name, arm.look)) : null);
    drawReward(summary);
    structureText.textContent = `version ${known.version}, ${experiment.parameters.toLocaleString("en")} θ; new subjects get it`;
    if (!known.drawn) {
      known.drawn = true;
      const chart = structure.kind === "interval" ? structureChart(structureBox, { height: 260 }) : thetaMap(structureBox);
      chart.setStructure(structure);
      put(structureLegend, structure.kind === "interval" ? null : [bestArms(structure), h("span", {}, "colour: the best arm")]);
    }
    subjects.draw();
  }

  return { element, load, draw, live: true, title: id };
}
