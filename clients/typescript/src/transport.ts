/** Sends requests, with retries where a failure may pass. */

import type { components } from "./schema.js";

type Failure = components["schemas"]["ErrorAnswer"];

export interface TransportOptions {
  /** The API key: in a web page, a publishable one (`sbp_...`). */
  key?: string;
  /** Names the subject of this visitor, signed by your server; some publishable keys need it. */
  subjectToken?: string;
  /** Time limit of one attempt. */
  timeoutSeconds?: number;
  /** Maximum number of attempts per request; 1 means no retry. */
  attempts?: number;
  /** The wait after the first failure, which is doubled after each further one. */
  firstWaitSeconds?: number;
  /** Instead of the global `fetch`. */
  fetch?: typeof fetch;
}

export interface SendOptions {
  body?: unknown;
  headers?: Record<string, string>;
  /** Whether sending it twice has the same effect as once; otherwise only a 429 is retried. */
  repeatable?: boolean;
  /** Sent once, also while the page is left. */
  keepalive?: boolean;
}

/** A request that was refused or failed; status 0 if the service did not respond. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";

  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
  ) {
    super(message);
  }

  /** Whether the same request may succeed later. */
  get isTemporary(): boolean {
    return [0, 429, 502, 503, 504].includes(this.status);
  }

  static of(status: number, body: unknown): ServiceError {
    const error = (body as Failure | null)?.error;
    const message = error && [error.message, error.remedy].filter(Boolean).join(" ");
    return new ServiceError(
      message || `The service answered ${status}.`,
      error?.status ?? status,
      error?.code ?? "",
    );
  }

  /** An item of a batch, or its error. */
  static unless<Item>(item: Item | Failure): Item | ServiceError {
    const failed = typeof item === "object" && item !== null && "error" in item;
    return failed ? ServiceError.of(422, item) : (item as Item);
  }
}

const LONGEST_WAIT_SECONDS = 5;

export class Transport {
  readonly url: string;

  constructor(
    url: string,
    private readonly options: TransportOptions,
  ) {
    this.url = url.replace(/\/+$/, "");
  }

  async send<Answer>(method: string, path: string, options: SendOptions = {}): Promise<Answer> {
    const attempts = options.keepalive ? 1 : (this.options.attempts ?? 6);
    for (let failures = 1; ; failures++) {
      let error: ServiceError;
      let retryAfter = 0;
      try {
        const response = await this.#fetch(method, path, options);
        const body: unknown = await response.json().catch(() => null);
        if (response.ok) return body as Answer;
        error = ServiceError.of(response.status, body);
        retryAfter = Number(response.headers.get("Retry-After")) || 0;
      } catch (failed) {
        error = new ServiceError(`The service did not respond (${String(failed)}).`, 0, "unreachable");
      }
      const safe = options.repeatable !== false || error.status === 429;
      if (failures >= attempts || !error.isTemporary || !safe) throw error;
      await wait(retryAfter, failures, this.options.firstWaitSeconds ?? 0.1);
    }
  }

  #fetch(method: string, path: string, options: SendOptions): Promise<Response> {
    const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
    if (this.options.key) headers["Authorization"] = `Bearer ${this.options.key}`;
    if (this.options.subjectToken) headers["Subject-Token"] = this.options.subjectToken;
    const init: RequestInit = { method, headers, redirect: "error" };
    if (options.body !== undefined) {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(options.body);
    }
    if (options.keepalive) init.keepalive = true;
    else init.signal = AbortSignal.timeout(1000 * (this.options.timeoutSeconds ?? 10));
    return (this.options.fetch ?? fetch)(this.url + path, init);
  }
}

/** Random, so that clients that failed together do not retry together. */
function wait(retryAfter: number, failures: number, first: number): Promise<void> {
  const longest = Math.min(first * 2 ** (failures - 1), LONGEST_WAIT_SECONDS);
  const seconds = retryAfter + longest * (0.5 + Math.random() / 2);
  return new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
}
