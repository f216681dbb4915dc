// What the service is asked.

/** The service refused, or could not be reached; the message says why, `needsToken` whether a token would help. */
export class RefusedError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.needsToken = status === 401;
  }
}

let token = "";
/** Send a token from now on, as long as the page is open; it is stored nowhere. */
export function useToken(given) {
  token = given;
}

/** Called with when the cluster was read, how many seconds ago, and why that is not now, at every answer that says so. */
let answered = () => {};
export function onAnswer(told) {
  answered = told;
}

/** Ask for a document; a body makes it a POST. */
export async function ask(path, { body, signal } = {}) {
  const options = { signal, headers: { Accept: "application/json" }, credentials: "same-origin", cache: "no-store" };
  if (body) Object.assign(options, { method: "POST", body: JSON.stringify(body) }, { headers: { ...options.headers, "Content-Type": "application/json" } });
  if (token) options.headers.Authorization = `Bearer ${token}`;
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RefusedError(`the service does not answer (${error.message})`);
  }
  const found = await answer.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new RefusedError(`the service answered ${answer.status} without JSON`);
  });
  const [readAt, age, notCurrent] = ["Read-At", "Age", "Not-Current"].map((name) => answer.headers.get(`Rmqalloc-${name}`));
  answered({ readAt, age, notCurrent });
  if (!answer.ok) throw new RefusedError(String(found.detail ?? found.error ?? `the service answered ${answer.status}`), answer.status);
  return found;
}

/**
 * Runs one job at a time, and only the newest of those that came meanwhile: while a slider is dragged each answer is drawn, and
 * the last one last. A job that takes longer than PATIENCE is given up for the newest.
 */
export class NewestOnly {
  #job;
  #running = null;
  #began = 0;
  #isAsked = false;

  /** `job` gets the signal that its answer is not wanted any more. */
  constructor(job) {
    this.#job = job;
  }

  async run() {
    this.#isAsked = true;
    if (this.#running && performance.now() - this.#began > PATIENCE) this.#running.abort();
    if (this.#running) return;
    while (this.#isAsked) {
      this.#isAsked = false;
      this.#running = new AbortController();
      this.#began = performance.now();
      await this.#job(this.#running.signal);
    }
    this.#running = null;
  }
}

const PATIENCE = 300; // milliseconds

export const groupPath = (name, what = "") => `v1/groups/${encodeURIComponent(name)}${what}`;

/** Ask what a scenario does to a group: its tables as rows, those of the moments in between too. */
export const planPath = (name, tables = "groups,units,clients,transitions") => groupPath(name, `/plan?show=${tables}`);
