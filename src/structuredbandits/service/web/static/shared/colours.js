// Keeps the figures' colours legible on a light and on a dark page, and reports changes of the theme.

function channels(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16) / 255);
}

function luminance(rgb) {
  const [r, g, b] = rgb.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

const GROUNDS = { dark: channels("#1a1e24"), light: channels("#ffffff") };
const known = new Map();

export function theme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** The colour itself, or the nearest mix with white (on dark) or black that stands out enough. */
export function legible(colour) {
  const ground = theme();
  const key = `${ground}${colour}`;
  if (!known.has(key)) {
    const goal = ground === "dark" ? 1 : 0;
    const original = channels(colour);
    // Yellowish colours are light: 2.2 leaves them unchanged on white. On dark, 3 is
    // enough for a line, and more would make wine and purple look alike.
    const least = ground === "dark" ? 3 : 2.2;
    // Black becomes nearly white: a grey would look like an arm that is ruled out.
    let mixed = ground === "dark" && Math.max(...original) < 0.1 ? channels("#e7eaee") : original;
    for (let share = 0; share <= 1 && contrast(mixed, GROUNDS[ground]) < least; share += 0.05) {
      mixed = original.map((c) => (1 - share) * c + share * goal);
    }
    known.set(key, `#${mixed.map((c) => Math.round(c * 255).toString(16).padStart(2, "0")).join("")}`);
  }
  return known.get(key);
}

/** Black or white, whichever is better to read on a colour. */
export function inkOn(colour) {
  const ground = channels(colour);
  return contrast(ground, [1, 1, 1]) > contrast(ground, [0, 0, 0]) ? "#ffffff" : "#000000";
}

/** The value of a colour of site.css, for canvases. */
export function cssColour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

const listeners = new Map();

/** Calls back after every change of the theme, as long as the element is on the page. */
export function onTheme(listener, element = document.documentElement) {
  listeners.set(listener, element);
}

export function themeChanged() {
  for (const [listener, element] of [...listeners]) {
    if (element.isConnected) listener();
    else listeners.delete(listener);
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
