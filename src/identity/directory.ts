import { setTimeout as delay } from "node:timers/promises";
import type { Pool } from "pg";
import type { SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { SharedCounter } from "../platform/runtime/shared-memory.ts";
import { BoundedMap } from "./bounded-map.ts";
import type { NullReading } from "./console-answers.ts";
import { arrangeGrants, type Grant, type Grants } from "./grants.ts";
import { type Peppers, readPeppers } from "./secrets.ts";
import { chooseSigningKey, loadSigningKeys, type SigningKey } from "./signing-key.ts";

/** Read at most twice a second by each thread, except for unknown key ids. Also reads the clock: only the database's clock dates tokens. */
const READ_EPOCH = namedStatement(
  "read-auth-epoch",
  `select epoch::text as epoch, extract(epoch from clock_timestamp())::float8 * 1000 as "nowMs",
    extract(epoch from denials_deleted_until)::float8 * 1000 as "deletedUntilMs"
  from bellhop.auth_epoch`,
);
const LIST_CHANGED_CLIENTS = namedStatement(
  "list-changed-clients",
  `select client_id as "clientId" from bellhop.client where changed_epoch > $1`,
);
const LIST_DENIED_TOKENS = namedStatement(
  "list-denied-tokens",
  `select jti, extract(epoch from expires_at)::float8 * 1000 as "expiresAtMs",
    extract(epoch from denied_at)::float8 * 1000 as "deniedAtMs"
  from bellhop.denied_token
  where changed_epoch > $1`,
);
const READ_CLIENT_FACTS = readStatement(new URL("./sql/read-client-facts.sql", import.meta.url));

/** Auth data older than this is refreshed before use: the maximum delay of another node's revocation. */
export const STALE_AFTER_MS = 1000;

/** From this age auth data is refreshed in the background, so that no request waits for it under steady traffic. */
const RENEW_AFTER_MS = 500;

/** Minimum interval between refreshes for unknown key ids, so that invented ids do not load the database. */
const UNKNOWN_KEY_MS = 50;

/** The thumbprint of a key (RFC 7638): 32 bytes in base64url. */
const KEY_ID = /^[\w-]{43}$/;

/** Cached clients. Only a valid token adds one; an evicted one costs one query. */
const CLIENTS_MAX = 20_000;

/** The facts about a client that a node needs to answer its requests. */
export interface ClientFacts {
  readonly scopes: readonly string[];
  readonly requestRate: number | null;
  readonly requestBurst: number | null;
  readonly replyToOrigins: readonly string[];
  readonly nulls: NullReading;
  readonly revoked: boolean;
  /** The client's open certification, or null. */
  readonly certificationId: string | null;
  /** When the certification ends, by the database's clock: its end does not raise the epoch. */
  readonly knownUntilMs: number | null;
  readonly grants: Grants;
}

/** Grants of all cached clients: each takes about 100 bytes, and a client may have 20,000. */
const GRANTS = {
  most: 500_000,
  of: ({ grants }: ClientFacts) => grants.values().reduce((sum, codes) => sum + codes.size, 0),
} as const;

type ClientRow = Omit<ClientFacts, "grants"> & { readonly grants: readonly Grant[] };

export type Directory = ReturnType<typeof createDirectory>;

/**
 * Creates an empty directory: a thread's copy of keys, peppers, clients and denied tokens, at most a second old after `freshen` and never
 * older than the last `renew` on any thread of this process. While in use it reads one row at most twice a second, more often for unknown
 * key ids. `changes` counts the changes made by any thread.
 */
export function createDirectory(pool: Pool, cipher: SecretCipher, changes: SharedCounter) {
  const clients = new BoundedMap<string, ClientFacts>(CLIENTS_MAX, GRANTS);
  const denied = new Denials();
  let keys = new Map<string, SigningKey>();
  let peppers: Peppers | undefined;
  let epoch = "-1";
  let changesSeen = 0;
  let knownAtMs = Number.NEGATIVE_INFINITY;
  let clock = { databaseMs: Number.NaN, readAtMs: Number.NaN };
  let changesKnown = changes.value;
  let changesAsked = changesKnown;

  /** The database's clock, in ms since 1970. */
  const now = (): number => clock.databaseMs + (performance.now() - clock.readAtMs);

  async function loadChanges(since: string): Promise<void> {
    keys = new Map((await loadSigningKeys(pool, cipher, keys)).map((key) => [key.kid, key]));
    peppers = await readPeppers(pool, cipher, peppers);
    const changed = await pool.query<{ clientId: string }>({ ...LIST_CHANGED_CLIENTS, values: [since] });
    changesSeen += 1;
    for (const { clientId } of changed.rows) clients.delete(clientId);
    await denied.load(pool, since, now());
    changesSeen += 1;
  }

  async function readChanges(): Promise<void> {
    const askedAtMs = performance.now();
    changesAsked = changes.value;
    const [answer] = (await pool.query<EpochRow>(READ_EPOCH)).rows;
    const answeredAtMs = performance.now();
    if (answer === undefined) throw new Error("bellhop.auth_epoch has no row: the migrations did not run");
    // The clock was read between request and response: their midpoint is wrong by at most half the round trip.
    clock = { databaseMs: answer.nowMs, readAtMs: (askedAtMs + answeredAtMs) / 2 };
    denied.forgottenUntil(answer.deletedUntilMs);
    if (answer.epoch !== epoch) await loadChanges(epoch);
    epoch = answer.epoch;
    knownAtMs = askedAtMs;
    changesKnown = changesAsked;
  }

  const refresh = singleFlight(readChanges);

  /** Loads every change committed before this call: here now, on the other threads of the process before their next use. */
  function renew(): Promise<void> {
    changes.increment();
    return refresh.runAgain();
  }

  /** Ensures that the copy is at most a second old: undefined if it is, otherwise a promise that rejects if the database is unavailable. */
  function freshen(): Promise<void> | undefined {
    // A thread of this process has made a change and reported it as effective.
    if (changesKnown !== changes.value) {
      return changesAsked === changes.value ? refresh.run() : refresh.runAgain();
    }
    const ageMs = performance.now() - knownAtMs;
    if (ageMs >= STALE_AFTER_MS) return refresh.run();
    // Ignoring a failure is safe: a caller after STALE_AFTER_MS refreshes again and receives the error.
    if (ageMs >= RENEW_AFTER_MS) refresh.run().catch(() => undefined);
    return undefined;
  }

  /** The key with this id if its tokens are valid. */
  const findKey = (kid: string) => liveOrNone(keys.get(kid), now());
  /**
   * `findKey`, which refreshes first if the id is unknown, because another node may just have created the key. A removed key does not come
   * back, and malformed ids are not looked up.
   */
  const findOrFetchKey = (kid: string) =>
    keys.has(kid) || !KEY_ID.test(kid)
      ? findKey(kid)
      : refresh.runThrottled(UNKNOWN_KEY_MS).then(() => findKey(kid));

  async function readClient(clientId: string): Promise<ClientFacts | undefined> {
    const changesBefore = changesSeen;
    const [row] = (await pool.query<ClientRow>({ ...READ_CLIENT_FACTS, values: [clientId] })).rows;
    if (row === undefined) return undefined;
    const facts: ClientFacts = { ...row, grants: arrangeGrants(row.grants) };
    // A concurrent change may concern this row: use it for this request only.
    if (changesBefore === changesSeen) clients.set(clientId, facts);
    return facts;
  }

  return {
    freshen,
    renew,
    /** Rises with each load of changes: while it is the same, a valid token keeps its permissions. */
    version: () => changesSeen,
    /** Loads the changes up to this epoch; undefined if they are loaded already. */
    reach: (wanted: string) => (BigInt(wanted) > BigInt(epoch) ? renew() : undefined),
    now,
    findKey,
    findOrFetchKey,
    /** The keys to publish: announced, active and retiring. */
    liveKeys: () => [...keys.values()].filter((key) => liveOrNone(key, now()) !== undefined),
    signingKey: () => chooseSigningKey(keys.values(), now()),
    /** The peppers. Throws before the first `renew`, and if the installation has none. */
    peppers() {
      if (peppers === undefined) throw new Error("the installation has no pepper yet");
      return peppers;
    },
    isDenied: (token: DatedToken) => denied.has(token),
    /** Synchronous if the client is cached. */
    findClient: (clientId: string) => currentOrNone(clients.get(clientId), now()) ?? readClient(clientId),
  };
}

/** The key if tokens signed with it are valid. */
function liveOrNone(key: SigningKey | undefined, nowMs: number): SigningKey | undefined {
  return key !== undefined && (key.removeAtMs === null || key.removeAtMs > nowMs) ? key : undefined;
}

/** The facts of a client until its certification ends. */
function currentOrNone(facts: ClientFacts | undefined, nowMs: number): ClientFacts | undefined {
  return facts === undefined || (facts.knownUntilMs ?? nowMs + 1) > nowMs ? facts : undefined;
}

/** Runs `start` at most once at a time. */
function singleFlight(start: () => Promise<void>) {
  let startedAtMs = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | undefined;
  let following: Promise<void> | undefined;

  /** Joins the run in progress. */
  function run(): Promise<void> {
    if (running !== undefined) return running;
    startedAtMs = performance.now();
    running = start().finally(() => {
      running = undefined;
    });
    return running;
  }

  /** Waits for a run that starts after this call: the one in progress may not see the caller's change. */
  function runAgain(): Promise<void> {
    if (running === undefined) return run();
    following ??= running
      .catch(() => undefined)
      .then(() => {
        following = undefined;
        return run();
      });
    return following;
  }

  /** `runAgain`, at least `everyMs` after the last start; waiting callers share it. */
  async function runThrottled(everyMs: number): Promise<void> {
    const calledAtMs = performance.now();
    const waitMs = startedAtMs + everyMs - calledAtMs;
    if (waitMs > 0) await delay(waitMs);
    if (startedAtMs < calledAtMs) await runAgain();
    else await running;
  }

  return { run, runAgain, runThrottled };
}

interface EpochRow {
  readonly epoch: string;
  readonly nowMs: number;
  readonly deletedUntilMs: number;
}

interface DatedToken {
  readonly tokenId: string;
  /** In seconds since 1970. */
  readonly issuedAt: number;
}

interface Denial {
  readonly jti: string;
  readonly expiresAtMs: number;
  readonly deniedAtMs: number;
}

/** Longer than any token lives, so that no live token is older than a forgotten denial. */
const DENIAL_OUTLIVES_MS = 2 * 3_600_000;

/**
 * The revoked tokens. Denials of long expired tokens are forgotten; a token that was issued before one of those was made counts as
 * denied: it can only be live if the clock was ahead and went back.
 */
class Denials {
  readonly #denials = new Map<string, Denial>();
  #forgottenUntilMs = Number.NEGATIVE_INFINITY;

  has({ tokenId, issuedAt }: DatedToken): boolean {
    return this.#denials.has(tokenId) || issuedAt * 1000 <= this.#forgottenUntilMs;
  }

  forgottenUntil(ms: number): void {
    this.#forgottenUntilMs = Math.max(this.#forgottenUntilMs, ms);
  }

  /** Adds the denials since an epoch. */
  async load(pool: Pool, since: string, nowMs: number): Promise<void> {
    const { rows } = await pool.query<Denial>({ ...LIST_DENIED_TOKENS, values: [since] });
    for (const denial of rows) this.#denials.set(denial.jti, denial);
    for (const { jti, expiresAtMs, deniedAtMs } of this.#denials.values()) {
      if (expiresAtMs + DENIAL_OUTLIVES_MS >= nowMs) continue;
      this.forgottenUntil(deniedAtMs);
      this.#denials.delete(jti);
    }
  }
}
