// What was known of a subject before each of its decisions, from the steps that the API returns.
import { stretchesOf } from "/static/console/structure.js";

/**
 * The state before decision `at` (counted from 0), or now if `at` is the number of steps. `radii` are
 * reported only for now; earlier ones follow from √(log rewards), the only part that changes.
 */
export function stateBefore(subject, steps, structure, at) {
  const names = structure.arms.map((arm) => arm.name);
  const now = at >= steps.length;
  const competing = now ? subject.competitive_arms : steps[at].competitive_arms;
  const runs = now ? subject.plausible.runs : steps[at].plausible.runs;
  const { counts, means } = now ? statistics(subject.arms, names) : statistics(steps[at].arms, names);
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

function statistics(arms, names) {
  return {
    counts: names.map((name) => arms[name]?.count ?? 0),
    means: names.map((name) => arms[name]?.mean ?? Number.NaN),
  };
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
