// The console's page: which view belongs to the address, sign-in, and when to refresh.
import { experimentView } from "/static/console/experiment.js";
import { keepingFocus } from "/static/console/focus.js";
import { listView } from "/static/console/list.js";
import { loginView } from "/static/console/login.js";
import { subjectView } from "/static/console/subject.js";
import { key } from "/static/shared/api.js";
import { byId, h, put } from "/static/shared/elements.js";
import { themeSwitch } from "/static/shared/top.js";

const SECONDS = 4;
const trouble = (sentence) => put(byId("trouble"), sentence ? h("p", { class: "note bad" }, sentence) : null);

const leave = h("button", { type: "button", class: "quiet", id: "sign-out", onclick: () => { key.forget(); show(); } }, "Sign out");
byId("top-end").append(leave, themeSwitch());

// "#/experiments/shop/subjects/ana": ids in an address are encoded, keys never are in one.
function viewOf(address) {
  const parts = address.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
  if (parts[0] !== "experiments" || !parts[1]) return listView();
  if (parts[2] === "subjects" && parts[3]) return subjectView(parts[1], parts[3]);
  return experimentView(parts[1]);
}

let current = null;
let turn = 0;

/**
 * Shows the view of the address, and returns whether it did: an answer that arrives after the address
 * has changed is dropped.
 */
async function show() {
  turn += 1;
  const mine = turn;
  clearTimeout(current?.timer);
  current = null;
  leave.hidden = !key.get();
  trouble(null);
  let view;
  try {
    view = viewOf(location.hash);
    await view.load();
  } catch (problem) {
    if (mine === turn) refuse(problem);
    return mine === turn;
  }
  if (mine !== turn) return false;
  put(byId("view"), view.element);
  view.draw();
  document.title = `${view.title} · structuredbandits`;
  current = view;
  lookAgain(view, mine);
  return true;
}

function lookAgain(view, mine) {
  view.timer = setTimeout(async () => {
    if (mine !== turn) return;
    try {
      if (document.visibilityState === "visible" && view.live) {
        await view.load();
        if (mine === turn) {
          keepingFocus(view.draw);
          trouble(null);
        }
      }
    } catch (problem) {
      if (mine !== turn) return;
      if (problem.status === 401) return refuse(problem);
      trouble(problem.message);
      for (const mark of document.querySelectorAll(".live")) mark.classList.add("stale");
    }
    lookAgain(view, mine);
  }, 1000 * SECONDS);
}

function refuse(problem) {
  if (problem.status === 401) {
    const known = Boolean(key.get());
    key.forget();
    leave.hidden = true;
    document.title = "Sign in · structuredbandits";
    put(byId("view"), loginView(show, known ? problem.message : null));
    return;
  }
  trouble(problem.message);
  put(byId("view"), h("p", {}, h("a", { href: "#/" }, "All experiments")));
}

// The address belongs to the views, so the link to the content moves the focus without it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});

addEventListener("hashchange", async () => {
  if (!(await show())) return;
  byId("main").focus({ preventScroll: true });
  scrollTo(0, 0);
});
show();
