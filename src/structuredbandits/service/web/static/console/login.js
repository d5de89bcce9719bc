// Asks for an API key, tries it, and keeps it for this tab.
import { get, key } from "/static/shared/api.js";
import { h, put } from "/static/shared/elements.js";

const READER = { path: "/v1/experiments", wish: "Enter a key with the scope “read”." };

/** A form for a key; `path` is what the key must open, and `wish` describes it. */
export function loginView(onEntry, sentence, { path, wish } = READER) {
  const field = h("input", { type: "password", id: "key", autocomplete: "off", spellcheck: "false", required: true });
  const word = h("div", { role: "alert" }, sentence ? h("p", { class: "note bad" }, sentence) : null);
  const form = h("form", {},
    h("label", { class: "field", for: "key" }, "API key", field),
    word,
    h("button", { type: "submit", class: "main" }, "Sign in"));
  let tries = 0;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    tries += 1;
    const mine = tries;
    // An answer is ignored after another key was given or another page was opened.
    const isOver = () => mine !== tries || !form.isConnected;
    key.set(field.value.trim());
    try {
      await get(path);
      if (!isOver()) onEntry();
    } catch (problem) {
      if (isOver()) return;
      key.forget();
      put(word, h("p", { class: "note bad" }, problem.message));
      field.focus();
    }
  });
  setTimeout(() => field.focus());
  return h("section", { class: "card login", "aria-labelledby": "login-title" },
    h("h1", { id: "login-title" }, "Sign in"),
    h("p", { class: "soft" }, `${wish} It stays in this tab until you close it or sign out, and is sent in a header, never in an address.`),
    form,
    h("p", { class: "small soft" }, "To create one: ", h("code", {}, "structuredbandits keys create --scopes read")));
}
