// The subjects of an experiment, page by page, and a field to find one by its id.
import { experimentPath, subjectLink, time } from "/static/console/words.js";
import { get } from "/static/shared/api.js";
import { h, put } from "/static/shared/elements.js";

const ROWS = 15;

export function subjectsCard(id) {
  const before = [];
  let after = null;
  let page = { subjects: [], next: null };
  const body = h("tbody", {});
  const field = h("input", { type: "search", id: "find-subject", "aria-label": "A subject's id", placeholder: "A subject's id" });
  const find = h("form", { class: "find" }, field, h("button", { type: "submit" }, "Open"));
  const move = async (next) => { after = next; await load(); draw(); };
  const back = h("button", { type: "button", onclick: () => move(before.pop() ?? null) }, "Before");
  const on = h("button", { type: "button", onclick: () => { before.push(after); return move(page.next); } }, "More");
  const heads = [["Subject"], ["Decisions", "number"], ["Rewards", "number"], ["Structure", "number wide-only"], ["First seen", "wide-only"]];
  const element = h("section", { class: "card", "aria-label": "Subjects" },
    h("header", {}, h("h2", {}, "Subjects"), h("p", {}, "somebody anonymous; in the order of their ids")),
    find,
    h("div", { class: "scroll" }, h("table", { id: "subjects" }, h("thead", {}, h("tr", {}, heads.map(([text, kind]) => h("th", { scope: "col", class: kind }, text)))), body)),
    h("div", { class: "row" }, back, on));
  find.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim()) location.hash = subjectLink(id, field.value.trim());
  });

  async function load() {
    const query = new URLSearchParams({ limit: ROWS });
    if (after !== null) query.set("after", after);
    page = await get(`${experimentPath(id)}/subjects?${query}`);
  }

  function draw() {
    const rows = page.subjects.map((one) => h("tr", { class: "link" },
      h("td", {}, h("a", { href: subjectLink(id, one.subject) }, one.subject)),
      h("td", { class: "number" }, one.decided.toLocaleString("en")),
      h("td", { class: "number" }, one.received.toLocaleString("en")),
      h("td", { class: "number wide-only" }, `version ${one.structure_version}`),
      h("td", { class: "soft small nowrap wide-only" }, time(one.created))));
    put(body, rows.length ? rows : h("tr", {}, h("td", { colspan: 5, class: "soft" }, "Nobody yet.")));
    back.disabled = after === null;
    on.disabled = page.next === null;
  }

  return { element, load, draw };
}
