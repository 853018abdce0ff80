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
    this.#capacity = capacity;
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
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#capacity) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest as Key);
  }

  delete(key: Key): void {
    this.#entries.delete(key);
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

type ClientRow = Omit<ClientFacts, "grants"> & { readonly grants: readonly Grant[] };

export type Directory = ReturnType<typeof createDirectory>;

/**
 * Creates an empty directory: a thread's copy of keys, peppers, clients and denied tokens, at most a second old once `freshen` has said
 * so, and never older than the last `renew` on any thread of this process. It reads one row at most twice a second, and only while it is
 * used; more often for keys that it does not know. `changes` is shared by the directories of all threads: it counts the changes that any
 * of them made.
 */
export function createDirectory(pool: Pool, cipher: SecretCipher, changes: SharedCounter) {
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

  /** The database's clock, in ms since 1970. */
  const now = (): number => clock.databaseMs + (performance.now() - clock.readAtMs);

  async function takeChanges(since: string): Promise<void> {
    keys = new Map((await loadSigningKeys(pool, cipher, keys)).map((key) => [key.kid, key]));
    peppers = await readPeppers(pool, cipher, peppers);
    const changed = await pool.query<{ clientId: string }>({ ...LIST_CHANGED_CLIENTS, values: [since] });
    changesSeen += 1;
    for (const { clientId } of changed.rows) clients.delete(clientId);
    const fresh = await pool.query<{ jti: string; expiresAtMs: number }>({
      ...LIST_DENIED_TOKENS,
      values: [since],
    });
    for (const { jti, expiresAtMs } of fresh.rows) denied.set(jti, expiresAtMs);
    forgetDeadDenials(denied, now());
  }

  async function ask(): Promise<void> {
    const askedAtMs = performance.now();
    changesAsked = changes.value;
    const [answer] = (await pool.query<{ epoch: string; nowMs: number }>(READ_EPOCH)).rows;
    const answeredAtMs = performance.now();
    if (answer === undefined) throw new Error("bellhop.auth_epoch has no row: the migrations did not run");
    // The clock was read somewhere between question and answer: the middle is wrong by at most half of that.
    clock = { databaseMs: answer.nowMs, readAtMs: (askedAtMs + answeredAtMs) / 2 };
    if (answer.epoch !== epoch) await takeChanges(epoch);
    epoch = answer.epoch;
    knownAtMs = askedAtMs;
    changesKnown = changesAsked;
  }

  const question = askOneAtATime(ask);

  /** Takes in every change committed before this call, here at once and on the other threads before they use theirs. */
  function renew(): Promise<void> {
    changes.increment();
    return question.askAnew();
  }

  /** Makes sure that what is known is at most a second old: undefined when it is, else a promise that rejects without the database. */
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

  /** The key of this id if its tokens are good. */
  const findKey = (kid: string) => liveOrNone(keys.get(kid), now());
  /**
   * The same, and where no key of this id was ever heard of, the database is asked first: another node may just have made it. A key that
   * has ended does not come back, and what cannot be an id of ours is not looked for.
   */
  const lookForKey = (kid: string) =>
    keys.has(kid) || !KEY_ID.test(kid)
      ? findKey(kid)
      : question.askSeldom(UNKNOWN_KEY_MS).then(() => findKey(kid));

  async function readClient(clientId: string): Promise<ClientFacts | undefined> {
    const changesBefore = changesSeen;
    const [row] = (await pool.query<ClientRow>({ ...READ_CLIENT_FACTS, values: [clientId] })).rows;
    if (row === undefined) return undefined;
    const facts: ClientFacts = { ...row, grants: arrangeGrants(row.grants) };
    // Changes taken in while the row was read may concern it: then it serves this one request and is not kept.
    if (changesBefore === changesSeen) clients.set(clientId, facts);
    return facts;
  }

  return {
    freshen,
    renew,
    /** Takes in what had changed by this epoch: undefined where it is known. */
    reach: (wanted: string) => (BigInt(wanted) > BigInt(epoch) ? renew() : undefined),
    now,
    findKey,
    lookForKey,
    /** The keys to publish: announced, active and retiring. */
    liveKeys: () => [...keys.values()].filter((key) => liveOrNone(key, now()) !== undefined),
    signingKey: () => chooseSigningKey(keys.values(), now()),
    /** What secrets are digested with. Throws before the first renewal, and where the installation has none yet. */
    peppers() {
      if (peppers === undefined) throw new Error("the installation has no pepper yet");
      return peppers;
    },
    isDenied: (tokenId: string) => denied.has(tokenId),
    /** No promise where the client is known already. */
    findClient: (clientId: string) => currentOrNone(clients.get(clientId), now()) ?? readClient(clientId),
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

/** Asks one question at a time. */
function askOneAtATime(start: () => Promise<void>) {
  let startedAtMs = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | undefined;
  let following: Promise<void> | undefined;

  /** Joins the one under way. */
  function ask(): Promise<void> {
    if (running !== undefined) return running;
    startedAtMs = performance.now();
    running = start().finally(() => {
      running = undefined;
    });
    return running;
  }

  /** One that begins after this call: the one under way may have been answered before the caller's change. */
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

  /** The same, at least `everyMs` after the one before began; callers that wait share it. */
  async function askSeldom(everyMs: number): Promise<void> {
    const calledAtMs = performance.now();
    const waitMs = startedAtMs + everyMs - calledAtMs;
    if (waitMs > 0) await delay(waitMs);
    if (startedAtMs < calledAtMs) await askAnew();
    else await running;
  }

  return { ask, askAnew, askSeldom };
}

/** A denial is kept a minute longer than its token lives, well beyond the tolerance with which tokens are checked. */
const DENIAL_OUTLIVES_MS = 60_000;

function forgetDeadDenials(denied: Map<string, number>, nowMs: number): void {
  for (const [jti, expiresAtMs] of denied) if (expiresAtMs + DENIAL_OUTLIVES_MS < nowMs) denied.delete(jti);
}
