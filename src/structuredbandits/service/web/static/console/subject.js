// One subject: what is plausible of it, which arms compete, and every decision, step by step.
import { armsChart } from "/static/charts/arms.js";
import { bestArms, thetaMap } from "/static/charts/map.js";
import { pullsChart } from "/static/charts/pulls.js";
import { stepsChart } from "/static/charts/steps.js";
import { nameOf, structureChart } from "/static/charts/structure.js";
import { stateBefore } from "/static/console/history.js";
import { readStructure } from "/static/console/structure.js";
import { armName, confirmed, experimentLink, experimentPath, figures, time } from "/static/console/words.js";
import { ask, get } from "/static/shared/api.js";
import { h, put } from "/static/shared/elements.js";
import { listing, percent, short } from "/static/shared/numbers.js";

const PAGE = 500;
const MOST_STEPS = 2000; // the latest ones; before them only counts are known

export function subjectView(id, name) {
  const path = `${experimentPath(id)}/subjects/${encodeURIComponent(name)}`;
  const known = { steps: [], at: 0, follows: true };
  const boxes = Object.fromEntries(["structure", "arms", "pulls"].map((one) => [one, h("div", { class: "chart", id: one })]));
  const panels = h("div", { class: "panels", id: "steps" });
  const facts = h("div", {});
  const verdict = h("p", { class: "note", id: "verdict" });
  const sentence = h("p", { class: "note", id: "sentence", role: "status" });
  const legend = h("div", { class: "legend" });
  const rows = h("tbody", {});
  const older = h("p", { class: "small soft" });
  const word = h("div", { role: "alert" });
  const bar = h("input", { type: "range", min: 0, max: 0, "aria-label": "Decision", oninput: () => go(Number(bar.value)) });
  const place = h("span", { class: "number" });
  const step = (text, label, by) => h("button", { type: "button", class: "square", "aria-label": label, title: label, onclick: () => go(known.at + by) }, text);
  const card = (title, text, ...inside) => h("section", { class: "card", "aria-label": title }, h("header", {}, h("h2", {}, title), text ? h("p", {}, text) : null), ...inside);
  const stepsCard = card("Step by step", "coloured: the interval of an option's mean; grey: the visitor types that it allows. Those that all options allow are still possible.", panels);
  const element = h("div", {},
    h("p", { class: "crumbs" }, h("a", { href: "#/" }, "Experiments"), " / ", h("a", { href: experimentLink(id) }, id), " / "),
    h("div", { class: "page-head" }, h("h1", {}, name), h("span", { class: "tag" }, "subject"),
      h("div", { class: "row" }, h("span", { class: "live" }, "live"), h("button", { type: "button", id: "forget", onclick: forget }, "Delete subject…"))),
    word,
    h("div", { class: "stack" }, facts, verdict,
      card("Still possible", "mean reward per visitor type; marked are the types that the rewards so far do not contradict", boxes.structure,
        legend),
      h("section", { class: "card stepper", "aria-label": "Point in time" },
        h("div", { class: "row" }, step("◀", "Previous decision", -1), step("▶", "Next decision", 1), h("button", { type: "button", onclick: () => go(Infinity) }, "Now")),
        h("div", { class: "bar" }, bar), place),
      sentence,
      h("div", { class: "two" }, card("Arms", "mean reward with its interval, and rewards received", boxes.arms), card("Sequence of pulls", "grey where an option was ruled out", boxes.pulls)),
      stepsCard,
      card("Decisions", "select one by click or with the arrow keys to see what was known before it", older, h("div", { class: "steps-list" }, h("table", { id: "decisions" }, h("thead", {}, h("tr", {},
        [["Round", "number"], ["Arm"], ["Probability", "number wide-only"], ["Reward", "number"], ["State"], ["Possible types", "number wide-only"], ["When", "wide-only"]].map(([text, kind]) => h("th", { scope: "col", class: kind }, text)))), rows)))));
  const charts = { arms: armsChart(boxes.arms, "rewards"), pulls: pullsChart(boxes.pulls), steps: stepsChart(panels), main: null };

  function load() {
    known.loading = look();
    return known.loading;
  }

  async function look() {
    const subject = await get(path);
    const reported = JSON.stringify(subject);
    if (!known.structure) {
      const answer = await get(`${experimentPath(id)}/structures/${subject.structure_version}`);
      const looks = await get(`/v1/lab/looks?arms=${answer.arms.length}`);
      known.structure = readStructure(answer, looks.arms);
    }
    // A decision or a reward changes the reported subject; otherwise its steps are unchanged.
    // Both are taken at once, so that neither is shown without the other.
    if (reported !== known.reported) Object.assign(known, { steps: await latestSteps(subject), subject, reported });
  }

  async function latestSteps(subject) {
    const found = [];
    let after = Math.max(0, subject.decided - MOST_STEPS);
    do {
      const page = await get(`${path}/steps?limit=${PAGE}&after=${after}`);
      found.push(...page.steps);
      after = page.next;
    } while (after !== null);
    return found;
  }

  async function forget() {
    if (!(await confirmed(`Delete “${name}” and all its data? This cannot be undone.`, "Delete"))) return;
    // A subject that is being deleted is not requested again: the missing subject would be an error.
    view.live = false;
    await Promise.allSettled([known.loading]);
    try {
      await ask("DELETE", path);
      if (element.isConnected) location.hash = experimentLink(id);
    } catch (problem) {
      view.live = true;
      put(word, h("p", { class: "note bad" }, problem.message));
    }
  }

  function go(next) {
    known.at = Math.max(0, Math.min(known.steps.length, next));
    known.follows = known.at === known.steps.length;
    show();
  }

  function draw() {
    const { structure, steps, subject } = known;
    if (!charts.main) {
      const interval = structure.kind === "interval";
      charts.main = interval ? structureChart(boxes.structure, { height: 320 }) : thetaMap(boxes.structure);
      charts.main.setStructure(structure);
      charts.arms.setStructure(structure.arms, null);
      put(legend, interval ? [h("span", {}, h("i", {}), "visitor types still possible"), h("span", {}, "grey: option ruled out")] : [bestArms(structure), h("span", {}, "colour: the best arm; bright: θ still plausible")]);
      stepsCard.hidden = !interval;
      if (interval) charts.steps.setStructure(structure);
    }
    const names = structure.arms.map((arm) => arm.name);
    const changes = steps.map((one, i) => ({ round: i, competitive: one.competitive_arms.map((arm) => names.indexOf(arm)) }));
    charts.pulls.setRun(structure.arms, steps.map((one) => names.indexOf(one.arm)), changes, before());
    if (known.follows) known.at = steps.length;
    put(facts, factsOf(subject));
    const { diagnostics } = subject;
    verdict.textContent = diagnostics.verdict;
    verdict.className = `note ${diagnostics.refuted ? "bad" : diagnostics.verdict.includes("doubtful") ? "warn" : diagnostics.rewards ? "good" : ""}`;
    put(rows, [...steps].reverse().map((one) => rowOf(one)));
    put(older, before() ? `The latest ${steps.length.toLocaleString("en")} of ${last().toLocaleString("en")} decisions; the export contains all of them.` : null);
    show();
  }

  // How many decisions came before those that are shown, and the number of the last one.
  const before = () => (known.steps.length ? known.steps[0].round - 1 : 0);
  const last = () => before() + known.steps.length;

  function factsOf(subject) {
    const pending = Object.values(subject.arms).reduce((sum, arm) => sum + arm.pending, 0);
    return figures([
      ["Decisions", subject.decided.toLocaleString("en")],
      ["Rewards", subject.received.toLocaleString("en"), pending ? `${pending} pending` : "none pending"],
      ["Possible visitor types", percent(subject.plausible.count / subject.plausible.of), `${subject.plausible.count} of ${subject.plausible.of}`],
      ["Options still in play", subject.competitive_arms.length, `of ${Object.keys(subject.arms).length}`],
      ["Best fit", subject.diagnostics.best_fit ?? "–", "visitor type that fits the rewards best"],
      ["First seen", time(subject.created), `structure version ${subject.structure_version}`],
    ]);
  }

  function rowOf(one) {
    const look = known.structure.arms.find((arm) => arm.name === one.arm).look;
    const state = one.state === "rewarded" ? null : h("span", { class: `tag ${one.state === "pending" ? "" : "warn"}` }, one.state);
    return h("tr", { id: `decision-${one.round}`, "data-round": one.round, tabindex: -1, onclick: () => go(known.steps.indexOf(one)) },
      h("td", { class: "number" }, one.round),
      h("td", {}, armName(one.arm, look)),
      h("td", { class: "number wide-only" }, short(one.probability)),
      h("td", { class: "number" }, one.reward === null ? "–" : short(one.reward)),
      h("td", {}, state ?? "rewarded"),
      h("td", { class: "number wide-only" }, one.plausible.count.toLocaleString("en")),
      h("td", { class: "soft small nowrap wide-only" }, time(one.created)));
  }

  function show() {
    const { at, steps, structure, subject } = known;
    const state = stateBefore(subject, steps, structure, at);
    charts.main.update(state);
    charts.arms.update(state);
    charts.pulls.update(at, Math.max(10, steps.length));
    if (structure.kind === "interval") charts.steps.update(state);
    bar.max = steps.length;
    bar.value = at;
    const now = at === steps.length;
    const whole = (number) => number.toLocaleString("en");
    place.textContent = now ? `Now, after ${whole(last())} decision${last() === 1 ? "" : "s"}` : `Before decision ${whole(steps[at].round)} of ${whole(last())}`;
    bar.setAttribute("aria-valuetext", place.textContent);
    sentence.textContent = sentenceOf(state, at, now);
    const chosen = now ? null : `decision-${steps[at].round}`;
    for (const row of rows.children) row.toggleAttribute("aria-current", row.id === chosen);
    // One row can be reached with Tab; the arrows go from there.
    for (const row of rows.querySelectorAll("[tabindex='0']")) row.tabIndex = -1;
    const reached = rows.querySelector("[aria-current]") ?? rows.firstElementChild;
    if (reached) reached.tabIndex = 0;
  }

  // The newest decision is on top, so up is later.
  const STEPS = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: Infinity, End: -Infinity };
  rows.addEventListener("keydown", (event) => {
    const row = event.target.closest("tr");
    const by = event.key === "Enter" || event.key === " " ? 0 : STEPS[event.key];
    if (!row || by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const first = Number(row.dataset.round) - before() - 1;
    go(Math.max(0, Math.min(known.steps.length - 1, first + by)));
    rows.querySelector("[aria-current]")?.focus();
  });

  function sentenceOf(state, at, now) {
    const bare = known.structure.arms.every((arm) => arm.name.length <= 3);
    const names = (positions) => listing(positions.map((k) => nameOf(known.structure.arms[k].name, bare ? 1 : 99)));
    const out = known.structure.arms.map((_, k) => k).filter((k) => !state.competitive.includes(k));
    const begin = now ? "Now" : `Before decision ${known.steps[at].round.toLocaleString("en")}`;
    if (state.share === 0) return `${begin}: no visitor type explains the rewards, so every option stays in play.`;
    const next = now ? "" : ` Then “${known.steps[at].arm}” was drawn with probability ${short(known.steps[at].probability)}.`;
    const many = state.competitive.length > 6 ? `${state.competitive.length} options are still in play` : `${names(state.competitive)} ${state.competitive.length === 1 ? "is still in play" : "are still in play"}`;
    const gone = out.length === 0 ? "none is ruled out" : out.length > 6 ? `${out.length} are ruled out` : `${names(out)} ${out.length === 1 ? "is" : "are"} ruled out`;
    return `${begin}: ${percent(state.share)} of the visitor types are still possible: ${many}; ${gone}.${next}`;
  }

  const view = { element, load, draw, live: true, title: name };
  return view;
}
