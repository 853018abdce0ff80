import { hash } from "node:crypto";
import type { Pool } from "pg";
import type { Config } from "../config.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { monotonicNow, SharedCounter, SharedTable } from "../platform/runtime/shared-memory.ts";
import type { Logger } from "../platform/telemetry/log.ts";
import {
  readCursorKey,
  readTokenParties,
  type TokenParties,
  type VerifiedToken,
  verifyAccessToken,
} from "./access-token.ts";
import { changeAuth } from "./audit.ts";
import { BoundedMap, type ClientFacts, createDirectory, type Directory } from "./directory.ts";
import type { Principal } from "./permissions.ts";
import { createSecretCipher, type SecretCipher } from "./secret-cipher.ts";
import { ensurePepper } from "./secrets.ts";
import { addSigningKey, FIND_UNRETIRED_KEY, WIPE_RETIRED_KEYS } from "./signing-key.ts";

/** Verified tokens kept: a few hundred bytes each, and six an hour is what a client may take. */
const TOKENS_MAX = 20_000;

/** A good token and the client it belongs to, as both are now. */
interface GoodToken {
  readonly token: VerifiedToken;
  readonly client: ClientFacts;
}

/** Says whether a token is good at this moment. No promise where all is known already: that is nearly every request. */
type TokenReader = (token: string) => GoodToken | undefined | Promise<GoodToken | undefined>;

/**
 * Creates the reader: checks signature, times, denylist, key and client. It caches each good signature (0.1 ms to check) under
 * the token's hash, so that memory holds no token and forged tokens take no space; all else is checked at every use. Calls
 * `expired` with the client of a token refused only for its age.
 */
function createTokenReader(
  directory: Directory,
  parties: () => Promise<TokenParties>,
  expired: (clientId: string) => void,
): TokenReader {
  const verified = new BoundedMap<string, VerifiedToken>(TOKENS_MAX);

  function withClient(token: VerifiedToken, client: ClientFacts | undefined): GoodToken | undefined {
    return client === undefined || client.revoked ? undefined : { token, client };
  }

  async function readUnknown(text: string, digest: string): Promise<GoodToken | undefined> {
    const token = await verifyAccessToken(text, {
      parties: await parties(),
      findKey: directory.lookForKey,
      nowMs: directory.now(),
      expired,
    });
    if (token === undefined || !isStillGood(directory, token)) return undefined;
    const good = withClient(token, await directory.findClient(token.clientId));
    if (good !== undefined) verified.set(digest, token);
    return good;
  }

  function read(text: string): ReturnType<TokenReader> {
    const digest = hash("sha256", text, "base64");
    const token = verified.get(digest);
    if (token === undefined) return readUnknown(text, digest);
    if (!isStillGood(directory, token)) {
      verified.delete(digest);
      if (isPast(directory, token)) expired(token.clientId);
      return undefined;
    }
    const client = directory.findClient(token.clientId);
    return client instanceof Promise
      ? client.then((found) => withClient(token, found))
      : withClient(token, client);
  }

  return function readToken(text) {
    const renewal = directory.freshen();
    return renewal === undefined ? read(text) : renewal.then(() => read(text));
  };
}

/** Its end gets no tolerance: it is compared with the clock that dated it. */
function isPast(directory: Directory, token: VerifiedToken): boolean {
  return token.expiresAt * 1000 <= directory.now();
}

function isStillGood(directory: Directory, token: VerifiedToken): boolean {
  if (isPast(directory, token)) return false;
  return directory.findKey(token.kid) !== undefined && !directory.isDenied(token.tokenId);
}

/** An hour after a token's end no clock on any node can still take it for alive. */
const DELETE_DEAD_DENIALS = namedStatement(
  "delete-dead-denials",
  `delete from bellhop.denied_token where expires_at < clock_timestamp() - interval '1 hour'`,
);

/** The settings that authentication goes by. */
export type AuthConfig = Pick<
  Config,
  | "keyEncryptionKey"
  | "keyEncryptionKeysPrevious"
  | "requestRate"
  | "requestBurst"
  | "tokenBurst"
  | "tokenStrictHour"
>;

/** Where the service is found from outside, without a slash at the end. */
export interface Addresses {
  readonly baseUrl: string;
  readonly authUrl: string;
}

/** What a request's Authorization header came to. */
export type BearerResult =
  | { readonly kind: "absent" }
  | { readonly kind: "invalid" }
  | { readonly kind: "ok"; readonly principal: Principal };

export interface AuthenticatorOptions {
  readonly pool: Pool;
  readonly config: AuthConfig;
  readonly log: Logger;
  /** Asked when it is first needed, so that a service on a free port knows its port by then. */
  readonly addresses: () => Addresses;
  /** Memory of a SharedCounter, where several threads of a process have an authenticator each. */
  readonly changes?: SharedArrayBuffer;
}

export type Authenticator = ReturnType<typeof createAuthenticator>;

/** What the endpoints of this folder work with. */
export type AuthInternals = Authenticator["internals"];

const TIDY_EVERY_MS = 3_600_000;

/** Makes the part of a node that knows who is calling. Nothing is asked of the database before it is used. */
export function createAuthenticator(options: AuthenticatorOptions) {
  const { pool, config, log, addresses } = options;
  const cipher = createSecretCipher(config.keyEncryptionKey, config.keyEncryptionKeysPrevious);
  const directory = createDirectory(pool, cipher, new SharedCounter(options.changes));
  /** What cursors are encrypted with. */
  const cursorKey = once(() => readCursorKey(pool, cipher));
  const parties = once(() => readTokenParties(pool, () => addresses().authUrl));
  const principalOf = createPrincipals(config);
  let watchingExpired: ((clientId: string) => void) | undefined;
  const readToken = createTokenReader(directory, parties, (clientId) => watchingExpired?.(clientId));

  let tidiedAtMs = performance.now();
  /** Deletes what has no effect any more, at most once an hour. */
  async function tidy(): Promise<void> {
    if (performance.now() - tidiedAtMs < TIDY_EVERY_MS) return;
    tidiedAtMs = performance.now();
    await removeWhatIsDead(pool);
  }

  /** Makes what a new installation lacks (pepper, first key, key of cursors) and loads the rest. Throws AuthSetupError. */
  async function prepare(): Promise<void> {
    await cursorKey();
    // Before the directory reads it.
    await ensurePepper(pool, cipher);
    await directory.renew();
    await ensureSigningKey(pool, cipher, directory);
    await removeWhatIsDead(pool);
    if (!cipher.encrypts)
      log.debug("KEY_ENCRYPTION_KEY is not set: signing keys lie in the database unencrypted");
  }

  function resultOf(good: GoodToken | undefined): BearerResult {
    return good === undefined ? { kind: "invalid" } : { kind: "ok", principal: principalOf(good) };
  }

  return {
    /**
     * Reads the bearer token of a request. `absent` (401): no header, another scheme or no token after it. `invalid`
     * (403): forged, expired, revoked, or several headers. No promise where all is known already; one rejects only when
     * the database cannot be asked.
     */
    verifyBearer(headers: readonly string[] | undefined): BearerResult | Promise<BearerResult> {
      const token = bearerOf(headers);
      if (token === undefined) return { kind: "absent" };
      if (token === false) return { kind: "invalid" };
      const good = readToken(token);
      return good instanceof Promise ? good.then(resultOf) : resultOf(good);
    },
    prepare,
    /** Takes in changes of clients, keys and revocations at once instead of within a second. */
    renew: directory.renew,
    /** From now on `onExpired` is called with the client of each genuine, expired token that is refused. */
    watchExpired: (onExpired: (clientId: string) => void) => {
      watchingExpired = onExpired;
    },
    internals: { pool, config, cipher, directory, readToken, cursorKey, parties, tidy },
  };
}

const SCHEME = "bearer ";

/** The token of the headers; undefined when there is none, false when there are several headers. */
function bearerOf(headers: readonly string[] | undefined): string | undefined | false {
  const header = headers?.[0];
  if (headers === undefined || header === undefined) return undefined;
  if (headers.length > 1) return false;
  if (header.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  const token = header.slice(SCHEME.length).trim();
  return token === "" ? undefined : token;
}

/** Makes principals, and the same one again while neither the token nor what is known of its client has changed. */
function createPrincipals(config: AuthConfig): (good: GoodToken) => Principal {
  const made = new WeakMap<VerifiedToken, { client: ClientFacts; principal: Principal }>();
  return ({ token, client }) => {
    const before = made.get(token);
    if (before?.client === client) return before.principal;
    const principal: Principal = {
      clientId: token.clientId,
      scopes: new Set(token.scopes.filter((scope) => client.scopes.includes(scope))),
      grants: client.grants,
      requestRate: client.requestRate ?? config.requestRate,
      requestBurst: client.requestBurst ?? config.requestBurst,
      tokenId: token.tokenId,
      replyToOrigins: client.replyToOrigins,
      certificationId: client.certificationId,
    };
    made.set(token, { client, principal });
    return principal;
  };
}

/** Makes the first key. Nodes starting together wait for each other at the epoch row, and the second finds the first's. */
async function ensureSigningKey(pool: Pool, cipher: SecretCipher, directory: Directory): Promise<void> {
  if (directory.liveKeys().length > 0) return;
  await changeAuth({ pool, directory }, async (change) => {
    const found = await change.connection.query(FIND_UNRETIRED_KEY);
    if (found.rowCount !== 0) return;
    const { kid } = await addSigningKey(change, cipher, 0);
    await change.audit({ who: "service", what: "create-first-key", detail: { kid } });
  });
}

/** Denials of tokens that have expired, and private parts of keys that sign no more. */
async function removeWhatIsDead(pool: Pool): Promise<void> {
  await pool.query(DELETE_DEAD_DENIALS);
  await pool.query(WIPE_RETIRED_KEYS);
}

/** Remembers the first success; a failure is forgotten, so the next caller tries again. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

/** How a request fared against its client's rate. */
export interface RateResult {
  readonly allowed: boolean;
  /** Requests the client could still send at once. */
  readonly remaining: number;
  /** Seconds until at least one more request may be sent than now (`t` of the RateLimit header). */
  readonly resetSeconds: number;
  /** Seconds to wait when refused, at least 1 (Retry-After); 0 when allowed. */
  readonly retryAfterSeconds: number;
}

/**
 * Buckets kept. A client's bucket of 40 bytes is pushed out only when others of its set were used since, and is then full
 * again: with the default rate and burst an idle bucket is full after 2 s anyway.
 */
const SHAPE = { rows: 50_000, numbers: 2 } as const;

/** When a client's bucket will be full again, in ms of the clock (GCRA: one number is the whole bucket). */
const FULL_AT = 0;
/** When it would be full again after the last charge that left a debt: a debt beyond it is one of a burst that was lowered. */
const OWED_UNTIL = 1;

/** Memory for the buckets of one process, which all its threads share. */
export function allocateRates(): SharedArrayBuffer {
  return SharedTable.allocate(SHAPE);
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/**
 * Makes the limiter of request rates, one bucket a client, in the memory of this node (asking the database at every
 * request would cost more than the request): whichever of its threads the requests come to, their sum is limited. What
 * is kept is when the bucket is full, in time, which means the same whatever share of the bucket this node's is.
 */
export function createRateLimiter(clock: () => number = monotonicNow, memory = allocateRates()) {
  const buckets = new SharedTable(memory, SHAPE);
  const use = (change: Change, clientId: string, rate: number, burst: number, nodes: number): RateResult => {
    const now = clock();
    const refillMs = (1000 * nodes) / rate;
    const emptyAt = now + Math.max(1, burst / nodes) * refillMs;
    const taken = buckets.use(clientId, now, (bucket) => {
      const fullAt = bucket.isNew ? now : bucket.get(FULL_AT);
      const owedUntil = bucket.isNew ? now : bucket.get(OWED_UNTIL);
      // A burst that was lowered meanwhile leaves an empty bucket, not a debt.
      const at = Math.min(Math.max(fullAt, now), Math.max(emptyAt, owedUntil)) + refillMs * change.requests;
      // A billionth of a request makes up for the rounding of sums of fractions.
      const allowed = change.isOwed || at <= emptyAt + refillMs * 1e-9;
      bucket.set(FULL_AT, allowed ? at : at - refillMs * change.requests);
      if (change.isOwed) bucket.set(OWED_UNTIL, at);
      return { allowed, at };
    });
    if (taken === undefined) throw new Error("A client has no bucket, though any other may go for it.");
    const { allowed, at } = taken;
    const missingMs = at - emptyAt;
    if (!allowed) {
      const waitSeconds = Math.max(1, Math.ceil(missingMs / 1000));
      return { allowed, remaining: 0, resetSeconds: waitSeconds, retryAfterSeconds: waitSeconds };
    }
    const remaining = Math.max(0, Math.floor(-missingMs / refillMs + 1e-9));
    const resetSeconds = Math.max(1, Math.ceil((Math.max(0, missingMs) + refillMs) / 1000));
    return { allowed, remaining, resetSeconds, retryAfterSeconds: 0 };
  };
  return {
    /**
     * Takes one request from this node's share of the client's bucket: `rate` come back every second, `burst` fit in, and
     * each of `nodes` gives its part of both, but never less than room for one request.
     */
    take: (clientId: string, rate: number, burst: number, nodes = 1) =>
      use({ requests: 1, isOwed: false }, clientId, rate, burst, nodes),
    /**
     * Counts `more` requests of a client without refusing any: what a request that was let in turned out to weigh. Beyond what
     * is in the bucket it is a debt, and until that is paid off `take` refuses.
     */
    charge: (clientId: string, more: number, rate: number, burst: number, nodes = 1) =>
      use({ requests: more, isOwed: true }, clientId, rate, burst, nodes),
  };
}

/** So many requests; owed ones are never refused. */
interface Change {
  readonly requests: number;
  readonly isOwed: boolean;
}
