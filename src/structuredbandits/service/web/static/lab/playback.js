// Step, play, pause and speed: changes the round and notifies the listener.
import { h, put, s } from "/static/shared/elements.js";

const ICONS = {
  first: "M5 4h3v16H5zM20 4v16L9 12z",
  back: "M7 12 18 4v16z",
  play: "M6 3.5 20 12 6 20.5z",
  pause: "M6 4h4v16H6zM14 4h4v16h-4z",
  on: "M6 4l11 8-11 8z",
  last: "M16 4h3v16h-3zM4 4l11 8L4 20z",
};
const SPEEDS = [2, 5, 10, 20, 50, 100, 250];

const icon = (name) => s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: ICONS[name] }));

/** Fills an element with controls; `onRound(round)` is called for every new round. */
export function playback(element, onRound) {
  let rounds = 0;
  let round = 0;
  let playing = false;
  let last = 0;
  let owed = 0;

  const button = (name, label, act) => h("button", { type: "button", class: "square", "aria-label": label, title: label, onclick: act }, icon(name));
  const play = h("button", { type: "button", class: "main", onclick: () => setPlaying(!playing) });
  const bar = h("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Round", oninput: () => go(Number(bar.value)) });
  const text = h("span", { class: "round" });
  const speed = h("select", { "aria-label": "Rounds per second" }, SPEEDS.map((n) => h("option", { value: n }, `${n} rounds/s`)));
  speed.value = 20;
  put(
    element,
    h("div", { class: "row buttons" },
      button("first", "First round", () => go(0)),
      button("back", "Previous round", () => go(round - 1)),
      play,
      button("on", "Next round", () => go(round + 1)),
      button("last", "Last round", () => go(rounds)),
    ),
    h("div", { class: "bar" }, bar),
    text,
    h("div", { class: "speed" }, speed),
  );

  function show() {
    put(play, icon(playing ? "pause" : "play"), playing ? "Pause" : "Play");
    bar.max = rounds;
    bar.value = round;
    text.textContent = `Round ${round.toLocaleString("en")} of ${rounds.toLocaleString("en")}`;
    bar.setAttribute("aria-valuetext", text.textContent);
  }

  function move(next) {
    round = Math.max(0, Math.min(rounds, next));
    show();
    onRound(round);
  }

  function go(next) {
    setPlaying(false);
    move(next);
  }

  function setPlaying(next) {
    if (next && round >= rounds) move(0);
    playing = next && rounds > 0;
    owed = 0;
    last = performance.now();
    show();
    if (playing) requestAnimationFrame(tick);
  }

  function tick(now) {
    if (!playing) return;
    owed += ((now - last) / 1000) * Number(speed.value);
    last = now;
    const whole = Math.floor(owed);
    if (whole > 0) {
      owed -= whole;
      move(round + whole);
      if (round >= rounds) return setPlaying(false);
    }
    return requestAnimationFrame(tick);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input, select, textarea, button, a, [role=slider], summary")) return;
    const act = { " ": () => setPlaying(!playing), ArrowRight: () => go(round + 1), ArrowLeft: () => go(round - 1), Home: () => go(0), End: () => go(rounds) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  show();
  return {
    /** Takes a new run of this many rounds; the position in it is kept where possible. */
    setRounds(next) {
      rounds = next;
      move(round);
    },
    toStart() {
      go(0);
    },
    get round() {
      return round;
    },
  };
}
