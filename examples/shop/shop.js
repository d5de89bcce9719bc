// Shows one of three banners, and reports whether the visitor buys something.
//
// The address of the service and a publishable key come from settings.js, which README.md creates.
import { Client } from "./structuredbandits.js";
import { key, service } from "./settings.js";

// Anonymous, and the same visitor on the next visit.
const visitor = localStorage.getItem("visitor") ?? crypto.randomUUID();
localStorage.setItem("visitor", visitor);

const client = new Client(service, { key });
const banner = document.getElementById("banner");
const buy = document.getElementById("buy");

const decision = await client.decide("banner", visitor).catch((error) => {
  console.info(`${error.message} The page keeps its usual banner.`);
  return null;
});
if (decision) {
  banner.textContent = decision.payload.text;
  banner.style.background = decision.payload.colour;
  banner.dataset.decision = decision.id;
}

buy.addEventListener(
  "click",
  () => {
    if (decision) client.rewardLater(decision, 1);
    document.getElementById("thanks").textContent = "Thank you!";
  },
  { once: true },
);
