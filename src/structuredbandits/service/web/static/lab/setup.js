// The form: structure, θ*, policies, rounds and seed.
import { valueAt } from "/static/charts/map.js";
import { legible } from "/static/shared/colours.js";
import { h, put, swatch } from "/static/shared/elements.js";

const DRAWN = "(drawn)";
const MOST_POLICIES = 6;
const FIRST_POLICIES = ["ucb", "ucb-s", "ucb-c", "ts-c"];

/**
 * Fills a form. `listeners`: structure(choice), theta(value), run() and draw(). `trouble(sentence)`
 * shows what is wrong.
 */
export function setupForm(form, listeners, trouble) {
  let structure = null;
  let theta = null;
  let chosen = [...FIRST_POLICIES];
  let extra = [];

  const which = h("select", { id: "problem", onchange: pickStructure });
  const drawButton = h("button", { type: "button", id: "draw", onclick: () => listeners.draw() }, "Draw your own…");
  const about = h("p", { class: "small soft", id: "about" });
  const thetaBox = h("div", { class: "stack" });
  const policyBox = h("div", { class: "policies", id: "policies" });
  const names = h("datalist", { id: "policy-names" });
  const other = h("input", { type: "text", id: "other-policy", list: "policy-names", placeholder: "ucb-c(alpha=2)", "aria-label": "Another policy", autocomplete: "off", spellcheck: "false" });
  const rounds = h("input", { type: "number", id: "rounds", min: 1, max: 2000, step: 1, value: 500, onchange: () => listeners.run() });
  const seed = h("input", { type: "number", id: "seed", min: 0, max: 4294967295, step: 1, value: 0, onchange: () => listeners.run() });
  put(
    form,
    h("fieldset", {}, h("legend", {}, "Structure"), h("div", { class: "stack" }, which, drawButton, about)),
    h("fieldset", {}, h("legend", {}, "Hidden parameter θ*"), thetaBox),
    h("fieldset", {}, h("legend", {}, "Policies"), policyBox,
      h("div", { class: "add" }, other, h("button", { type: "button", id: "add-policy", onclick: addPolicy }, "Add")), names),
    h("fieldset", { class: "pair" }, h("legend", { class: "visually-hidden" }, "Run"),
      h("label", { class: "field" }, "Rounds", rounds), h("label", { class: "field" }, "Seed", seed)),
    h("button", { type: "button", id: "new-seed", onclick: () => { seed.value = (Number(seed.value) + 1) % 4294967296; listeners.run(); } }, "New random seed"),
  );
  form.addEventListener("submit", (event) => event.preventDefault());
  other.addEventListener("keydown", (event) => { if (event.key === "Enter") addPolicy(); });

  function pickStructure() {
    if (which.value === DRAWN) listeners.structure(null);
    else listeners.structure({ problem: which.value });
  }

  function addPolicy() {
    const name = other.value.trim().toLowerCase();
    if (!name) return trouble("Type the name of a policy first, for example ucb-c(alpha=2).");
    if (chosen.includes(name)) return trouble(`Policy ${name} is already in the list.`);
    if (chosen.length >= MOST_POLICIES) return trouble(`At most ${MOST_POLICIES} policies can run at once; remove one first.`);
    extra.push(name);
    chosen.push(name);
    other.value = "";
    showPolicies();
    return listeners.run();
  }

  function showPolicies() {
    const rows = [...structure.policies, ...extra.map((name) => ({ name, look: null, applies: true, reason: null }))];
    chosen = chosen.filter((name) => rows.some((row) => row.name === name && row.applies));
    put(policyBox, rows.map((row) => {
      const box = h("input", { type: "checkbox", value: row.name, checked: chosen.includes(row.name), disabled: !row.applies });
      box.addEventListener("change", () => choose(row.name, box));
      const line = h("label", { class: row.applies ? null : "unfit" }, box, row.look ? swatch(row.look, legible(row.look.colour)) : null, h("span", {}, row.name));
      return row.applies ? line : [line, h("small", {}, row.reason)];
    }).flat());
    put(names, structure.names.map((name) => h("option", { value: name })));
  }

  function choose(name, box) {
    if (box.checked && chosen.length >= MOST_POLICIES) {
      box.checked = false;
      return trouble(`At most ${MOST_POLICIES} policies can run at once; remove one first.`);
    }
    chosen = box.checked ? [...chosen, name] : chosen.filter((one) => one !== name);
    if (!box.checked) extra = extra.filter((one) => one !== name || chosen.includes(one));
    if (chosen.length === 0) return trouble("Choose at least one policy.");
    return listeners.run();
  }

  function showTheta() {
    if (structure.kind === "labels") return put(thetaBox, labelChoice());
    const sides = structure.axes.map((axis, i) => numberChoice(axis, i));
    return put(thetaBox, sides);
  }

  function labelChoice() {
    const select = h("select", { id: "theta", "aria-label": "θ*" }, structure.labels.map((parts, i) => h("option", { value: i }, parts.join(", "))));
    const wanted = [theta].flat().map(String).join("\n");
    select.value = Math.max(0, structure.labels.findIndex((parts) => parts.join("\n") === wanted));
    select.addEventListener("change", () => listeners.theta(valueAt(structure, Number(select.value))));
    return select;
  }

  function numberChoice(axis, i) {
    const one = structure.axes.length === 1;
    const name = one ? "θ*" : `${structure.sides[i].replace("theta_", "θ")}*`;
    const limits = { min: axis[0], max: axis.at(-1), step: "any", value: one ? theta : theta[i] };
    const field = h("input", { type: "number", id: one ? "theta" : `theta-${i + 1}`, ...limits, "aria-label": name });
    field.addEventListener("change", () => {
      const value = Number(field.value);
      if (field.value === "" || !(value >= axis[0] && value <= axis.at(-1))) {
        return trouble(`${name} must be a number from ${axis[0]} to ${axis.at(-1)}.`);
      }
      return listeners.theta(one ? value : theta.map((old, k) => (k === i ? value : old)));
    });
    return one ? field : h("label", { class: "field" }, name, field);
  }

  return {
    setProblems(problems) {
      put(which, problems.map((row) => h("option", { value: row.name, title: row.title }, row.name)), h("option", { value: DRAWN, hidden: true }, "drawn by you"));
      which.value = "three-arms";
    },
    setStructure(next, nextTheta, drawn) {
      structure = next;
      theta = nextTheta;
      which.querySelector(`[value="${DRAWN}"]`).hidden = !drawn && which.querySelector(`[value="${DRAWN}"]`).hidden;
      if (drawn) which.value = DRAWN;
      about.textContent = next.description;
      showPolicies();
      showTheta();
    },
    setTheta(next) {
      theta = next;
      if (structure.kind === "labels") showTheta();
      else [...thetaBox.querySelectorAll("input")].forEach((field, i) => { field.value = [next].flat()[i]; });
    },
    get request() {
      return { theta, policies: chosen, rounds: Number(rounds.value), seed: Number(seed.value) };
    },
    redraw: () => structure && showPolicies(),
  };
}
