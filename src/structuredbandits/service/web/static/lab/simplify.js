// Finds the few breakpoints of a curve that is given on a fine grid.

/** Points [x, y] such that straight lines between them stay near the curve. */
export function simplified(xs, ys, share = 0.004, most = 24) {
  const span = Math.max(...ys) - Math.min(...ys) || 1;
  const kept = new Set([0, xs.length - 1]);
  const open = [[0, xs.length - 1]];
  while (open.length && kept.size < most) {
    const [from, to] = open.shift();
    const slope = (ys[to] - ys[from]) / (xs[to] - xs[from]);
    let farthest = from;
    let distance = 0;
    for (let i = from + 1; i < to; i += 1) {
      const off = Math.abs(ys[i] - ys[from] - slope * (xs[i] - xs[from]));
      if (off > distance) [farthest, distance] = [i, off];
    }
    if (distance <= share * span) continue;
    kept.add(farthest);
    open.push([from, farthest], [farthest, to]);
  }
  return [...kept].sort((a, b) => a - b).map((i) => [Number(xs[i].toPrecision(5)), Number(ys[i].toPrecision(5))]);
}
