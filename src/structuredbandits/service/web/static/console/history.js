// What was known of a subject before each of its decisions, from the steps that the API returns.
import { stretchesOf } from "/static/console/structure.js";

const TOLERANCE = 1e-6; // of numbers that were rounded on their way

/**
 * The state before decision `at` (counted from 0), or now if `at` is the number of steps. `intervals`
 * are those that the service reports for now. Earlier ones follow from them if rewards are Gaussian;
 * otherwise they are null.
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
    intervals: now ? reported(subject, names) : earlier(subject, structure, counts, means),
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

function reported(subject, names) {
  return names.map((name) => {
    const { count, low, high } = subject.arms[name];
    return count > 0 && low !== null ? [low, high] : undefined;
  });
}

/** Intervals of Gaussian rewards: mean ± q σ / √n, where q grows as √(log rewards). */
function earlier(subject, structure, counts, means) {
  const now = gaussianWidth(subject, structure);
  if (now === null) return null;
  const log = (rewards) => Math.log(Math.max(rewards, 2));
  const rewards = counts.reduce((sum, n) => sum + n, 0);
  const q = now * Math.sqrt(log(rewards) / log(subject.received));
  return counts.map((n, k) => {
    if (!n) return undefined;
    const radius = (q * structure.arms[k].sigma) / Math.sqrt(n);
    return [means[k] - radius, means[k] + radius];
  });
}

/** The q of all reported intervals; null if there is none, or if they are not mean ± q σ / √n. */
function gaussianWidth(subject, structure) {
  let width = null;
  for (const { name, sigma } of structure.arms) {
    const { count, mean, low, high } = subject.arms[name];
    if (!(count > 0) || low === null) continue;
    const found = (((high - low) / 2) * Math.sqrt(count)) / sigma;
    const centred = Math.abs(low + high - 2 * mean) <= TOLERANCE * (high - low + Math.abs(mean));
    if (!centred || (width !== null && Math.abs(found - width) > TOLERANCE * found)) return null;
    width = found;
  }
  return width;
}
