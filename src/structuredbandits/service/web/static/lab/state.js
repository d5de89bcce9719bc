// What a recorded run looked like after any of its rounds.

/** The last entry of `sets` (in order of rounds) that holds after a round. */
export function setAt(sets, round) {
  let low = 0;
  let high = sets.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (sets[middle].round <= round) low = middle;
    else high = middle - 1;
  }
  return sets[low];
}

/** How many rounds a chart shows: a round number that grows with the run. */
export function shownRounds(round, rounds) {
  return Math.min(rounds, [25, 50, 100, 200, 500, 1000, 2000].find((limit) => round <= limit) ?? rounds);
}

/** Counts, means, intervals, plausible θ and competitive arms of one policy after a round. */
export function stateAt(run, arms, round) {
  const counts = new Array(arms.length).fill(0);
  const means = new Array(arms.length).fill(Number.NaN);
  for (let i = 0; i < round; i += 1) {
    counts[run.arms[i]] += 1;
    means[run.arms[i]] = run.means[i];
  }
  const width = run.widths && round > 0 ? run.widths[round - 1] : null;
  const intervals = width === null ? null : counts.map((count, k) => (count ? around(means[k], (width * arms[k].sigma) / Math.sqrt(count)) : undefined));
  const set = run.sets ? setAt(run.sets, round) : null;
  return {
    counts,
    means,
    intervals,
    plausible: set?.plausible ?? null,
    share: set?.share ?? null,
    competitive: set?.competitive ?? null,
    pulled: round > 0 ? run.arms[round - 1] : null,
  };
}

function around(mean, radius) {
  return [mean - radius, mean + radius];
}
