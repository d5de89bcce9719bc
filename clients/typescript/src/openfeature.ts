/** Rewards through OpenFeature's tracking API. */

import type { Client } from "./index.js";

interface Context {
  targetingKey?: string;
}

interface Details {
  value?: number;
  decision?: unknown;
}

interface Hook {
  after?: (
    hook: { flagKey: string; context: Context },
    evaluation: { flagMetadata: Record<string, unknown> },
  ) => void;
}

const DECISIONS_KEPT = 10_000;

/**
 * Add tracking to an OFREP provider: an event with the name of an experiment is sent as the reward
 * of the subject's last decision in this process, or of the decision that the event's `decision`
 * names. The reward is the event's value, 1 if it has none.
 */
export function withRewards<Provider extends object>(provider: Provider, client: Client): Provider {
  const decisions = new Map<string, string>();
  const remember: Hook = {
    after({ flagKey, context }, { flagMetadata }) {
      if (typeof flagMetadata["decision"] !== "string") return;
      const who = `${flagKey}\n${context.targetingKey}`;
      decisions.delete(who); // the oldest entry is the first one
      decisions.set(who, flagMetadata["decision"]);
      if (decisions.size > DECISIONS_KEPT) {
        for (const oldest of decisions.keys()) {
          decisions.delete(oldest);
          break;
        }
      }
    },
  };
  const { hooks = [] } = provider as { hooks?: Hook[] };
  return Object.assign(provider, {
    hooks: [...hooks, remember],
    track(name: string, context: Context = {}, details: Details = {}): void {
      const decision = details.decision ?? decisions.get(`${name}\n${context.targetingKey}`);
      if (typeof decision === "string") client.rewardLater(decision, details.value ?? 1);
      else console.warn(`No reward was sent for ${name}: evaluate the flag first.`);
    },
  });
}
