// The subjects of an experiment, page by page, and a field to find one by its id.
import { experimentPath, subjectLink, time } from "/static/console/words.js";
import { get } from "/static/shared/api.js";
import { h, put } from "/static/shared/elements.js";

const ROWS = 15;

export function subjectsCard(id) {
  let trail = []; // the id after which each page begins, from the second page to the current one
  let moving = false;
  let page = { subjects: [], next: null };
  const body = h("tbody", {});
  const field = h("input", { type: "search", id: "find-subject", "aria-label": "Subject ID", placeholder: "Subject ID" });
  const find = h("form", { class: "find" }, field, h("button", { type: "submit" }, "Open"));
  const word = h("div", { role: "alert" });
  const back = h("button", { type: "button", onclick: () => move(trail.slice(0, -1)) }, "Previous");
  const on = h("button", { type: "button", onclick: () => move([...trail, page.next]) }, "Next");
  const heads = [["Subject"], ["Decisions", "number"], ["Rewards", "number"], ["Structure", "number wide-only"], ["First seen", "wide-only"]];
  const element = h("section", { class: "card", "aria-label": "Subjects" },
    h("header", {}, h("h2", {}, "Subjects"), h("p", {}, "anonymous visitors, sorted by ID")),
    find,
    h("div", { class: "scroll" }, h("table", { id: "subjects" }, h("thead", {}, h("tr", {}, heads.map(([text, kind]) => h("th", { scope: "col", class: kind }, text)))), body)),
    word, h("div", { class: "row" }, back, on));
  find.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim()) location.hash = subjectLink(id, field.value.trim());
  });

  // One page at a time: each page contains the cursor of the next.
  async function move(next) {
    if (moving) return;
    moving = true;
    const was = trail;
    trail = next;
    put(word);
    try {
      await load();
    } catch (problem) {
      trail = was;
      put(word, h("p", { class: "note bad" }, problem.message));
    } finally {
      moving = false;
      draw();
    }
  }

  async function load() {
    const mine = trail;
    const query = new URLSearchParams({ limit: ROWS });
    if (mine.length) query.set("after", mine.at(-1));
    const found = await get(`${experimentPath(id)}/subjects?${query}`);
    if (mine === trail) page = found; // else another page was chosen meanwhile
  }

  function draw() {
    const rows = page.subjects.map((one) => h("tr", { class: "link" },
      h("td", {}, h("a", { href: subjectLink(id, one.subject) }, one.subject)),
      h("td", { class: "number" }, one.decided.toLocaleString("en")),
      h("td", { class: "number" }, one.received.toLocaleString("en")),
      h("td", { class: "number wide-only" }, `version ${one.structure_version}`),
      h("td", { class: "soft small nowrap wide-only" }, time(one.created))));
    put(body, rows.length ? rows : h("tr", {}, h("td", { colspan: 5, class: "soft" }, "No subjects yet.")));
    back.disabled = trail.length === 0;
    on.disabled = page.next === null;
  }

  return { element, load, draw };
}
