// Sends requests to the service. The key is kept in the sessionStorage of this tab and sent in a header only.

const KEY = "structuredbandits-key";

export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

/** An error of the service, with its message. */
export class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const pause = (seconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

async function refusalOf(response) {
  let error = {};
  try {
    error = (await response.json()).error ?? {};
  } catch {
    // The response is not JSON: it comes from something between the page and the service.
  }
  const message = [error.message ?? `The service answered ${response.status}.`, error.remedy].filter(Boolean).join(" ");
  return new Refusal(response.status, error.code ?? "unknown", message);
}

/** Sends a request and returns the answer's JSON; waits and tries again while the service is busy. */
export async function ask(method, path, body, { signal, patience = 5 } = {}) {
  const headers = { Accept: "application/json" };
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  for (let attempt = 1; ; attempt += 1) {
    let response;
    try {
      response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch (problem) {
      if (problem.name === "AbortError") throw problem;
      throw new Refusal(0, "unreachable", "The service does not answer; check that it is running and try again.");
    }
    if (response.ok) return response.status === 204 ? null : response.json();
    if (response.status !== 429 || attempt > patience) throw await refusalOf(response);
    await pause(Number(response.headers.get("Retry-After")) || 1, signal);
  }
}

export const get = (path, options) => ask("GET", path, undefined, options);
export const post = (path, body, options) => ask("POST", path, body, options);
