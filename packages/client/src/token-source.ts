import { createHash } from "node:crypto";
import { readError, readJson, unexpectedAnswer } from "./answer.ts";
import type { AccessToken } from "./api-types.ts";
import { BellhopError } from "./error.ts";
import { fetchWithin, orAborted } from "./fetch-within.ts";
import { Gate } from "./gate.ts";
import { type RetryPolicy, withRetries } from "./retry.ts";

/** A token, and until when it is used. Times are of a clock that nobody sets (`performance.now`), so a wrong one does no harm. */
export interface Token {
  readonly value: string;
  /** What it allows; empty where the service does not say. */
  readonly scopes: readonly string[];
  readonly expiresAt: number;
  readonly renewAt: number;
  /** Whether the service has let a request with it pass. One that never worked is not worth another token. */
  worked: boolean;
}

interface TokenRequest {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string | undefined;
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
  readonly retry: RetryPolicy;
}

const ANSWER_BYTES_MAX = 65_536;
/** What a token without `expires_in` is taken to last (RFC 6749 leaves it open; the specification says an hour). */
const LIFETIME_S = 3600;
const LIFETIME_S_MAX = 86_400;
/** Renewed five minutes before it ends, or after four fifths of a shorter life: time enough to try several times. */
const AHEAD_S_MAX = 300;
const AHEAD_SHARE = 0.2;
/** After a renewal ahead of time that failed, the token in hand is used on for so long before the next try. */
const RENEWAL_PAUSE_MS = 30_000;
/** What was never reached is more likely a wrong address than a service that is down. */
export const FIRST_CONTACT_MS = 15_000;

/**
 * The token of one client (specification, section 5): asked for once, shared by all calls, renewed before it ends, and
 * renewed once when the service refuses it. However many calls wait, one request is under way; and there are never more
 * of them than the specification allows.
 */
export class TokenSource {
  readonly #request: TokenRequest;
  readonly #allowance = new TokenAllowance(performance.now());
  readonly #gate = new Gate();
  #current: Token | undefined;
  #pending: Promise<Token> | undefined;
  #renewNotBefore = 0;
  #wasReached = false;

  constructor(request: TokenRequest) {
    this.#request = request;
  }

  /** A token to use now. Rejects with a BellhopError (`oauth.invalid_client`, …), or with the signal's reason. */
  async current(signal?: AbortSignal): Promise<Token> {
    const now = performance.now();
    const token = this.#current;
    if (token !== undefined && now < token.expiresAt) {
      if (now >= token.renewAt && now >= this.#renewNotBefore) this.#renewAhead();
      return token;
    }
    return await orAborted(this.#renew(), signal);
  }

  /**
   * What to do after the service has refused a token: true, there is another one now; false, another would not help, for
   * the refused one had just been given and never worked. Rejects with `client.TokenLimit` where none may be asked for.
   */
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
    // The token in hand is good still: whoever finds it ended asks again and is told why.
    this.#renew().catch(() => undefined);
  }

  #renew(): Promise<Token> {
    this.#pending ??= this.#ask().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #ask(): Promise<Token> {
    const token = await withRetries(() => this.#askOnce(), this.#request.retry, {
      gate: this.#gate,
      forMsOf: (error) =>
        !this.#wasReached && error.status === undefined ? FIRST_CONTACT_MS : Number.POSITIVE_INFINITY,
    });
    this.#current = token;
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
      // From here on the token counts as given, whether its answer arrives whole or not.
      this.#allowance.spend(performance.now());
      return tokenOf(await readJson<Partial<AccessToken>>(response, ANSWER_BYTES_MAX), response, askedAt);
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
    // Counted from before it was asked for: it was made later than that.
    expiresAt: askedAt + lifetimeS * 1000,
    renewAt: askedAt + (lifetimeS - aheadS) * 1000,
    worked: false,
  };
}

function tokenLimit(waitMs: number): BellhopError {
  const minutes = Math.ceil(waitMs / 60_000);
  return new BellhopError(
    `Another token would be more than the specification allows (six at once, then one every 10 minutes); the next one in ${minutes} min.`,
    { exception: "client.TokenLimit", retryable: true, retryAfterMs: waitMs },
  );
}

/** The specification, section 5: at most one token every 10 minutes, meaning up to 6 an hour. */
const TOKENS_AT_ONCE = 6;
const REFILL_MS = 600_000;

/**
 * The tokens that a partner may ask for, counted here so that a fault (a service that refuses every token, say) never
 * becomes a flood of token requests: six at once, and one back every 10 minutes, as the service counts them.
 */
class TokenAllowance {
  #left = TOKENS_AT_ONCE;
  #countedAt: number;

  constructor(now: number) {
    this.#countedAt = now;
  }

  /** How many milliseconds until another token may be asked for; 0 for now. */
  waitMs(now: number): number {
    this.#refill(now);
    return this.#left >= 1 ? 0 : (1 - this.#left) * REFILL_MS;
  }

  /** Counts a token that was given, or may have been. */
  spend(now: number): void {
    this.#refill(now);
    this.#left = Math.max(0, this.#left - 1);
  }

  #refill(now: number): void {
    this.#left = Math.min(TOKENS_AT_ONCE, this.#left + (now - this.#countedAt) / REFILL_MS);
    this.#countedAt = now;
  }
}

/** Clients whose tokens one process keeps; beyond it the one that was made first is forgotten. */
const SOURCES_MAX = 256;

/** A `fetch` of the caller's own may lead anywhere, so what one was given is not used with another. */
const sourcesOf = new WeakMap<typeof fetch, Map<string, TokenSource>>();

/**
 * The source of a client's tokens, one for all BellhopClients of this process with the same credentials: a program that
 * makes a new BellhopClient for every call asks for one token an hour all the same.
 */
export function tokenSourceFor(request: TokenRequest): TokenSource {
  let sources = sourcesOf.get(request.fetch);
  if (sources === undefined) {
    sources = new Map();
    sourcesOf.set(request.fetch, sources);
  }
  const { url, clientId, clientSecret, scope } = request;
  const key = createHash("sha256")
    .update(JSON.stringify([url, clientId, clientSecret, scope]))
    .digest("base64");
  let source = sources.get(key);
  if (source === undefined) {
    source = new TokenSource(request);
    sources.set(key, source);
    const [oldest] = sources.keys();
    if (sources.size > SOURCES_MAX && oldest !== undefined) sources.delete(oldest);
  }
  return source;
}
