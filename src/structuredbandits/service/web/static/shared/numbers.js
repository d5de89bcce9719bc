// Numbers as people read them.

/** A number with about three digits that matter. */
export function short(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e7) return value.toExponential(2);
  if (size >= 100) return Math.round(value).toLocaleString("en");
  if (size >= 10) return value.toFixed(1);
  if (size >= 0.1 || size === 0) return value.toFixed(2);
  return String(Number(value.toPrecision(2)));
}

export function percent(share) {
  if (share === null || share === undefined || !Number.isFinite(share)) return "–";
  const value = 100 * share;
  if (value > 0 && value < 1) return "< 1 %";
  if (value < 100 && value > 99) return "> 99 %";
  return `${Math.round(value)} %`;
}

/** "a, b and c". */
export function listing(names) {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** Round numbers that divide a range into about this many parts. */
export function ticks(low, high, parts) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(parts, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) {
    found.push(Number((i * step).toPrecision(10)));
  }
  return found;
}

/** Moves places apart, in their order, until neighbours are `least` apart within [low, high]. */
export function spread(places, least, low, high) {
  const order = places.map((_, i) => i).sort((a, b) => places[a] - places[b]);
  const found = [...places];
  let floor = low;
  for (const i of order) {
    found[i] = Math.max(found[i], floor);
    floor = found[i] + least;
  }
  let ceiling = high;
  for (const i of order.reverse()) {
    found[i] = Math.min(found[i], ceiling);
    ceiling = found[i] - least;
  }
  return found;
}
