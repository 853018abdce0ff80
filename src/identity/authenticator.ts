import { hash } from "node:crypto";
import type { Pool } from "pg";
import type { Config } from "../config.ts";
import { createSecretCipher, type SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { ClientSemaphores } from "../platform/http/client-semaphores.ts";
import { Semaphore } from "../platform/runtime/semaphore.ts";
import { SharedCounter } from "../platform/runtime/shared-memory.ts";
import type { Logger } from "../platform/telemetry/log.ts";
import {
  readCursorKey,
  readTokenParties,
  type TokenParties,
  type VerifiedToken,
  verifyAccessToken,
} from "./access-token.ts";
import { changeAuth } from "./audit.ts";
import { BoundedMap } from "./bounded-map.ts";
import { type ClientFacts, createDirectory, type Directory } from "./directory.ts";
import type { Principal } from "./permissions.ts";
import { ensurePepper } from "./secrets.ts";
import { addSigningKey, FIND_UNRETIRED_KEY, WIPE_RETIRED_KEYS } from "./signing-key.ts";

/** Cached verified tokens: a few hundred bytes each, at most six per client and hour. */
const TOKENS_MAX = 20_000;

/** A valid token and its client, both as of now. */
interface GoodToken {
  readonly token: VerifiedToken;
  readonly client: ClientFacts;
}

/**
 * Returns the token if it is valid now. Synchronous if everything is cached, as for nearly every request. `connection`: what the token came
 * on.
 */
type TokenReader = (
  token: string,
  connection?: object,
) => GoodToken | undefined | Promise<GoodToken | undefined>;

/**
 * Creates the reader: checks signature, times, denylist, key and client. Caches valid signatures (0.1 ms to check) under the token's hash,
 * so the cache holds no tokens and forged ones take no space; everything else is checked at every use. Calls `expired` with the client of a
 * token refused only for its age.
 */
function createTokenReader(
  directory: Directory,
  parties: () => Promise<TokenParties>,
  expired: (clientId: string) => void,
): TokenReader {
  const verified = new BoundedMap<string, VerifiedToken>(TOKENS_MAX);
  const digestOf = digestReader();

  function withClient(token: VerifiedToken, client: ClientFacts | undefined): GoodToken | undefined {
    return client === undefined || client.revoked ? undefined : { token, client };
  }

  async function readUnknown(text: string, digest: string): Promise<GoodToken | undefined> {
    const token = await verifyAccessToken(text, {
      parties: await parties(),
      findKey: directory.findOrFetchKey,
      nowMs: directory.now(),
      expired,
    });
    if (token === undefined || !isStillGood(directory, token)) return undefined;
    const good = withClient(token, await directory.findClient(token.clientId));
    if (good !== undefined) verified.set(digest, token);
    return good;
  }

  function read(text: string, connection: object | undefined): ReturnType<TokenReader> {
    const digest = digestOf(text, connection);
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

  return function readToken(text, connection) {
    const renewal = directory.freshen();
    return renewal === undefined ? read(text, connection) : renewal.then(() => read(text, connection));
  };
}

/** Hashes tokens. Clients repeat theirs, so the last one of each connection, which Node keeps with its last request, is not hashed again. */
function digestReader(): (text: string, connection: object | undefined) => string {
  const last = new WeakMap<object, { readonly text: string; readonly digest: string }>();
  return (text, connection) => {
    const known = connection && last.get(connection);
    if (known?.text === text) return known.digest;
    const digest = hash("sha256", text, "base64");
    if (connection !== undefined) last.set(connection, { text, digest });
    return digest;
  };
}

/** No tolerance for the expiry: it is compared with the clock that dated it. */
function isPast(directory: Directory, token: VerifiedToken): boolean {
  return token.expiresAt * 1000 <= directory.now();
}

function isStillGood(directory: Directory, token: VerifiedToken): boolean {
  if (isPast(directory, token)) return false;
  return directory.findKey(token.kid) !== undefined && !directory.isDenied(token);
}

/** An hour after the expiry, no node's clock can consider the token valid. */
const READ_DEAD_DENIALS = namedStatement(
  "read-dead-denials",
  `select max(expires_at)::text as until, max(denied_at)::text as "deniedAt" from bellhop.denied_token where expires_at < clock_timestamp() - interval '1 hour'`,
);
/** Before the deletion: if the clock was ahead and goes back, the tokens are not yet expired. */
const NOTE_DELETED_DENIALS = namedStatement(
  "note-deleted-denials",
  `update bellhop.auth_epoch set denials_deleted_until = greatest(denials_deleted_until, $1)`,
);
const DELETE_DEAD_DENIALS = namedStatement(
  "delete-dead-denials",
  `delete from bellhop.denied_token where expires_at <= $1`,
);

/** Secrets checked at the same time: fewer than a thread has connections. */
const CHECKS_AT_ONCE = 2;
/** Requests that wait to be authenticated on a thread, in total and of one network. */
const CHECKS_WAITING_MAX = 2_000;
const NETWORK_CHECKS_WAITING_MAX = 1_000;

/** The settings used for authentication. */
export type AuthConfig = Pick<
  Config,
  | "keyEncryptionKey"
  | "keyEncryptionKeysPrevious"
  | "requestRate"
  | "requestBurst"
  | "tokenBurst"
  | "tokenStrictHour"
>;

/** Public addresses of the service, without a trailing slash. */
export interface Addresses {
  readonly baseUrl: string;
  readonly authUrl: string;
}

/** Result of reading the Authorization header. */
export type BearerResult =
  | { readonly kind: "absent" }
  | { readonly kind: "invalid" }
  | {
      readonly kind: "ok";
      readonly principal: Principal;
      /** For `Authenticator.verifyAgain`. */
      readonly version: number;
    };

export interface AuthenticatorOptions {
  readonly pool: Pool;
  readonly config: AuthConfig;
  readonly log: Logger;
  /** Called when first needed, when a service on a free port knows its port. */
  readonly addresses: () => Addresses;
  /** Memory of a SharedCounter if several threads of the process have an authenticator. */
  readonly changes?: SharedArrayBuffer;
}

export type Authenticator = ReturnType<typeof createAuthenticator>;

/** What the endpoints of this folder share. */
export type AuthInternals = Authenticator["internals"];

const TIDY_EVERY_MS = 3_600_000;

/** Creates a node's authenticator. Does not query the database before first use. */
export function createAuthenticator(options: AuthenticatorOptions) {
  const { pool, config, log, addresses } = options;
  const cipher = createSecretCipher(config.keyEncryptionKey, config.keyEncryptionKeysPrevious);
  const directory = createDirectory(pool, cipher, new SharedCounter(options.changes));
  /** The key that encrypts cursors. */
  const cursorKey = once(() => readCursorKey(pool, cipher));
  const parties = once(() => readTokenParties(pool, () => addresses().authUrl));
  const { principalOf, tokenOf } = createPrincipals(config);
  let watchingExpired: ((clientId: string) => void) | undefined;
  const readToken = createTokenReader(directory, parties, (clientId) => watchingExpired?.(clientId));

  let tidiedAtMs = performance.now();
  /** Deletes expired data, at most once an hour. */
  async function tidy(): Promise<void> {
    if (performance.now() - tidiedAtMs < TIDY_EVERY_MS) return;
    tidiedAtMs = performance.now();
    await deleteExpired(pool);
  }

  /** Creates what a new installation lacks (pepper, first signing key, cursor key) and loads the rest. Throws AuthSetupError. */
  async function prepare(): Promise<void> {
    await cursorKey();
    // The directory reads it.
    await ensurePepper(pool, cipher);
    await directory.renew();
    await ensureSigningKey(pool, cipher, directory);
    await deleteExpired(pool);
    if (!cipher.encrypts) log.debug("KEY_ENCRYPTION_KEY is not set: signing keys are stored unencrypted");
  }

  function resultOf(good: GoodToken | undefined, version: number): BearerResult {
    return good === undefined ? { kind: "invalid" } : { kind: "ok", principal: principalOf(good), version };
  }

  function currentOf(principal: Principal, version: number) {
    if (directory.version() === version) return principal;
    const token = tokenOf(principal);
    // Not the expiry: a request that began in time may end.
    if (token === undefined || directory.findKey(token.kid) === undefined) return undefined;
    if (directory.isDenied(token)) return undefined;
    const client = directory.findClient(token.clientId);
    const use = (found: ClientFacts | undefined) =>
      found === undefined || found.revoked ? undefined : principalOf({ token, client: found });
    return client instanceof Promise ? client.then(use) : use(client);
  }

  return {
    /**
     * Reads the bearer token of a request. `absent` (401): no header, another scheme or no token. `invalid` (403): forged, expired,
     * revoked, or several headers. Synchronous if everything is cached; a promise rejects only if the database is unavailable.
     * `connection`: what the request came on, if others may follow on it.
     */
    verifyBearer(
      headers: readonly string[] | undefined,
      connection?: object,
    ): BearerResult | Promise<BearerResult> {
      const token = bearerOf(headers);
      if (token === undefined) return { kind: "absent" };
      if (token === false) return { kind: "invalid" };
      const version = directory.version();
      const good = readToken(token, connection);
      return good instanceof Promise
        ? good.then((known) => resultOf(known, version))
        : resultOf(good, version);
    },
    /**
     * The principal as of now, after a long step: with the client's current permissions, or undefined if the token, its key or its client
     * was revoked. The same object, at the cost of a comparison, if nothing has changed since `verifyBearer` returned `version`.
     */
    verifyAgain(
      principal: Principal,
      version: number,
    ): Principal | undefined | Promise<Principal | undefined> {
      const renewal = directory.freshen();
      return renewal === undefined
        ? currentOf(principal, version)
        : renewal.then(() => currentOf(principal, version));
    },
    prepare,
    /** Loads changes of clients, keys and revocations at once instead of within a second. */
    renew: directory.renew,
    /** Sets the function to call with the client of each genuine token that is refused because it has expired. */
    watchExpired: (onExpired: (clientId: string) => void) => {
      watchingExpired = onExpired;
    },
    internals: {
      pool,
      config,
      cipher,
      directory,
      readToken,
      cursorKey,
      parties,
      tidy,
      /** Authenticates with secrets. Networks take turns. */
      checks: new Semaphore(CHECKS_AT_ONCE, CHECKS_WAITING_MAX, NETWORK_CHECKS_WAITING_MAX),
      /** What an authenticated client changes by its secret locks its rows: the others of its requests wait here, not on connections. */
      changes: new ClientSemaphores(1),
    },
  };
}

const SCHEME = "bearer ";

/** The token in the headers; undefined if there is none, false if there are several headers. */
function bearerOf(headers: readonly string[] | undefined): string | undefined | false {
  const header = headers?.[0];
  if (headers === undefined || header === undefined) return undefined;
  if (headers.length > 1) return false;
  if (header.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  const token = header.slice(SCHEME.length).trim();
  return token === "" ? undefined : token;
}

/** Creates principals, reusing one while neither the token nor the client's facts change. */
function createPrincipals(config: AuthConfig) {
  const made = new WeakMap<VerifiedToken, { client: ClientFacts; principal: Principal }>();
  const tokens = new WeakMap<Principal, VerifiedToken>();
  const principalOf = ({ token, client }: GoodToken): Principal => {
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
      nulls: client.nulls,
      certificationId: client.certificationId,
    };
    made.set(token, { client, principal });
    tokens.set(principal, token);
    return principal;
  };
  return { principalOf, tokenOf: (principal: Principal) => tokens.get(principal) };
}

/** Creates the first signing key. Nodes that start together wait for the epoch row; the second finds the key of the first. */
async function ensureSigningKey(pool: Pool, cipher: SecretCipher, directory: Directory): Promise<void> {
  if (directory.liveKeys().length > 0) return;
  await changeAuth({ pool, directory }, async (change) => {
    const found = await change.connection.query(FIND_UNRETIRED_KEY);
    if (found.rowCount !== 0) return;
    const { kid } = await addSigningKey(change, cipher, 0);
    await change.audit({ who: "service", what: "create-first-key", detail: { kid } });
  });
}

/** Deletes denials of expired tokens, and private parts of keys that no longer sign. */
async function deleteExpired(pool: Pool): Promise<void> {
  const [dead] = (await pool.query<{ until: string | null; deniedAt: string | null }>(READ_DEAD_DENIALS))
    .rows;
  if (dead?.until != null) {
    await pool.query({ ...NOTE_DELETED_DENIALS, values: [dead.deniedAt] });
    await pool.query({ ...DELETE_DEAD_DENIALS, values: [dead.until] });
  }
  await pool.query(WIPE_RETIRED_KEYS);
}

/** Caches the first success; after a failure the next caller tries again. */
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
