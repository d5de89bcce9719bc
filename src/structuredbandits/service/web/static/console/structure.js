// Converts a structure from the API into the form that the charts read.

/** The answer of `/structures/{version}` with the looks of its arms. */
export function readStructure(answer, looks) {
  const means = answer.lower.map((row, i) => row.map((low, k) => (low + answer.upper[i][k]) / 2));
  const exact = answer.lower.every((row, i) => row.every((low, k) => low === answer.upper[i][k]));
  const column = (table, k) => table.map((row) => row[k]);
  const arms = answer.arms.map((name, k) => ({
    name,
    look: looks[k],
    sigma: answer.sigma[k],
    means: column(means, k),
    lower: exact ? null : column(answer.lower, k),
    upper: exact ? null : column(answer.upper, k),
  }));
  const sign = answer.minimize ? -1 : 1;
  const best = means.map((row) => row.reduce((found, mean, k) => (sign * mean > sign * row[found] ? k : found), 0));
  return { ...layout(answer), arms, best, minimize: answer.minimize, positions: answer.positions };
}

function layout(answer) {
  const { values, kind } = answer;
  if (kind === "interval") return { kind, sides: ["theta"], axes: [values.map((value) => value[0])], labels: null };
  if (kind === "box" && values[0].length === 2) {
    const axes = [0, 1].map((side) => [...new Set(values.map((value) => value[side]))].sort((a, b) => a - b));
    // A very fine grid is reported in part, and is then no longer a grid.
    if (axes[0].length * axes[1].length === values.length) return { kind, sides: ["θ1", "θ2"], axes, labels: null };
  }
  return { kind: "labels", sides: ["θ"], axes: null, labels: answer.parameters.map((label) => [label]) };
}

/** Runs [first, last] of positions in Θ, as stretches [first, end) of what is drawn. */
export function stretchesOf(runs, positions) {
  const stretches = [];
  let open = -1;
  let run = 0;
  for (let i = 0; i <= positions.length; i += 1) {
    while (run < runs.length && i < positions.length && runs[run][1] < positions[i]) run += 1;
    const inside = i < positions.length && run < runs.length && runs[run][0] <= positions[i];
    if (inside && open < 0) open = i;
    if (!inside && open >= 0) {
      stretches.push([open, i]);
      open = -1;
    }
  }
  return stretches;
}
