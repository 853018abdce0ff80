import { createSecretKey, randomBytes, randomUUID } from "node:crypto";
import type pg from "pg";
import { namedStatement } from "../../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../../platform/db/transaction.ts";
import { Repeat } from "../../platform/runtime/repeat.ts";
import { type FindPayloadKey, findPayloadKeysBy, type PayloadKey } from "./stored-body.ts";

const READ_CURRENT = namedStatement(
  "read-current-payload-key",
  `select key_id as "keyId", sealed from bellhop.payload_key where retired_at is null`,
);
const FIND = namedStatement("find-payload-key", "select sealed from bellhop.payload_key where key_id = $1");
/** One is current: the first to come decides. */
const ADD = namedStatement(
  "add-payload-key",
  `insert into bellhop.payload_key (key_id, sealed) values ($1, $2) on conflict do nothing`,
);
/** Retires the current key if it is older than $1 days. It goes on opening what it sealed. */
const RETIRE = namedStatement(
  "retire-payload-key",
  `update bellhop.payload_key set retired_at = clock_timestamp()
  where retired_at is null and created_at <= clock_timestamp() - make_interval(days => $1)`,
);
const READ_ALL = namedStatement(
  "read-payload-keys",
  `select key_id as "keyId", sealed, retired_at is null as "isCurrent" from bellhop.payload_key`,
);
const LIST = namedStatement(
  "list-payload-keys",
  `select key_id as "keyId", created_at as "createdAt", retired_at as "retiredAt", sealed like 'plain:%' as "isReadable"
  from bellhop.payload_key
  order by created_at desc, key_id`,
);

/** Wraps keys for the database and opens them again; `name` is bound in (src/identity/seal.ts has it). */
export interface KeySealer {
  seal(name: string, plain: Buffer): string;
  open(name: string, sealed: string): Buffer;
}

/** A data key as its operator sees it. Times are of the database's clock. */
export interface PayloadKeySummary {
  readonly keyId: string;
  readonly createdAt: Date;
  /** Since then nothing is sealed with it any more. */
  readonly retiredAt: Date | null;
  /** It lies in the database without KEY_ENCRYPTION_KEY. */
  readonly isReadable: boolean;
}

/** A data key as it lies in the database. */
export interface StoredPayloadKey {
  readonly keyId: string;
  readonly sealed: string;
  /** New parts are sealed with it. */
  readonly isCurrent: boolean;
}

const KEY_BYTES = 32;

const nameOf = (keyId: string): string => `payload key ${keyId}`;

/** The key that new parts are sealed with; undefined where there is none yet. Throws where it does not open. */
export async function readPayloadKey(on: Queryable, sealer: KeySealer): Promise<PayloadKey | undefined> {
  const { rows } = await on.query<{ keyId: string; sealed: string }>(READ_CURRENT);
  const [row] = rows;
  return row && { keyId: row.keyId, key: createSecretKey(sealer.open(nameOf(row.keyId), row.sealed)) };
}

/** Looks keys up by their id, retired ones too. */
export function payloadKeyFinder(on: Queryable, sealer: KeySealer): FindPayloadKey {
  return async (keyId) => {
    const { rows } = await on.query<{ sealed: string }>({ ...FIND, values: [keyId] });
    return rows[0] && createSecretKey(sealer.open(nameOf(keyId), rows[0].sealed));
  };
}

/** Makes the first key where none is current; answers its id, and undefined where there is one. */
export async function makePayloadKey(on: Queryable, sealer: KeySealer): Promise<string | undefined> {
  const keyId = randomUUID();
  const sealed = sealer.seal(nameOf(keyId), randomBytes(KEY_BYTES));
  return (await on.query({ ...ADD, values: [keyId, sealed] })).rowCount === 1 ? keyId : undefined;
}

/**
 * Puts a new key in the place of the current one if that is older than `days` (0: whatever its age); answers the new one's
 * id. Undefined where it is younger, there is none, or another node was first. What lies in the log keeps its key.
 */
export function rotatePayloadKey(
  pool: pg.Pool,
  sealer: KeySealer,
  days: number,
): Promise<string | undefined> {
  return withTransaction(pool, async (client) => {
    const retired = await client.query({ ...RETIRE, values: [days] });
    return retired.rowCount === 1 ? await makePayloadKey(client, sealer) : undefined;
  });
}

/**
 * Opens each payload key before anything reads parts that it encrypts. Throws if the current key does not open;
 * calls `shut` with each retired key that does not, as no part may depend on it any more.
 */
export function openEachPayloadKey(
  keys: readonly StoredPayloadKey[],
  sealer: KeySealer,
  shut: (keyId: string) => void,
): void {
  for (const { keyId, sealed, isCurrent } of keys) {
    try {
      sealer.open(nameOf(keyId), sealed);
    } catch (error) {
      if (isCurrent) throw error;
      shut(keyId);
    }
  }
}

/** Every data key as it lies in the database, retired ones too. */
export async function readStoredPayloadKeys(on: Queryable): Promise<StoredPayloadKey[]> {
  return (await on.query<StoredPayloadKey>(READ_ALL)).rows;
}

/** Every data key there is, the newest first. */
export async function listPayloadKeys(on: Queryable): Promise<PayloadKeySummary[]> {
  return (await on.query<PayloadKeySummary>(LIST)).rows;
}

/** A key that another node made is taken up so late; until then parts are sealed with the one before it. */
const RENEW_MS = 5_000;

/**
 * The data key that this thread seals parts with, followed as it changes until it is stopped. Undefined while there is none:
 * ENCRYPT_PAYLOADS is off, or a node is present that could not open it (keep-keys.ts makes the first one). Throws where it does not open.
 */
export async function followPayloadKey(
  pool: pg.Pool,
  sealer: KeySealer,
  failed: (error: unknown) => void,
): Promise<{ key(): PayloadKey | undefined; stop(): Promise<void> }> {
  let key = await readPayloadKey(pool, sealer);
  const renew = async () => {
    key = await readPayloadKey(pool, sealer);
  };
  const repeat = new Repeat(renew, RENEW_MS, failed);
  return { key: () => key, stop: () => repeat.stop() };
}

/** Has the records of sealed parts open on this thread; until the answered function is called. */
export function openSealedPayloads(pool: pg.Pool, sealer: KeySealer): () => void {
  return findPayloadKeysBy(payloadKeyFinder(pool, sealer));
}
