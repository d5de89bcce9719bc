// Run by pytest with the address and the keys of a real service in the environment.
import assert from "node:assert/strict";
import { test } from "node:test";

import { OpenFeature } from "@openfeature/server-sdk";
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { Client, ServiceError } from "structuredbandits";
import { withRewards } from "structuredbandits/openfeature";
import { signSubject } from "structuredbandits/server";

const { SERVICE, KEY, PUBLISHABLE, SIGNED, TOKEN_SECRET } = process.env;
const headers = { Authorization: `Bearer ${KEY}` };

function client(options = {}) {
  return new Client(`${SERVICE}/`, { key: KEY, timeoutSeconds: 600, ...options });
}

async function received(experiment, subject) {
  const path = `/v1/experiments/${experiment}/subjects/${subject}`;
  return (await client().send("GET", path)).received;
}

test("decides and rewards", async () => {
  const decision = await client().decide("shop", "node-1");
  assert.ok(["1", "2", "3"].includes(decision.arm));
  const reward = await client().reward(decision, 3.5);
  assert.equal(reward.counted, true);
  assert.equal((await client().reward(decision.id, 3.5)).repeated, true);
});

test("an idempotency key gives the same decision", async () => {
  const first = await client().decide("shop", "node-2", { key: "order-1", arms: ["1", "2"] });
  assert.deepEqual(await client().decide("shop", "node-2", { key: "order-1", arms: ["1", "2"] }), first);
  assert.notEqual((await client().decide("shop", "node-2")).id, first.id);
});

test("batches return an answer or an error for each item", async () => {
  const subjects = Array.from({ length: 501 }, (_, number) => `many-${number % 7}`);
  const decisions = await client().decideMany("shop", subjects);
  assert.equal(decisions.length, 501);
  const [one, two] = await client().rewardMany([[decisions[0], 1], ["wrong", 1]]);
  assert.equal(one.counted, true);
  assert.ok(two instanceof ServiceError);
  assert.equal(two.code, "unknown_decision");
  assert.equal(two.status, 404);
});

test("a refusal is an error with its code", async () => {
  const wrong = (await client().decide("nowhere", "x").catch((error) => error));
  assert.ok(wrong instanceof ServiceError);
  assert.deepEqual([wrong.status, wrong.code], [404, "unknown_experiment"]);
});

test("what may pass is retried, with the same idempotency key", async () => {
  const keys = [];
  let failures = 2;
  const flaky = (url, init) => {
    keys.push(init.headers["Idempotency-Key"]);
    if (failures-- > 1) return Promise.reject(new TypeError("no connection"));
    if (failures === 0) return Promise.resolve(new Response("{}", { status: 503 }));
    return fetch(url, init);
  };
  await client({ fetch: flaky, firstWaitSeconds: 0.001 }).decide("shop", "node-3");
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
  failures = 99;
  const gone = await client({ fetch: flaky, attempts: 2, firstWaitSeconds: 0.001 })
    .decide("shop", "node-3")
    .catch((error) => error);
  assert.deepEqual([gone.status, gone.code], [0, "unreachable"]);
  assert.equal(keys.length, 5);
});

test("waiting rewards are sent later, and refused ones are reported", async () => {
  const decision = await client().decide("shop", "node-4");
  let online = false;
  const refused = [];
  const queue = client({
    attempts: 1,
    fetch: (url, init) => (online ? fetch(url, init) : Promise.reject(new TypeError("offline"))),
    onRefused: (id, error) => refused.push([id, error.code]),
  });
  queue.rewardLater(decision, 2);
  queue.rewardLater("1-1-00000000", 2);
  assert.equal(await queue.flush(), 2);
  online = true;
  assert.equal(await queue.flush(), 0);
  queue.close();
  assert.equal(await received("shop", "node-4"), 1);
  assert.deepEqual(refused, [["1-1-00000000", "unknown_decision"]]);
});

test("a publishable key with signed subjects", async () => {
  const page = client({ key: PUBLISHABLE });
  const decision = await page.decide("shop", "node-5");
  await page.reward(decision, 1);
  const many = await page.decideMany("shop", ["node-5"]).catch((error) => error);
  assert.equal(many.code, "publishable_key");
  const subjectToken = await signSubject(TOKEN_SECRET, "nöde-6");
  const signed = client({ key: SIGNED, subjectToken });
  await signed.reward(await signed.decide("shop", "nöde-6"), 1);
  const foreign = await signed.reward(await page.decide("shop", "node-5"), 1).catch((e) => e);
  assert.equal(foreign.code, "unknown_decision");
});

test("the official OpenFeature provider evaluates flags, and tracking sends rewards", async () => {
  const provider = new OFREPProvider({ baseUrl: SERVICE, headers });
  await OpenFeature.setProviderAndWait(provider);
  const flags = OpenFeature.getClient();
  const context = { targetingKey: "node-7", country: "DE" };
  const details = await flags.getStringDetails("shop", "none", context);
  assert.deepEqual([details.reason, details.errorCode], ["SPLIT", undefined]);
  assert.equal(details.value, details.variant);
  assert.ok(details.flagMetadata.probability > 0);
  const again = await flags.getStringDetails("shop", "none", context);
  assert.equal(again.flagMetadata.decision, details.flagMetadata.decision);
  const object = await flags.getObjectDetails("flag", {}, context);
  assert.deepEqual(object.value, { image: `${object.variant}.png` });
  const codes = [];
  for (const [flag, who] of [["nowhere", context], ["shop", {}], ["shop", { targetingKey: ".." }]]) {
    codes.push((await flags.getStringDetails(flag, "none", who)).errorCode);
  }
  assert.deepEqual(codes, ["FLAG_NOT_FOUND", "TARGETING_KEY_MISSING", "INVALID_CONTEXT"]);

  const sender = client();
  await OpenFeature.setProviderAndWait(
    withRewards(new OFREPProvider({ baseUrl: SERVICE, headers }), sender),
  );
  await flags.getStringDetails("shop", "none", context);
  flags.track("shop", context, { value: 2.5 });
  const other = await client().decide("shop", "node-8");
  flags.track("shop", {}, { decision: other.id });
  assert.equal(await sender.flush(), 0);
  assert.deepEqual([await received("shop", "node-7"), await received("shop", "node-8")], [1, 1]);
  sender.close();
  await OpenFeature.close();
});
