import { setTimeout as delay } from "node:timers/promises";
import type { Pool } from "pg";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { SharedCounter } from "../platform/runtime/shared-memory.ts";
import { arrangeGrants, type Grant, type Grants } from "./permissions.ts";
import type { SecretCipher } from "./secret-cipher.ts";
import { type Peppers, readPeppers } from "./secrets.ts";
import { chooseSigningKey, loadSigningKeys, type SigningKey } from "./signing-key.ts";

/** A Map that never holds more than `capacity` entries: a new one pushes out the one used longest ago. */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #capacity: number;

  constructor(capacity: number) {
    if (!Number.isInteger(capacity) || capacity < 1)
      throw new RangeError("capacity must be a whole number from 1");
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value, which counts as used now. */
  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    // A Map keeps the order of insertion, so its first entry is the one used longest ago.
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#capacity) {
      const oldest = this.#entries.keys().next();
      if (oldest.done !== true) this.#entries.delete(oldest.value);
    }
    this.#entries.set(key, value);
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}

/**
 * Asked at most twice a second by each thread, but for keys that are unknown to it. The clock comes with it: tokens are dated by
 * the database's clock alone.
 */
const READ_EPOCH = namedStatement(
  "read-auth-epoch",
  `select epoch::text as epoch, extract(epoch from clock_timestamp())::float8 * 1000 as "nowMs" from bellhop.auth_epoch`,
);
const LIST_CHANGED_CLIENTS = namedStatement(
  "list-changed-clients",
  `select client_id as "clientId" from bellhop.client where changed_epoch > $1`,
);
const LIST_DENIED_TOKENS = namedStatement(
  "list-denied-tokens",
  `select jti, extract(epoch from expires_at)::float8 * 1000 as "expiresAtMs"
  from bellhop.denied_token
  where changed_epoch > $1 and expires_at > clock_timestamp()`,
);
const READ_CLIENT_FACTS = readStatement(new URL("./sql/read-client-facts.sql", import.meta.url));

/** Knowledge older than this is renewed before it is used: how late another node's revocation can take effect. */
export const STALE_AFTER_MS = 1000;

/** From here on knowledge is renewed behind a request's back, so that under steady traffic none waits for it. */
const RENEW_AFTER_MS = 500;

/** Ids of keys that nobody has heard of make a thread ask at most so often; who invents some waits as long and costs no more. */
const UNKNOWN_KEY_MS = 50;

/** The thumbprint of a key (RFC 7638): 32 bytes in base64url. */
const KEY_ID = /^[\w-]{43}$/;

/** Clients kept in memory. Only holders of a good token get in; one that was pushed out costs one query to come back. */
const CLIENTS_MAX = 20_000;

/** What a node needs to know of a client to answer its requests. */
export interface ClientFacts {
  readonly scopes: readonly string[];
  readonly requestRate: number | null;
  readonly requestBurst: number | null;
  readonly replyToOrigins: readonly string[];
  readonly revoked: boolean;
  /** The certification of the client that is open; null where none is, as nearly always. */
  readonly certificationId: string | null;
  /** When it ends, by the database's clock: no change of the client says so. */
  readonly knownUntilMs: number | null;
  readonly grants: Grants;
}

/**
 * A thread's copy of keys, peppers, clients and denied tokens: at most a second old once `freshen` has said so, and never older than
 * the last `renew` on any thread of this process.
 */
export interface Directory {
  /**
   * Makes sure that what is known is at most a second old: undefined when it is, else a promise that rejects when the
   * database cannot be asked.
   */
  freshen(): Promise<void> | undefined;
  /** Takes in every change committed before this call, here at once and on the other threads before they use theirs. */
  renew(): Promise<void>;
  /** Takes in what had changed by this epoch: undefined where it is known. */
  reach(epoch: string): Promise<void> | undefined;
  /** The database's clock, in ms since 1970. */
  now(): number;
  /** The key of this id if its tokens are good. */
  findKey(kid: string): SigningKey | undefined;
  /** The same, and where no key of this id was ever heard of, the database is asked first: another node may just have made it. */
  lookForKey(kid: string): SigningKey | undefined | Promise<SigningKey | undefined>;
  /** The keys to publish: announced, active and retiring. */
  liveKeys(): SigningKey[];
  signingKey(): SigningKey | undefined;
  /** What secrets are digested with. Throws before the first renewal, and where the installation has none yet. */
  peppers(): Peppers;
  isDenied(tokenId: string): boolean;
  /** No promise where the client is known already. */
  findClient(clientId: string): ClientFacts | Promise<ClientFacts | undefined>;
}

type ClientRow = Omit<ClientFacts, "grants"> & { readonly grants: readonly Grant[] };

/**
 * Creates an empty directory. It reads one row at most twice a second, and only while it is used; more often for keys that it
 * does not know. `changes` is shared by the directories of all threads: it counts the changes that any of them made.
 */
export function createDirectory(pool: Pool, cipher: SecretCipher, changes: SharedCounter): Directory {
  const clients = new BoundedMap<string, ClientFacts>(CLIENTS_MAX);
  const denied = new Map<string, number>();
  let keys = new Map<string, SigningKey>();
  let peppers: Peppers | undefined;
  let epoch = "-1";
  let changesSeen = 0;
  let knownAtMs = Number.NEGATIVE_INFINITY;
  let clock = { databaseMs: Number.NaN, readAtMs: Number.NaN };
  let changesKnown = changes.value;
  let changesAsked = changesKnown;

  const now = (): number => clock.databaseMs + (performance.now() - clock.readAtMs);

  async function takeChanges(since: string): Promise<void> {
    keys = new Map((await loadSigningKeys(pool, cipher, keys)).map((key) => [key.kid, key]));
    peppers = await readPeppers(pool, cipher, peppers);
    const changed = await pool.query<{ clientId: string }>({ ...LIST_CHANGED_CLIENTS, values: [since] });
    changesSeen += 1;
    for (const { clientId } of changed.rows) clients.delete(clientId);
    const fresh = await pool.query<Denial>({ ...LIST_DENIED_TOKENS, values: [since] });
    takeDenials(denied, fresh.rows, now());
  }

  async function ask(): Promise<void> {
    const askedAtMs = performance.now();
    changesAsked = changes.value;
    const asked = changesAsked;
    const { rows } = await pool.query<{ epoch: string; nowMs: number }>(READ_EPOCH);
    const answer = rows[0];
    const answeredAtMs = performance.now();
    if (answer === undefined) throw new Error("bellhop.auth_epoch has no row: the migrations did not run");
    // The clock was read somewhere between question and answer: the middle is wrong by at most half of that.
    clock = { databaseMs: answer.nowMs, readAtMs: (askedAtMs + answeredAtMs) / 2 };
    if (answer.epoch !== epoch) await takeChanges(epoch);
    epoch = answer.epoch;
    knownAtMs = askedAtMs;
    changesKnown = asked;
  }

  const question = askOneAtATime(ask);

  function renew(): Promise<void> {
    changes.increment();
    return question.askAnew();
  }

  function freshen(): Promise<void> | undefined {
    // Another thread of this process made a change and answered that it has taken effect.
    if (changesKnown !== changes.value) {
      return changesAsked === changes.value ? question.ask() : question.askAnew();
    }
    const ageMs = performance.now() - knownAtMs;
    if (ageMs >= STALE_AFTER_MS) return question.ask();
    // A failure is not lost: the next caller past STALE_AFTER_MS asks again and gets it.
    if (ageMs >= RENEW_AFTER_MS) question.ask().catch(() => undefined);
    return undefined;
  }

  const findKey = (kid: string) => liveOrNone(keys.get(kid), now());
  // A key that has ended does not come back, and what cannot be an id of ours is not looked for.
  const lookForKey = (kid: string) =>
    keys.has(kid) || !KEY_ID.test(kid)
      ? findKey(kid)
      : question.askSeldom(UNKNOWN_KEY_MS).then(() => findKey(kid));

  async function readClient(clientId: string): Promise<ClientFacts | undefined> {
    const changesBefore = changesSeen;
    const { rows } = await pool.query<ClientRow>({ ...READ_CLIENT_FACTS, values: [clientId] });
    const row = rows[0];
    if (row === undefined) return undefined;
    const facts: ClientFacts = { ...row, grants: arrangeGrants(row.grants) };
    // Changes taken in while the row was read may concern it: then it serves this one request and is not kept.
    if (changesBefore === changesSeen) clients.set(clientId, facts);
    return facts;
  }

  return {
    freshen,
    renew,
    reach: (wanted) => (BigInt(wanted) > BigInt(epoch) ? renew() : undefined),
    now,
    findKey,
    lookForKey,
    liveKeys: () => [...keys.values()].filter((key) => liveOrNone(key, now()) !== undefined),
    signingKey: () => chooseSigningKey(keys.values(), now()),
    peppers() {
      if (peppers === undefined) throw new Error("the installation has no pepper yet");
      return peppers;
    },
    isDenied: (tokenId) => denied.has(tokenId),
    findClient: (clientId) => currentOrNone(clients.get(clientId), now()) ?? readClient(clientId),
  };
}

/** The key while tokens signed with it are good. */
function liveOrNone(key: SigningKey | undefined, nowMs: number): SigningKey | undefined {
  return key !== undefined && (key.removeAtMs === null || key.removeAtMs > nowMs) ? key : undefined;
}

/** The facts of a client until they end by themselves. */
function currentOrNone(facts: ClientFacts | undefined, nowMs: number): ClientFacts | undefined {
  return facts === undefined || (facts.knownUntilMs ?? nowMs + 1) > nowMs ? facts : undefined;
}

interface OneQuestion {
  /** Joins the one under way. */
  ask(): Promise<void>;
  /** One that begins after this call. */
  askAnew(): Promise<void>;
  /** The same, at least `everyMs` after the one before began; callers that wait share it. */
  askSeldom(everyMs: number): Promise<void>;
}

/** Asks one question at a time. */
function askOneAtATime(start: () => Promise<void>): OneQuestion {
  let startedAtMs = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | undefined;
  let following: Promise<void> | undefined;

  function ask(): Promise<void> {
    if (running !== undefined) return running;
    startedAtMs = performance.now();
    running = start().finally(() => {
      running = undefined;
    });
    return running;
  }

  /** A question already under way may have been answered before the caller's change: another must follow it. */
  function askAnew(): Promise<void> {
    if (running === undefined) return ask();
    following ??= running
      .catch(() => undefined)
      .then(() => {
        following = undefined;
        return ask();
      });
    return following;
  }

  async function askSeldom(everyMs: number): Promise<void> {
    const calledAtMs = performance.now();
    const waitMs = startedAtMs + everyMs - calledAtMs;
    if (waitMs > 0) await delay(waitMs);
    if (startedAtMs < calledAtMs) await askAnew();
    else await running;
  }

  return { ask, askAnew, askSeldom };
}

interface Denial {
  readonly jti: string;
  readonly expiresAtMs: number;
}

/** Adds denials to those that are known, and forgets those whose tokens are long dead. */
function takeDenials(known: Map<string, number>, fresh: readonly Denial[], nowMs: number): void {
  for (const { jti, expiresAtMs } of fresh) known.set(jti, expiresAtMs);
  for (const [jti, expiresAtMs] of known) if (expiresAtMs + DENIAL_OUTLIVES_MS < nowMs) known.delete(jti);
}

/** A denial is kept a minute longer than its token lives, well beyond the tolerance with which tokens are checked. */
const DENIAL_OUTLIVES_MS = 60_000;
