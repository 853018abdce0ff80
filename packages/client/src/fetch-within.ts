import { BellhopError } from "./error.ts";

interface FetchBounds {
  /** For the whole exchange: connecting, sending, and reading the answer to its end. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Faults that waiting does not mend: names that do not exist, certificates that are not good, addresses that are none. */
const LASTING_FAULT =
  /^(ENOTFOUND|ERR_INVALID_URL|ERR_SSL_|ERR_TLS_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_)/;

/**
 * Sends one request and has its answer read, within the bounds. Rejects with BellhopErrors: `client.Timeout`,
 * `client.Network`, or what `read` throws; with the signal's reason once that is aborted. Redirects are not followed: the
 * credentials are for this address.
 */
export async function fetchWithin<Value>(
  fetchFrom: typeof fetch,
  url: string,
  init: RequestInit,
  { timeoutMs, signal }: FetchBounds,
  read: (response: Response) => Promise<Value>,
): Promise<Value> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    controller.abort();
  }, timeoutMs);
  const onAbort = () => controller.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    const response = await fetchFrom(url, { ...init, redirect: "manual", signal: controller.signal });
    const value = await read(response);
    // Whoever read only its head leaves no body behind to hold the connection.
    if (response.body !== null && !response.bodyUsed) await response.body.cancel();
    return value;
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason;
    if (isLate) throw timeout(url, timeoutMs, cause);
    if (cause instanceof BellhopError) throw cause;
    throw networkError(url, cause);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

function timeout(url: string, timeoutMs: number, cause: unknown): BellhopError {
  return new BellhopError(`No whole answer from ${new URL(url).origin} within ${timeoutMs} ms.`, {
    exception: "client.Timeout",
    retryable: true,
    cause,
  });
}

/** Node's fetch says "fetch failed" and hides why in the cause, or in the causes of that. */
function faultOf(error: unknown): string {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; depth += 1) {
    if ("code" in at && typeof at.code === "string") return at.code;
    at = at instanceof AggregateError ? (at.errors[0] ?? at.cause) : at.cause;
  }
  return error instanceof Error ? error.message : String(error);
}

function networkError(url: string, cause: unknown): BellhopError {
  const fault = faultOf(cause);
  return new BellhopError(`${new URL(url).origin} cannot be reached, or the connection broke (${fault}).`, {
    exception: "client.Network",
    retryable: !LASTING_FAULT.test(fault),
    cause,
  });
}

/** The longest that a timer of JavaScript can wait. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Waits for `ms` milliseconds. Rejects with the signal's reason once that is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      },
      Math.min(Math.max(0, ms), TIMER_MS_MAX),
    );
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** What others are waiting for as well, but no longer than until the signal is aborted. */
export function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
