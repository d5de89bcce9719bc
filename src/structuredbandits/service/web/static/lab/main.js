// The lab's page: asks the service for a structure and a run, and shows any round of it.
import { armsChart } from "/static/charts/arms.js";
import { lineChart } from "/static/charts/lines.js";
import { bestArms, thetaMap } from "/static/charts/map.js";
import { pullsChart } from "/static/charts/pulls.js";
import { stepsChart } from "/static/charts/steps.js";
import { nameOf, structureChart } from "/static/charts/structure.js";
import { loginView } from "/static/console/login.js";
import { openEditor } from "/static/lab/editor.js";
import { playback } from "/static/lab/playback.js";
import { scoreTable } from "/static/lab/score.js";
import { setupForm } from "/static/lab/setup.js";
import { shownRounds, stateAt } from "/static/lab/state.js";
import { get, key, post } from "/static/shared/api.js";
import { onTheme } from "/static/shared/colours.js";
import { byId, h, put } from "/static/shared/elements.js";
import { listing, percent } from "/static/shared/numbers.js";
import { themeSwitch } from "/static/shared/top.js";

const SLOW = "Computing… The first run of a policy compiles it for this machine, which takes a few seconds.";
const page = { choice: { problem: "three-arms" }, drawn: null, structure: null, answer: null, watched: "ucb-c" };

byId("top-end").append(themeSwitch());
const trouble = (sentence) => put(byId("trouble"), sentence ? h("p", { class: "note bad" }, sentence) : null);
const setup = setupForm(byId("setup"), { structure: chooseStructure, theta: moveTheta, run: runAgain, draw: drawStructure }, trouble);
const curves = structureChart(byId("structure"), { onTheta: moveTheta });
const map = thetaMap(byId("structure"), { onTheta: moveTheta });
const arms = armsChart(byId("arms"));
const pulls = pullsChart(byId("pulls"));
const regret = lineChart(byId("regret"), "Cumulative regret of every policy");
const steps = stepsChart(byId("steps"));
const score = scoreTable(byId("score"), (policy) => { page.watched = policy; if (page.answer) showRun(); });
const player = playback(byId("transport"), showRound);

let latest = null;

/** Shows the chosen problem, or the drawn one if `choice` is null. */
async function chooseStructure(choice) {
  const wish = choice ?? page.drawn;
  latest = wish;
  try {
    const structure = await post("/v1/lab/structures", { structure: wish });
    if (latest !== wish) return; // another one was chosen meanwhile
    page.choice = wish;
    page.structure = structure;
    page.answer = null;
    setup.setStructure(structure, structure.thetas[0], "breakpoints" in wish);
    const [shown, other] = structure.kind === "interval" ? [curves, map] : [map, curves];
    other.clear();
    shown.setStructure(structure, structure.thetas[0]);
    byId("steps-card").hidden = structure.kind !== "interval";
    if (structure.kind === "interval") steps.setStructure(structure);
    byId("structure-text").textContent = structure.title;
    showLegend(structure);
    player.toStart();
    await runAgain();
  } catch (problem) {
    if (latest === wish) trouble(problem.message);
  }
}

function showLegend(structure) {
  const interval = structure.kind === "interval";
  const words = interval
    ? [h("span", {}, h("i", { class: "is-plausible" }), "Θ̂: θ still plausible"), h("span", {}, "grey curve: arm ruled out"), h("span", {}, "drag θ*, or focus it and use the arrow keys")]
    : [...bestArms(structure), h("span", {}, "colour: the best arm"), h("span", {}, "bright: θ still plausible"), h("span", {}, "outlined: θ*; click to move it")];
  put(byId("structure-legend"), words);
}

function moveTheta(theta) {
  setup.setTheta(theta);
  (page.structure.kind === "interval" ? curves : map).setTheta(theta);
  return runAgain();
}

// One request is under way at a time, also while θ* is dragged, and the latest request follows it.
let running = false;
let wanted = false;

/** Called when the user wants something else: a message about the previous request is out of date. */
function runAgain() {
  trouble(null);
  return run();
}

async function run() {
  wanted = running;
  if (running) return;
  running = true;
  byId("stage").classList.add("working");
  const slow = setTimeout(() => { byId("sentence").textContent = SLOW; }, 2500);
  try {
    const { choice } = page;
    const answer = await post("/v1/lab/runs", { structure: choice, ...setup.request }, { patience: 300 });
    if (choice !== page.choice) {
      wanted = true; // the answer is about a structure that is no longer shown
      return;
    }
    page.answer = answer;
    if (!answer.policies.some((run) => run.policy === page.watched)) {
      page.watched = (answer.policies.find((run) => run.sets) ?? answer.policies[0]).policy;
    }
    // No trouble(null): the message on the page may already be about a later request.
    showRun();
  } catch (problem) {
    // Not if something else was requested or reported since: the next run reports it again.
    if (!wanted && !byId("trouble").hasChildNodes()) trouble(problem.message);
    // Replaces the message that it takes long.
    if (page.answer) showRound(player.round);
    else byId("sentence").textContent = "";
  } finally {
    running = false;
    clearTimeout(slow);
    byId("stage").classList.remove("working");
    if (wanted) await run();
  }
}

const watchedRun = () => page.answer.policies.find((run) => run.policy === page.watched);

/** Takes in a new answer or another watched policy, and stays at the same round. */
function showRun() {
  const { answer, structure } = page;
  const run = watchedRun();
  arms.setStructure(structure.arms, answer.true_means);
  pulls.setRun(structure.arms, run.arms, run.sets);
  score.setRun(answer, page.watched);
  const series = answer.policies.map((one) => ({ label: one.policy, look: one.look, width: one.policy === page.watched ? 3.4 : 2 }));
  regret.set(series, { height: 230, xRange: () => [0, shownRounds(player.round, answer.rounds)], yRange: (_, __, high) => [0, high > 0 ? 1.06 * high : 1] }, regretUntil(player.round));
  byId("arms-text").textContent = `of ${page.watched}; tall marks are the true means at θ*`;
  byId("pulls-text").textContent = run.sets ? `of ${page.watched}; grey where an arm was ruled out` : `of ${page.watched}`;
  player.setRounds(answer.rounds);
}

function regretUntil(round) {
  const until = Math.min(round, page.answer.rounds);
  const xs = Array.from({ length: until + 1 }, (_, i) => i);
  return [xs, ...page.answer.policies.map((run) => [0, ...run.regret.slice(0, until)])];
}

function showRound(round) {
  if (!page.answer) return;
  const run = watchedRun();
  const state = stateAt(run, page.structure.arms, round);
  const set = state.plausible ? state : null;
  (page.structure.kind === "interval" ? curves : map).update(set);
  arms.update(state);
  pulls.update(round, shownRounds(round, page.answer.rounds));
  regret.update(regretUntil(round));
  score.update(round, page.watched);
  if (page.structure.kind === "interval") steps.update(state);
  byId("sentence").textContent = sentenceOf(state, round);
}

function sentenceOf(state, round) {
  const short = page.structure.arms.every((arm) => arm.name.length <= 3);
  const name = (k) => nameOf(page.structure.arms[k].name, short ? 1 : 99);
  const begin = round === 0 ? "Before the first round" : `After ${round.toLocaleString("en")} rounds`;
  const last = state.pulled === null ? "" : ` Last pull: ${name(state.pulled)}.`;
  if (!state.competitive) return `${begin}: ${page.watched} does not keep a set of plausible θ, so every arm stays in.${last}`;
  const out = page.structure.arms.map((_, k) => k).filter((k) => !state.competitive.includes(k));
  if (state.share === 0) return `${begin} no θ is plausible to ${page.watched}, so every arm competes.${last}`;
  const competing = state.competitive.length === 1 ? `only ${name(state.competitive[0])} competes` : `${listing(state.competitive.map(name))} compete`;
  const gone = out.length ? `; ${listing(out.map(name))} ${out.length === 1 ? "is" : "are"} ruled out` : "";
  return `${begin} ${percent(state.share)} of Θ is plausible to ${page.watched}: ${competing}${gone}.${last}`;
}

async function drawStructure() {
  const drawn = await openEditor(byId("editor"), page.drawn, page.structure);
  if (!drawn) return;
  page.drawn = drawn;
  await chooseStructure(null);
}

onTheme(() => {
  setup.redraw();
  if (page.structure) showLegend(page.structure);
  score.clear();
  if (page.answer) showRun();
});

async function begin() {
  try {
    const { problems } = await get("/v1/lab/problems");
    put(byId("login"), null);
    showLab(true);
    setup.setProblems(problems);
    await chooseStructure(page.choice);
  } catch (problem) {
    if (problem.status === 401) signIn(problem);
    else trouble(problem.message);
  }
}

function showLab(shown) {
  for (const part of [document.querySelector(".lab-intro"), byId("lab")]) part.hidden = !shown;
}

function signIn(problem) {
  const known = Boolean(key.get());
  key.forget();
  showLab(false);
  put(byId("login"), loginView(begin, known ? problem.message : null, { path: "/v1/lab/problems", wish: "Any API key of the service can open the lab." }));
}

await begin();
