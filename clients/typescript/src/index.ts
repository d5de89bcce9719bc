/** Asks a structuredbandits service for decisions, and reports rewards to it. */

import type { components } from "./schema.js";
import { RewardQueue, type QueueStorage } from "./queue.js";
import { ServiceError, Transport, type TransportOptions } from "./transport.js";

export { ServiceError } from "./transport.js";
export type { QueueStorage } from "./queue.js";
export type { TransportOptions } from "./transport.js";
export type { components, operations, paths } from "./schema.js";

type Schemas = components["schemas"];
export type Decision = Schemas["DecisionAnswer"];
export type Reward = Schemas["RewardAnswer"];
type Failure = Schemas["ErrorAnswer"];

export interface ClientOptions extends TransportOptions {
  /**
   * Where rewards of `rewardLater` wait: by default `localStorage` in a page, so that they survive
   * it, and memory elsewhere.
   */
  storage?: QueueStorage;
  /** Called when a waiting reward is refused and dropped. */
  onRefused?: (decision: string, error: ServiceError) => void;
}

export interface DecideOptions {
  /** The arms that may be shown; by default all arms that are not retired. */
  arms?: string[];
  /** Idempotency key: the same key gives the same decision. By default each call has a new one. */
  key?: string;
}

const BATCH = 500;

export class Client {
  readonly #transport: Transport;
  readonly #queue: RewardQueue;

  /** @param url The address of the service, such as `https://bandits.example`. */
  constructor(url: string, options: ClientOptions = {}) {
    this.#transport = new Transport(url, options);
    this.#queue = new RewardQueue(this.#transport, options.storage, options.onRefused);
  }

  /** Get an arm for a subject. */
  decide(experiment: string, subject: string, options: DecideOptions = {}): Promise<Decision> {
    return this.send("POST", `/v1/experiments/${encodeURIComponent(experiment)}/decisions`, {
      body: { subject, arms: options.arms },
      headers: { "Idempotency-Key": options.key ?? newKey() },
    });
  }

  /** Get an arm for each of many subjects: a decision or an error for each, in their order. */
  decideMany(
    experiment: string,
    subjects: string[],
    options: Pick<DecideOptions, "arms"> = {},
  ): Promise<(Decision | ServiceError)[]> {
    const items = subjects.map((subject) => ({ subject, arms: options.arms, key: newKey() }));
    const path = `/v1/experiments/${encodeURIComponent(experiment)}/decisions/batch`;
    return this.#batch<Decision>(path, "decisions", items);
  }

  /** Report the reward of a decision; repeated reports are counted once. */
  reward(decision: Decision | string, value: number): Promise<Reward> {
    const path = `/v1/decisions/${encodeURIComponent(idOf(decision))}/reward`;
    return this.send("PUT", path, { body: { reward: value } });
  }

  /** Report many rewards, as pairs of decision and reward. */
  rewardMany(rewards: [Decision | string, number][]): Promise<(Reward | ServiceError)[]> {
    const items = rewards.map(([decision, reward]) => ({ decision: idOf(decision), reward }));
    return this.#batch<Reward>("/v1/rewards", "rewards", items);
  }

  /**
   * Report a reward in the background. It waits while the service cannot be reached, is sent when
   * the page is left, and survives the page.
   */
  rewardLater(decision: Decision | string, value: number): void {
    this.#queue.add(idOf(decision), value);
  }

  /** Send the waiting rewards now; the number of those that still wait. */
  flush(): Promise<number> {
    return this.#queue.flush();
  }

  /** Send any other request of the API, with the same key and retries. */
  send<Answer>(
    method: string,
    path: string,
    options: { body?: unknown; headers?: Record<string, string>; repeatable?: boolean } = {},
  ): Promise<Answer> {
    return this.#transport.send<Answer>(method, path, options);
  }

  /** Stop watching the page. */
  close(): void {
    this.#queue.close();
  }

  async #batch<Item>(path: string, name: string, items: unknown[]): Promise<(Item | ServiceError)[]> {
    const found: (Item | ServiceError)[] = [];
    for (let first = 0; first < items.length; first += BATCH) {
      const body = { [name]: items.slice(first, first + BATCH) };
      const answer = await this.send<Record<string, (Item | Failure)[]>>("POST", path, { body });
      for (const item of answer[name] ?? []) found.push(ServiceError.unless(item));
    }
    return found;
  }
}

function idOf(decision: Decision | string): string {
  const id = typeof decision === "string" ? decision : decision.id;
  if (!id) throw new TypeError("the decision was not stored, so it takes no reward.");
  return id;
}

// `crypto.randomUUID` exists only on pages that were loaded securely.
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
