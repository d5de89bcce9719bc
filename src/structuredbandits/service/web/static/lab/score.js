// The table under the regret curves: every policy's regret now, and which one is watched.
import { legible } from "/static/shared/colours.js";
import { h, put, swatch } from "/static/shared/elements.js";
import { percent, short } from "/static/shared/numbers.js";
import { setAt } from "/static/lab/state.js";

export function scoreTable(table, onWatch) {
  let answer = null;
  let rows = [];

  function rowOf({ policy, look }) {
    const cells = [0, 1, 2].map(() => h("td", { class: "number" }));
    const radio = h("input", { type: "radio", name: "watch", value: policy, onchange: () => onWatch(policy) });
    const name = h("td", {}, h("label", {}, radio, swatch(look, legible(look.colour)), policy));
    return { policy, radio, cells, line: h("tr", {}, name, ...cells) };
  }

  function draw() {
    rows = answer.policies.map(rowOf);
    const heads = ["Watch", "Regret", "Best arm", "Plausible"];
    put(table,
      h("thead", {}, h("tr", {}, heads.map((text, i) => h("th", { scope: "col", class: i ? "number" : null }, text)))),
      h("tbody", {}, rows.map((row) => row.line)));
  }

  return {
    // Rows stay while the policies do: an answer that comes during a press or a choice by keys must
    // not remove what is pressed or chosen.
    setRun(next, watched) {
      answer = next;
      const same = rows.length === next.policies.length && rows.every((row, i) => row.policy === next.policies[i].policy);
      if (!same) draw();
      rows.forEach((row, i) => {
        row.run = next.policies[i];
        row.radio.checked = row.policy === watched;
      });
    },
    /** The next run is redrawn in the current colours. */
    clear() {
      rows = [];
    },
    update(round, watched) {
      for (const { run, cells, line } of rows) {
        let best = 0;
        for (let i = 0; i < round; i += 1) best += run.arms[i] === answer.best_arm;
        cells[0].textContent = round ? short(run.regret[round - 1]) : "0";
        cells[1].textContent = round ? percent(best / round) : "–";
        cells[2].textContent = run.sets ? percent(setAt(run.sets, round).share) : "–";
        line.classList.toggle("watched", run.policy === watched);
      }
    },
  };
}
