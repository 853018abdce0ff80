import { createHash } from "node:crypto";
import type { AccessToken } from "./api-types.ts";
import { BellhopError, invalidOption } from "./error.ts";
import {
  bearerError,
  fetchWithin,
  Gate,
  lacksScope,
  orAborted,
  type RetryNotice,
  readError,
  readJson,
  unexpectedAnswer,
  withRetries,
} from "./http.ts";
import type { ClientSettings, StoredToken } from "./options.ts";

/** A request that is safe to repeat. */
interface SafeRequest {
  readonly path: string;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer> | string;
  readonly signal?: AbortSignal | undefined;
  /** Added to `timeoutMs` for long polling. */
  readonly waitMs?: number;
  readonly onRetry?: ((notice: RetryNotice) => void) | undefined;
  /** How long this error is retried, in milliseconds. */
  readonly patienceMsOf?: ((error: BellhopError) => number) | undefined;
}

const API = "/api/public/v1";

export function apiPath(
  path: string,
  query: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] satisfies [string, string]],
  );
  return given.length === 0 ? `${API}/${path}` : `${API}/${path}?${new URLSearchParams(given)}`;
}

/** Sends one client's requests with its token, rate limits and retries. */
export class Connection {
  readonly settings: ClientSettings;
  readonly tokens: TokenSource;
  readonly #gate = new Gate();
  #wasReached = false;

  constructor(settings: ClientSettings) {
    this.settings = settings;
    this.tokens = tokenSourceFor({ ...settings, url: `${settings.authUrl}/api/oauth2/token` });
  }

  /** Sends a request until it succeeds: 2xx and 304 are passed to `read`, transient failures are retried. */
  ask<Value>(request: SafeRequest, read: (response: Response) => Promise<Value>): Promise<Value> {
    const { signal, onRetry, patienceMsOf } = request;
    const forMsOf = (error: BellhopError) => {
      if (!this.#wasReached && error.status === undefined) return FIRST_CONTACT_MS;
      return patienceMsOf?.(error) ?? Number.POSITIVE_INFINITY;
    };
    return withRetries(() => this.#attempt(request, read), this.settings.retry, {
      gate: this.#gate,
      signal,
      onRetry,
      onWait: this.settings.onWait,
      forMsOf,
    });
  }

  /** Sends one request with the client's token. Repeats it once if the service refused the token and the body can be sent again. */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const url = this.#urlOf(path);
    const signal = init.signal ?? undefined;
    const isReplayable = !(init.body instanceof ReadableStream) && !isAsyncIterable(init.body);
    for (;;) {
      const token = await this.tokens.current(signal);
      const headers = new Headers(init.headers);
      headers.set("authorization", `Bearer ${token.value}`);
      const response = await this.settings.fetch(url, { redirect: "manual", ...init, headers });
      if (!isRefusedToken(response, token)) {
        token.worked = true;
        return response;
      }
      if (!isReplayable || !(await this.tokens.replace(token, signal))) return response;
      await response.body?.cancel();
    }
  }

  async #attempt<Value>(request: SafeRequest, read: (response: Response) => Promise<Value>): Promise<Value> {
    const { method = "GET", body, signal, waitMs = 0 } = request;
    for (;;) {
      const token = await this.tokens.current(signal);
      const headers = {
        accept: "application/json",
        ...request.headers,
        authorization: `Bearer ${token.value}`,
      };
      const init: RequestInit = { method, headers, ...(body === undefined ? {} : { body }) };
      const bounds = { timeoutMs: this.settings.timeoutMs + waitMs, signal };
      const answer = await fetchWithin(
        this.settings.fetch,
        this.#urlOf(request.path),
        init,
        bounds,
        async (response) => {
          this.#wasReached = true;
          this.#gate.heed(response.headers);
          if (isRefusedToken(response, token)) return { refused: await readError(response) };
          token.worked = true;
          if (!response.ok) throw await readError(response);
          return { value: await read(response) };
        },
      );
      if (answer.refused === undefined) return answer.value;
      if (!(await this.tokens.replace(token, signal))) throw answer.refused;
    }
  }

  /** Never sends the token to an address other than the service's. */
  #urlOf(path: string): string {
    const { baseUrl } = this.settings;
    if (!path.startsWith("/"))
      throw invalidOption(`A path begins with a slash, such as /api/public/v1/requests, not ${path}.`);
    const url = new URL(`${baseUrl}${path}`);
    if (url.origin !== new URL(baseUrl).origin) throw invalidOption(`${path} leads to another address.`);
    return url.href;
  }
}

function isAsyncIterable(value: unknown): boolean {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Whether a new token may help: 401, 403 `invalid_token`, or an unexplained 403 for a token that worked before. */
function isRefusedToken(response: Response, token: Token): boolean {
  if (response.status === 401) return true;
  if (response.status !== 403) return false;
  const reason = bearerError(response);
  // A stored token may predate a new scope of the client. No token permits records of another client.
  if (reason === "insufficient_scope") return token.isStored && lacksScope(response);
  return reason === undefined ? token.worked : reason === "invalid_token";
}

interface Token {
  readonly value: string;
  /** The scopes of the token; empty if the service does not state them. */
  readonly scopes: readonly string[];
  readonly expiresAt: number;
  readonly renewAt: number;
  /** Whether the service has accepted a request with it. A token that never worked is not replaced. */
  worked: boolean;
  /** Whether another process requested it. */
  readonly isStored: boolean;
}

interface TokenRequest extends ClientSettings {
  readonly url: string;
}

const TOKEN_BYTES_MAX = 65_536;
/** The specification's lifetime of a token without `expires_in`. */
const LIFETIME_S = 3600;
const LIFETIME_S_MAX = 86_400;
const AHEAD_S_MAX = 300;
const AHEAD_SHARE = 0.2;
/** The pause after a failed early renewal. */
const RENEWAL_PAUSE_MS = 30_000;
/** Shorter, because a service that was never reached probably has a wrong address. */
const FIRST_CONTACT_MS = 15_000;

/** The token of one client: requested once, shared by all calls, renewed before it expires. */
class TokenSource {
  readonly #request: TokenRequest;
  readonly #key: string;
  readonly #allowance = new TokenAllowance(performance.now());
  readonly #gate = new Gate();
  #current: Token | undefined;
  #pending: Promise<Token> | undefined;
  #renewNotBefore = 0;
  #wasReached = false;

  constructor(request: TokenRequest, key: string) {
    this.#request = request;
    this.#key = key;
  }

  async current(signal?: AbortSignal): Promise<Token> {
    const now = performance.now();
    const token = this.#current;
    if (token !== undefined && now < token.expiresAt) {
      if (now >= token.renewAt && now >= this.#renewNotBefore) this.#renewAhead();
      return token;
    }
    return await orAborted(this.#renew(), signal);
  }

  /** Requests a new token after the service refused one; `false` if there is none. Rejects with `client.TokenLimit`. */
  async replace(refused: Token, signal?: AbortSignal): Promise<boolean> {
    if (this.#current !== refused) return true;
    if (!refused.worked) return false;
    const waitMs = this.#pending === undefined ? this.#allowance.waitMs(performance.now()) : 0;
    if (waitMs > 0) throw tokenLimit(waitMs);
    await orAborted(this.#renew(), signal);
    return true;
  }

  #renewAhead(): void {
    this.#renewNotBefore = performance.now() + RENEWAL_PAUSE_MS;
    // The current token is still valid.
    this.#renew().catch(() => undefined);
  }

  #renew(): Promise<Token> {
    this.#pending ??= this.#obtain().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #obtain(): Promise<Token> {
    const { tokenStore } = this.#request;
    const ask = async () => (await this.#findStored()) ?? (await this.#ask());
    const found = (await this.#findStored()) ?? (await (tokenStore?.exclusive(this.#key, ask) ?? ask()));
    this.#current = found;
    return found;
  }

  /** A token of another process, unless it is due for renewal or is the refused one. */
  async #findStored(): Promise<Token | undefined> {
    const stored = await this.#request.tokenStore?.find(this.#key);
    const now = Date.now();
    if (stored === undefined || stored.value === this.#current?.value || now >= stored.renewAt)
      return undefined;
    const { value, scopes, renewAt, expiresAt } = stored;
    const offset = performance.now() - now;
    const times = { renewAt: renewAt + offset, expiresAt: expiresAt + offset };
    // Treated as one that worked, so it is replaced when refused.
    return { value, scopes, ...times, worked: true, isStored: true };
  }

  async #ask(): Promise<Token> {
    const token = await withRetries(() => this.#askOnce(), this.#request.retry, {
      gate: this.#gate,
      onWait: this.#request.onWait,
      forMsOf: (error) =>
        !this.#wasReached && error.status === undefined ? FIRST_CONTACT_MS : Number.POSITIVE_INFINITY,
    });
    const offset = Date.now() - performance.now();
    const { value, scopes, renewAt, expiresAt } = token;
    const stored: StoredToken = { value, scopes, renewAt: renewAt + offset, expiresAt: expiresAt + offset };
    await this.#request.tokenStore?.keep(this.#key, stored);
    return token;
  }

  async #askOnce(): Promise<Token> {
    const { url, clientId, clientSecret, scope, timeoutMs } = this.#request;
    const waitMs = this.#allowance.waitMs(performance.now());
    if (waitMs > 0) throw tokenLimit(waitMs);
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
      ...(scope === undefined ? {} : { scope }),
    });
    const askedAt = performance.now();
    const init = {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
      body: form.toString(),
    };
    return await fetchWithin(this.#request.fetch, url, init, { timeoutMs }, async (response) => {
      this.#wasReached = true;
      if (response.status !== 200) throw await readError(response);
      this.#allowance.spend(performance.now());
      return tokenOf(await readJson<Partial<AccessToken>>(response, TOKEN_BYTES_MAX), response, askedAt);
    });
  }
}

function tokenOf(answer: Partial<AccessToken>, response: Response, askedAt: number): Token {
  const { access_token: value, token_type: type, expires_in: seconds, scope } = answer;
  if (typeof value !== "string" || value === "" || String(type).toLowerCase() !== "bearer")
    throw unexpectedAnswer("The token endpoint's answer has no bearer token.", response);
  const isKnown = typeof seconds === "number" && seconds > 0;
  const lifetimeS = isKnown ? Math.min(seconds, LIFETIME_S_MAX) : LIFETIME_S;
  const aheadS = Math.min(AHEAD_S_MAX, lifetimeS * AHEAD_SHARE);
  return {
    value,
    scopes: typeof scope === "string" ? scope.split(" ").filter((one) => one !== "") : [],
    expiresAt: askedAt + lifetimeS * 1000,
    renewAt: askedAt + (lifetimeS - aheadS) * 1000,
    worked: false,
    isStored: false,
  };
}

function tokenLimit(waitMs: number): BellhopError {
  const minutes = Math.ceil(waitMs / 60_000);
  return new BellhopError(
    `Another token would be more than the specification allows (six at once, then one every 10 minutes); the next one in ${minutes} min.`,
    { exception: "client.TokenLimit", retryable: true, retryAfterMs: waitMs },
  );
}

const TOKENS_AT_ONCE = 6;
const REFILL_MS = 600_000;

/** Counts tokens as the service does (six at once, one more every 10 minutes), so that a fault does not flood it. */
class TokenAllowance {
  #left = TOKENS_AT_ONCE;
  #countedAt: number;

  constructor(now: number) {
    this.#countedAt = now;
  }

  waitMs(now: number): number {
    this.#refill(now);
    return this.#left >= 1 ? 0 : (1 - this.#left) * REFILL_MS;
  }

  spend(now: number): void {
    this.#refill(now);
    this.#left = Math.max(0, this.#left - 1);
  }

  #refill(now: number): void {
    this.#left = Math.min(TOKENS_AT_ONCE, this.#left + (now - this.#countedAt) / REFILL_MS);
    this.#countedAt = now;
  }
}

/** The oldest source is dropped beyond this number. */
const SOURCES_MAX = 256;

/** Tokens of a custom `fetch` are not shared, because it may connect to another service. */
const sourcesOf = new WeakMap<typeof fetch, Map<string, TokenSource>>();

/** One source for all BellhopClients in this process with the same credentials. */
function tokenSourceFor(request: TokenRequest): TokenSource {
  let sources = sourcesOf.get(request.fetch);
  if (sources === undefined) {
    sources = new Map();
    sourcesOf.set(request.fetch, sources);
  }
  const { url, clientId, clientSecret, scope } = request;
  const key = createHash("sha256")
    .update(JSON.stringify([url, clientId, clientSecret, scope]))
    .digest("base64url");
  let source = sources.get(key);
  if (source === undefined) {
    source = new TokenSource(request, key);
    sources.set(key, source);
    const [oldest] = sources.keys();
    if (sources.size > SOURCES_MAX && oldest !== undefined) sources.delete(oldest);
  }
  return source;
}
