// One experiment: allocation, rewards, pending rewards, and the fit of the structure.
import { allocationChart } from "/static/charts/allocation.js";
import { lineChart } from "/static/charts/lines.js";
import { bestArms, thetaMap } from "/static/charts/map.js";
import { structureChart } from "/static/charts/structure.js";
import { keepingFocus } from "/static/console/focus.js";
import { readStructure } from "/static/console/structure.js";
import { subjectsCard } from "/static/console/subjects.js";
import { armName, confirmed, experimentPath, figures, gain, stateTag, time, verdictKind } from "/static/console/words.js";
import { ask, get, post } from "/static/shared/api.js";
import { h, put } from "/static/shared/elements.js";
import { percent, short } from "/static/shared/numbers.js";

const BASELINE = "ts";
const CHANCE = { colour: "#6B6B6B", dash: [1, 1.3], marker: "" };

export function experimentView(id) {
  const path = experimentPath(id);
  const known = { version: 0, asked: 0, taken: 0 };
  const head = h("div", {});
  const behind = h("div", { role: "status" });
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
  const [legend, rewardLegend, structureLegend] = [0, 1, 2].map(() => h("div", { class: "legend" }));
  const baselineText = h("p", { class: "small soft" });
  const unusable = h("p", { class: "note bad", id: "unusable", hidden: true });
  const rest = h("div", { class: "stack" }, behind, facts, health,
    h("div", { class: "two" },
      card("Allocation", remark("share of decisions per option (arm), over time"), allocationBox, legend),
      card("Reward", remark("mean reward over time"), rewardBox, rewardLegend, baselineText)),
    h("div", { class: "two" },
      h("div", { class: "stack" }, card("Structure", structureText, structureBox, structureLegend), card("Arms", remark("over all subjects"), armsTable)),
      subjects.element));
  const element = h("div", {}, head, word, unusable, rest);

  async function load() {
    known.asked += 1;
    const mine = known.asked;
    const experiment = await get(path);
    // Requests overlap when a button is pressed: an older response must not replace a newer one.
    if (mine < known.taken) return;
    known.taken = mine;
    known.experiment = experiment;
    if (experiment.state === "unusable") return; // the API reports nothing else about it
    const { structure_version: version, policy, arms } = experiment;
    if (version !== known.version) {
      const names = [policy.slice(0, 80), BASELINE];
      const query = new URLSearchParams([["arms", arms.length], ...names.map((name) => ["policy", name])]);
      const [answer, looks] = await Promise.all([get(`${path}/structures/${version}`), get(`/v1/lab/looks?${query}`)]);
      if (mine < known.taken) return;
      known.structure = readStructure(answer, looks.arms);
      known.looks = names.map((name) => looks.policies[name]);
      known.version = version;
      known.drawn = false;
    }
    await subjects.load();
    count();
  }

  // Figures of a long log take a moment: the page does not wait for them.
  async function count() {
    if (known.counting) return;
    known.counting = true;
    try {
      known.summary = await get(`${path}/summary`);
      if (element.isConnected) keepingFocus(drawSummary);
    } catch (problem) {
      put(behind, h("p", { class: "note warn" }, `The figures are not up to date: ${problem.message}`));
    } finally {
      known.counting = false;
    }
  }

  // Several may run at once: the start of one clears the messages of those before, its end does not.
  async function act(work) {
    put(word);
    try {
      await work();
      await load();
      keepingFocus(draw);
    } catch (problem) {
      word.append(h("p", { class: "note bad" }, problem.message));
    }
  }

  function headOf({ state, reason, policy, created }) {
    const next = state === "running" ? "paused" : "running";
    const change = h("button", { type: "button", id: "change-state", onclick: () => act(() => ask("PATCH", path, { state: next })) }, state === "running" ? "Pause" : "Resume");
    return [
      h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Experiments"), " / "),
      h("div", { class: "page-head" }, h("h1", {}, id), stateTag({ state, reason }), h("span", { class: "tag" }, policy), h("span", { class: "soft small" }, "created ", time(created)),
        h("div", { class: "row" }, h("span", { class: "live" }, "live"), state === "unusable" ? null : change)),
    ];
  }

  function factsOf(summary) {
    const { baseline } = summary;
    const whole = (number) => number.toLocaleString("en");
    const never = [summary.defaulted ? `${whole(summary.defaulted)} counted with the default` : null, summary.expired ? `${whole(summary.expired)} expired without a reward` : null];
    return figures([
      ["Subjects", whole(summary.subjects)],
      ["Decisions", whole(summary.decisions)],
      ["Rewards", whole(summary.rewards)],
      ["Pending rewards", whole(summary.pending), summary.decisions ? `${percent(summary.pending / summary.decisions)} of all decisions` : null],
      ["Late rewards", whole(summary.late), never.filter(Boolean).join(", ") || "none expired"],
      ["Mean reward", short(summary.mean_reward), summary.standard_error === null ? null : `± ${short(summary.standard_error)} standard error`],
      ["Against unstructured", gain(summary, known.structure.minimize) ?? "–", baseline ? `${baseline.policy} would earn ${short(baseline.estimate)}` : "not enough rewards yet"],
    ]);
  }

  function healthOf({ health: found }) {
    return h("p", { class: `note ${verdictKind(found.verdict)}`, id: "health" }, h("strong", {}, `Structure ${found.verdict}. `), found.sentence);
  }

  function armsOf(summary) {
    const retired = new Set(known.experiment.retired_arms);
    const byArm = new Map(summary.arms.map((arm) => [arm.arm, arm]));
    const rows = known.structure.arms.map(({ name, look }) => {
      const out = retired.has(name);
      const verb = out ? "restore" : "retire";
      const { decisions: shown, mean_reward: mean } = byArm.get(name) ?? { decisions: 0, mean_reward: null };
      const work = async () => {
        if (out || (await confirmed(`“${name}” is not shown to anyone until you restore it.`, "Retire"))) await act(() => post(`${path}/arms/${encodeURIComponent(name)}/${verb}`));
      };
      return h("tr", {},
        h("td", {}, h("span", { class: "row" }, armName(name, look), out ? h("span", { class: "tag warn" }, "retired") : null)),
        h("td", { class: "number" }, shown.toLocaleString("en")),
        h("td", { class: "number wide-only" }, percent(summary.decisions ? shown / summary.decisions : 0)),
        h("td", { class: "number" }, short(mean)),
        h("td", { class: "number" }, h("button", { type: "button", class: "quiet small", "aria-label": `${verb} ${name}`, onclick: work }, verb)));
    });
    const heads = [["Arm"], ["Decisions", 1], ["Share", "wide-only"], ["Mean reward", 1], ["", 1]];
    return h("table", { id: "arms" }, h("thead", {}, h("tr", {}, heads.map(([text, number]) => h("th", { scope: "col", class: number ? `number ${number}` : null }, text)))), h("tbody", {}, rows));
  }

  function drawReward({ buckets: rows, baseline }) {
    const xs = rows.map((row) => Date.parse(row.start) / 1000);
    const series = [{ label: known.experiment.policy, look: known.looks[0] }, { label: "uniformly random (estimate)", look: CHANCE, width: 1.4 }];
    const data = [xs, rows.map((row) => row.mean_reward), rows.map((row) => row.uniform)];
    if (baseline) {
      series.push({ label: `${baseline.policy} (estimate)`, look: known.looks[1], width: 1.8 });
      data.push(rows.map(() => baseline.estimate));
    }
    reward.set(series, { height: 220, time: true }, data);
    put(rewardLegend, series.map(({ label, look }) => armName(label, look)));
    baselineText.textContent = baseline
      ? `${baseline.how} The estimate is ${short(baseline.estimate)} (${short(baseline.low)} to ${short(baseline.high)}); these decisions earned ${short(baseline.logged)}.`
      : "The comparison with an unstructured policy needs more rewards.";
  }

  function drawSummary() {
    const { summary, structure } = known;
    put(behind, summary.complete ? null : h("p", { class: "note" }, "Still counting: so far the figures cover only the older part of the log."));
    put(facts, factsOf(summary));
    put(health, healthOf(summary));
    put(armsTable, armsOf(summary));
    allocation.set(structure.arms, summary.buckets);
    drawReward(summary);
  }

  function draw() {
    const { experiment, structure } = known;
    put(head, headOf(experiment));
    unusable.hidden = experiment.state !== "unusable";
    rest.hidden = !unusable.hidden;
    unusable.textContent = experiment.reason ?? "";
    if (rest.hidden) return;
    put(legend, structure.arms.length <= 12 ? structure.arms.map((arm) => armName(arm.name, arm.look)) : null);
    structureText.textContent = `version ${known.version}, ${experiment.parameters.toLocaleString("en")} visitor types; used for new subjects`;
    if (!known.drawn) {
      known.drawn = true;
      const chart = structure.kind === "interval" ? structureChart(structureBox, { height: 260 }) : thetaMap(structureBox);
      chart.setStructure(structure);
      put(structureLegend, structure.kind === "interval" ? null : [bestArms(structure), h("span", {}, "colour: best option")]);
    }
    subjects.draw();
    if (known.summary) drawSummary();
    else put(facts, h("p", { class: "soft" }, "Counting…"));
  }

  return { element, load, draw, live: true, title: id };
}
