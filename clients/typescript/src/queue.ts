/** Rewards that wait until the service can be reached. */

import type { components } from "./schema.js";
import { ServiceError, type Transport } from "./transport.js";

type Answers = components["schemas"]["RewardBatchAnswer"]["rewards"];

/** What the queue needs of `localStorage`. */
export type QueueStorage = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

// A page may send at most 64 kB while it is left.
const BATCH = 200;
const LONGEST_PAUSE_SECONDS = 60;

export class RewardQueue {
  readonly #storage: QueueStorage;
  readonly #prefix: string;
  readonly #page = typeof document === "undefined" ? null : document;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running = Promise.resolve(0);
  #failures = 0;

  constructor(
    private readonly transport: Transport,
    storage: QueueStorage | undefined,
    private readonly onRefused: (decision: string, error: ServiceError) => void = () => {},
  ) {
    this.#storage = storage ?? storageOfPage() ?? new Memory();
    // One entry per decision: pages in several tabs can add and remove entries without conflict.
    this.#prefix = `structuredbandits ${transport.url} `;
    if (this.#page) {
      addEventListener("online", this.#retry);
      this.#page.addEventListener("visibilitychange", this.#leave);
      addEventListener("pagehide", this.#leave);
      if (this.#waiting().length) this.#soon(0); // from an earlier page
    }
  }

  add(decision: string, value: number): void {
    this.#storage.setItem(this.#prefix + decision, String(value));
    this.#soon(0);
  }

  /** Send what waits, after what is being sent; the number of rewards that still wait. */
  flush(): Promise<number> {
    return (this.#running = this.#running.then(() => this.#send(false)));
  }

  close(): void {
    clearTimeout(this.#timer);
    if (!this.#page) return;
    removeEventListener("online", this.#retry);
    this.#page.removeEventListener("visibilitychange", this.#leave);
    removeEventListener("pagehide", this.#leave);
  }

  readonly #retry = (): void => void this.flush();

  /** A page that is left may be gone before an answer: a repeated reward is counted once. */
  readonly #leave = (event: Event): void => {
    if (event.type === "pagehide" || this.#page?.visibilityState === "hidden") void this.#send(true);
  };

  #soon(seconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#retry, 1000 * seconds);
  }

  #waiting(): [string, number][] {
    const found: [string, number][] = [];
    for (let index = 0; index < this.#storage.length; index++) {
      const name = this.#storage.key(index);
      if (name?.startsWith(this.#prefix)) {
        found.push([name.slice(this.#prefix.length), Number(this.#storage.getItem(name))]);
      }
    }
    return found;
  }

  async #send(keepalive: boolean): Promise<number> {
    const waiting = this.#waiting();
    try {
      for (let first = 0; first < waiting.length; first += BATCH) {
        await this.#sendPart(waiting.slice(first, first + BATCH), keepalive);
      }
      this.#failures = 0;
    } catch {
      this.#failures++;
    }
    const left = this.#waiting().length;
    if (left && !keepalive) {
      this.#soon(Math.min(2 ** this.#failures, LONGEST_PAUSE_SECONDS) * (0.5 + Math.random() / 2));
    }
    return left;
  }

  async #sendPart(part: [string, number][], keepalive: boolean): Promise<void> {
    const rewards = part.map(([decision, reward]) => ({ decision, reward }));
    const options = { body: { rewards }, keepalive };
    let answers: Answers;
    try {
      const answer = await this.transport.send<{ rewards: Answers }>("POST", "/v1/rewards", options);
      answers = answer.rewards;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.isTemporary) throw error;
      for (const [decision] of part) this.#refuse(decision, error);
      return;
    }
    answers.forEach((answer, index) => {
      const decision = part[index]?.[0] ?? "";
      const result = ServiceError.unless(answer);
      if (!(result instanceof ServiceError)) this.#storage.removeItem(this.#prefix + decision);
      else if (!result.isTemporary) this.#refuse(decision, result);
    });
  }

  #refuse(decision: string, error: ServiceError): void {
    this.#storage.removeItem(this.#prefix + decision);
    this.onRefused(decision, error);
  }
}

function storageOfPage(): QueueStorage | null {
  try {
    return typeof document === "undefined" ? null : localStorage;
  } catch {
    return null; // forbidden by the visitor's settings
  }
}

class Memory implements QueueStorage {
  readonly #items = new Map<string, string>();

  get length(): number {
    return this.#items.size;
  }

  getItem(name: string): string | null {
    return this.#items.get(name) ?? null;
  }

  setItem(name: string, value: string): void {
    this.#items.set(name, value);
  }

  removeItem(name: string): void {
    this.#items.delete(name);
  }

  key(index: number): string | null {
    return [...this.#items.keys()][index] ?? null;
  }
}
