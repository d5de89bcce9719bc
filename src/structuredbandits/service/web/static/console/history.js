// What was known of a subject before each of its decisions, from the steps that the API tells.
import { stretchesOf } from "/static/console/structure.js";

/**
 * The state before decision `at` (counted from 0), or now if `at` is the number of steps. `radii` are
 * told for now only; before, they follow from √(log rewards), the one thing that changes in them.
 */
export function stateBefore(subject, steps, structure, at) {
  const names = structure.arms.map((arm) => arm.name);
  const now = at >= steps.length;
  const competing = now ? subject.competitive_arms : steps[at].competitive_arms;
  const runs = now ? subject.plausible.runs : steps[at].plausible.runs;
  const { counts, means } = now ? told(subject, names) : counted(steps, names, at);
  return {
    counts,
    means,
    radii: radiiOf(subject, structure, counts),
    plausible: stretchesOf(runs, structure.positions),
    share: (now ? subject.plausible.count : steps[at].plausible.count) / subject.plausible.of,
    competitive: competing.map((name) => names.indexOf(name)),
    pulled: at > 0 ? names.indexOf(steps[at - 1].arm) : null,
  };
}

function told(subject, names) {
  return {
    counts: names.map((name) => subject.arms[name].count),
    means: names.map((name) => subject.arms[name].mean ?? Number.NaN),
  };
}

// A reward counts for a decision if it had come by then: rewards may be late and in any order.
function counted(steps, names, at) {
  const counts = names.map(() => 0);
  const sums = names.map(() => 0);
  for (const step of steps) {
    if (step.reward === null || !step.rewarded || step.rewarded > steps[at].created) continue;
    counts[names.indexOf(step.arm)] += 1;
    sums[names.indexOf(step.arm)] += step.reward;
  }
  return { counts, means: sums.map((sum, k) => (counts[k] ? sum / counts[k] : Number.NaN)) };
}

function radiiOf(subject, structure, counts) {
  const seen = structure.arms.findIndex((arm) => subject.arms[arm.name].count > 0 && subject.arms[arm.name].low !== null);
  if (seen < 0) return null;
  const { low, high, count } = subject.arms[structure.arms[seen].name];
  const log = (rewards) => Math.log(Math.max(rewards, 2));
  const unit = (((high - low) / 2) * Math.sqrt(count)) / structure.arms[seen].sigma / Math.sqrt(log(subject.received));
  const rewards = counts.reduce((sum, n) => sum + n, 0);
  return counts.map((n, k) => (n ? (unit * Math.sqrt(log(rewards)) * structure.arms[k].sigma) / Math.sqrt(n) : undefined));
}
