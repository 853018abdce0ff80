import { setTimeout as delay } from "node:timers/promises";
import type { ErrorBody, ErrorCode, ViolationBody } from "./api-types.ts";
import { BellhopError, type BellhopErrorCode, type RecordViolation } from "./error.ts";

interface FetchBounds {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Faults that retrying does not fix: unknown hosts, bad certificates, invalid addresses. */
const LASTING_FAULT =
  /^(ENOTFOUND|ERR_INVALID_URL|ERR_SSL_|ERR_TLS_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_)/;

/** Sends one request within its time limit. Rejects with `client.Timeout`, `client.Network`, or the error of `read`. */
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
    // An unread body would keep the connection busy.
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

function faultOf(error: unknown): string {
  let last = error;
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; depth += 1) {
    if ("code" in at && typeof at.code === "string") return at.code;
    last = at;
    at = at instanceof AggregateError ? (at.errors[0] ?? at.cause) : at.cause;
  }
  return last instanceof Error ? last.message : String(last);
}

/** Faults of the network in words. */
const FAULT_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection was closed",
  UND_ERR_SOCKET: "the connection was closed",
  ENOTFOUND: "unknown host",
  EAI_AGAIN: "the host name cannot be looked up now",
  ETIMEDOUT: "no answer in time",
  UND_ERR_CONNECT_TIMEOUT: "no answer in time",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no route to the network",
};

function networkError(url: string, cause: unknown): BellhopError {
  const fault = faultOf(cause);
  const words = FAULT_WORDS[fault];
  const why = words === undefined ? fault : `${words}, ${fault}`;
  return new BellhopError(`${new URL(url).origin} cannot be reached (${why}).`, {
    exception: "client.Network",
    retryable: !LASTING_FAULT.test(fault),
    cause,
  });
}

/** Rejects with the signal's reason once it is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(Math.max(0, ms), undefined, signal === undefined ? {} : { signal });
  } catch {
    throw signal?.reason;
  }
}

/** Waits for a shared promise or until the signal is aborted. */
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

/** Enough for 100 violations of less than 1 kB each. */
const ERROR_BYTES_MAX = 262_144;
const MESSAGE_CHARACTERS_MAX = 500;

/** Statuses that may succeed later; 502 and 504 come from proxies. */
const RETRYABLE = new Set([408, 425, 429, 500, 502, 503, 504]);

/** The error for a truncated or unexpected body; it can be retried. */
export function unexpectedAnswer(message: string, response: Response, cause?: unknown): BellhopError {
  return new BellhopError(message, {
    exception: "client.UnexpectedAnswer",
    status: response.status,
    requestId: response.headers.get("x-request-id") ?? undefined,
    retryable: true,
    cause,
  });
}

/** Reads at most `bytesMax` bytes. Throws `client.UnexpectedAnswer` if the body is longer or truncated. */
export async function readText(response: Response, bytesMax: number): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      bytes += value.byteLength;
      if (bytes > bytesMax) break;
      text += decoder.decode(value, { stream: true });
    }
  } catch (cause) {
    throw unexpectedAnswer("The answer was cut off.", response, cause);
  }
  await reader.cancel();
  throw unexpectedAnswer(`The answer has more than ${bytesMax} bytes.`, response);
}

export async function readJson<Body>(response: Response, bytesMax: number): Promise<Body> {
  const text = await readText(response, bytesMax);
  try {
    return JSON.parse(text) as Body;
  } catch (cause) {
    throw unexpectedAnswer("The answer is not JSON, or was cut off.", response, cause);
  }
}

interface ErrorLike extends Partial<ErrorBody> {
  readonly error_description?: string;
}

function parsed(text: string): ErrorLike {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null ? (body as ErrorLike) : {};
  } catch {
    return {};
  }
}

/** The RFC 6750 error code of a challenge: `invalid_token`, `insufficient_scope`. */
export function bearerError(response: Response): string | undefined {
  return /error="([a-z_]{1,64})"/.exec(response.headers.get("www-authenticate") ?? "")?.[1];
}

function bearerReason(response: Response): string | undefined {
  return /error_description="([^"]{1,500})"/.exec(response.headers.get("www-authenticate") ?? "")?.[1];
}

/** Whether the token lacks a scope: only then does the challenge name it, but not for a missing grant. */
export function lacksScope(response: Response): boolean {
  return /[ ,]scope="/.test(response.headers.get("www-authenticate") ?? "");
}

function codeOf(response: Response, body: ErrorLike): BellhopErrorCode {
  if (typeof body.exception === "string") return body.exception as ErrorCode;
  const oauth = typeof body.error_description === "string" ? body.error : bearerError(response);
  return oauth === undefined ? `http.${response.status}` : `oauth.${oauth}`;
}

const WORDS: Readonly<Record<number, string>> = {
  401: "The service saw no token.",
  403: "The token was refused, or does not allow this.",
};

function messageOf(response: Response, body: ErrorLike): string {
  const said = body.message ?? body.error_description;
  if (typeof said === "string" && said !== "") return said.slice(0, MESSAGE_CHARACTERS_MAX);
  const reason = bearerReason(response);
  if (reason !== undefined) return reason;
  if (response.status === 403 && bearerError(response) === "insufficient_scope")
    return "The client may not do this: its token lacks the scope, or a record names codes that are not its own.";
  if (response.status >= 300 && response.status < 400)
    return `The service answered ${response.status} to ${response.headers.get("location") ?? "another address"}; use that as the address. Redirects are not followed.`;
  return WORDS[response.status] ?? `The service answered ${response.status}.`;
}

/** Converts a violation of a batch to one of a record: the first segment of its pointer is the record's index. */
export function ofRecord({ pointer, code, message }: ViolationBody): RecordViolation[] {
  const [, index, rest] = /^\/(\d{1,9})(\/.*)?$/s.exec(pointer) ?? [];
  return index === undefined
    ? []
    : [{ pointer: rest ?? "", code, message, index: Number(index), record: undefined }];
}

/** Converts a failed response to an error; indexes refer to the batch. */
export async function readError(response: Response): Promise<BellhopError> {
  const text = await readText(response, ERROR_BYTES_MAX).catch(() => "");
  const body = parsed(text);
  const violations = Array.isArray(body.violations) ? body.violations.flatMap(ofRecord) : [];
  return new BellhopError(messageOf(response, body), {
    exception: codeOf(response, body),
    status: response.status,
    requestId: response.headers.get("x-request-id") ?? undefined,
    violations,
    violationTotal: Number(body.violationTotal ?? violations.length),
    retryable: RETRYABLE.has(response.status),
    retryAfterMs: retryAfterMs(response.headers),
  });
}

/** Probes again after at most this time, even if the service announced a longer wait. */
const HOLD_MS_MAX = 60_000;

/** Holds all requests of the client while the service asks for a wait. */
export class Gate {
  #opensAt = 0;
  #reason = "";

  hold(ms: number, reason: string): void {
    const opensAt = performance.now() + Math.min(ms, HOLD_MS_MAX);
    if (opensAt <= this.#opensAt) return;
    this.#opensAt = opensAt;
    this.#reason = reason;
  }

  /** Applies `RateLimit` (`"requests";r=0;t=1`). As `t` is in whole seconds, the policy gives the exact time of one request. */
  heed(headers: Headers): void {
    const announced = /^"requests";r=0;t=(\d{1,6})$/.exec(headers.get("ratelimit") ?? "")?.[1];
    if (announced === undefined) return;
    const [, quota = "1", seconds = "1"] =
      /^"requests";q=(\d{1,9});w=(\d{1,9})$/.exec(headers.get("ratelimit-policy") ?? "") ?? [];
    const oneMs = (1000 * Number(seconds)) / Math.max(1, Number(quota));
    this.hold(
      announced === "1" ? Math.min(1000, oneMs) : Number(announced) * 1000,
      "the rate limit is used up.",
    );
  }

  async pass(signal?: AbortSignal, onWait?: (notice: WaitNotice) => void): Promise<void> {
    signal?.throwIfAborted();
    for (;;) {
      const leftMs = this.#opensAt - performance.now();
      if (leftMs <= 0) return;
      onWait?.({ reason: this.#reason, ms: leftMs, givesUpInMs: undefined });
      await pause(leftMs, signal);
    }
  }
}

export interface RetryOptions {
  /** Milliseconds after which a request fails with its last error; default 15 minutes. 0 tries once. */
  readonly forMs?: number | undefined;
  /** First pause without `Retry-After`, doubled each time; default 250 ms. */
  readonly firstDelayMs?: number | undefined;
  /** Longest pause without `Retry-After`; default 30 s. */
  readonly delayMsMax?: number | undefined;
}

export type RetryPolicy = Readonly<Record<keyof RetryOptions, number>>;

/** The specification refuses tokens for up to 10 minutes; 15 minutes outlast that. */
export const RETRY_DEFAULTS: RetryPolicy = { forMs: 900_000, firstDelayMs: 250, delayMsMax: 30_000 };

export interface RetryNotice {
  readonly error: BellhopError;
  /** Attempts so far. */
  readonly attempt: number;
  readonly delayMs: number;
}

/** A request that waits before it is sent or retried. */
export interface WaitNotice {
  readonly reason: string;
  readonly ms: number;
  /** When the request fails without a response; undefined if only the service asked to wait. */
  readonly givesUpInMs: number | undefined;
}

/** Spreads requests that were refused at the same time. */
const SPREAD_MS = 250;

/** The service's `Retry-After` plus a little, otherwise a doubling pause, half of it random. */
export function delayAfter(
  error: BellhopError,
  attempt: number,
  policy: RetryPolicy,
  random: () => number = Math.random,
): number {
  if (error.retryAfterMs !== undefined) return error.retryAfterMs + random() * SPREAD_MS;
  const whole = Math.min(policy.delayMsMax, policy.firstDelayMs * 2 ** Math.min(attempt - 1, 30));
  return whole / 2 + random() * (whole / 2);
}

/** `Retry-After` in milliseconds (RFC 9110 section 10.2.3); a date is relative to the service's clock. */
export function retryAfterMs(headers: Headers, now: () => number = Date.now): number | undefined {
  const text = headers.get("retry-after")?.trim();
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const at = /[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) return undefined;
  const sentAt = Date.parse(headers.get("date") ?? "");
  return Math.max(0, at - (Number.isNaN(sentAt) ? now() : sentAt));
}

/** Errors whose time is over: a request that needs a token does not begin the retries for the token anew. */
const givenUp = new WeakSet<BellhopError>();

/** Retries `retryable` errors until the time is over. A wait that the service asked for holds all requests. */
export async function withRetries<Value>(
  attempt: () => Promise<Value>,
  policy: RetryPolicy,
  options: {
    readonly gate: Gate;
    readonly signal?: AbortSignal | undefined;
    readonly onRetry?: ((notice: RetryNotice) => void) | undefined;
    readonly onWait?: ((notice: WaitNotice) => void) | undefined;
    readonly forMsOf?: (error: BellhopError) => number;
  },
): Promise<Value> {
  const startedAt = performance.now();
  for (let count = 1; ; count += 1) {
    try {
      await options.gate.pass(options.signal, options.onWait);
      return await attempt();
    } catch (error) {
      if (!(error instanceof BellhopError) || !error.retryable || givenUp.has(error)) throw error;
      const delayMs = delayAfter(error, count, policy);
      const forMs = Math.min(policy.forMs, options.forMsOf?.(error) ?? policy.forMs);
      const leftMs = forMs - (performance.now() - startedAt);
      if (delayMs > leftMs) {
        givenUp.add(error);
        throw error;
      }
      if (error.retryAfterMs !== undefined) options.gate.hold(error.retryAfterMs, error.message);
      options.onRetry?.({ error, attempt: count, delayMs });
      const givesUpInMs = error.retryAfterMs === undefined ? leftMs : undefined;
      options.onWait?.({ reason: error.message, ms: delayMs, givesUpInMs });
      await pause(delayMs, options.signal);
    }
  }
}
