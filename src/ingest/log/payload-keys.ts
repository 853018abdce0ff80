import { createSecretKey, randomBytes, randomUUID } from "node:crypto";
import type pg from "pg";
import type { SecretCipher } from "../../platform/crypto/secret-cipher.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../../platform/db/transaction.ts";
import { Repeat } from "../../platform/runtime/repeat.ts";
import type { PayloadKey } from "./encrypt-body.ts";
import { type FindPayloadKey, findPayloadKeysBy } from "./open-layout.ts";

const READ_CURRENT = namedStatement(
  "read-current-payload-key",
  `select key_id as "keyId", encrypted_key as encrypted from bellhop.payload_key where retired_at is null`,
);
const FIND = namedStatement(
  "find-payload-key",
  `select encrypted_key as encrypted from bellhop.payload_key where key_id = $1`,
);
/** A unique index allows one current key, so of several nodes the first wins. */
const ADD = namedStatement(
  "add-payload-key",
  `insert into bellhop.payload_key (key_id, encrypted_key) values ($1, $2) on conflict do nothing`,
);
/** Retires the current key if it is older than $1 days. It still decrypts what it encrypted. */
const RETIRE = namedStatement(
  "retire-payload-key",
  `update bellhop.payload_key set retired_at = clock_timestamp()
  where retired_at is null and created_at <= clock_timestamp() - make_interval(days => $1)`,
);
const READ_ALL = namedStatement(
  "read-payload-keys",
  `select key_id as "keyId", encrypted_key as encrypted, retired_at is null as "isCurrent" from bellhop.payload_key`,
);
const LIST = namedStatement(
  "list-payload-keys",
  `select key_id as "keyId", created_at as "createdAt", retired_at as "retiredAt", encrypted_key like 'plain:%' as "isReadable"
  from bellhop.payload_key
  order by created_at desc, key_id`,
);

/** A data key as shown to operators. Times are of the database's clock. */
export interface PayloadKeySummary {
  readonly keyId: string;
  readonly createdAt: Date;
  /** A retired key encrypts nothing new. */
  readonly retiredAt: Date | null;
  /** Stored without encryption, as KEY_ENCRYPTION_KEY was not set. */
  readonly isReadable: boolean;
}

/** A row of `bellhop.payload_key`. */
export interface StoredPayloadKey {
  readonly keyId: string;
  readonly encrypted: string;
  readonly isCurrent: boolean;
}

const KEY_BYTES = 32;

const nameOf = (keyId: string): string => `payload key ${keyId}`;

/** Reads the current key; undefined if there is none. Throws if it cannot be decrypted. */
export async function readPayloadKey(on: Queryable, cipher: SecretCipher): Promise<PayloadKey | undefined> {
  const { rows } = await on.query<{ keyId: string; encrypted: string }>(READ_CURRENT);
  const [row] = rows;
  return row && { keyId: row.keyId, key: createSecretKey(cipher.decrypt(nameOf(row.keyId), row.encrypted)) };
}

/** Finds keys by id, including retired ones. */
export function payloadKeyFinder(on: Queryable, cipher: SecretCipher): FindPayloadKey {
  return async (keyId) => {
    const { rows } = await on.query<{ encrypted: string }>({ ...FIND, values: [keyId] });
    return rows[0] && createSecretKey(cipher.decrypt(nameOf(keyId), rows[0].encrypted));
  };
}

/** Creates a key if none is current, and returns its id; undefined if there is one. */
export async function makePayloadKey(on: Queryable, cipher: SecretCipher): Promise<string | undefined> {
  const keyId = randomUUID();
  const encrypted = cipher.encrypt(nameOf(keyId), randomBytes(KEY_BYTES));
  return (await on.query({ ...ADD, values: [keyId, encrypted] })).rowCount === 1 ? keyId : undefined;
}

/**
 * Replaces the current key if it is at least `days` old, and returns the id of the new one. Undefined if it is younger, there is
 * none, or another node was first. Existing parts keep their key.
 */
export function rotatePayloadKey(
  pool: pg.Pool,
  cipher: SecretCipher,
  days: number,
): Promise<string | undefined> {
  return withTransaction(pool, async (client) => {
    const retired = await client.query({ ...RETIRE, values: [days] });
    return retired.rowCount === 1 ? await makePayloadKey(client, cipher) : undefined;
  });
}

/** Throws if the current payload key cannot be decrypted. Calls `failed` for retired ones, which the log may no longer need. */
export function decryptEachPayloadKey(
  keys: readonly StoredPayloadKey[],
  cipher: SecretCipher,
  failed: (keyId: string) => void,
): void {
  for (const { keyId, encrypted, isCurrent } of keys) {
    try {
      cipher.decrypt(nameOf(keyId), encrypted);
    } catch (error) {
      if (isCurrent) throw error;
      failed(keyId);
    }
  }
}

export async function readStoredPayloadKeys(on: Queryable): Promise<StoredPayloadKey[]> {
  return (await on.query<StoredPayloadKey>(READ_ALL)).rows;
}

/** All data keys, newest first. */
export async function listPayloadKeys(on: Queryable): Promise<PayloadKeySummary[]> {
  return (await on.query<PayloadKeySummary>(LIST)).rows;
}

/** Interval at which a new key of another node is read; until then the previous key is used. */
const RENEW_MS = 5_000;

/**
 * Follows the current data key until stopped. It is undefined while ENCRYPT_PAYLOADS is off or a node is present that could not
 * decrypt it (see keep-keys.ts). Throws if the key cannot be decrypted.
 */
export async function followPayloadKey(
  pool: pg.Pool,
  cipher: SecretCipher,
  failed: (error: unknown) => void,
): Promise<{ key(): PayloadKey | undefined; stop(): Promise<void> }> {
  let key = await readPayloadKey(pool, cipher);
  const renew = async () => {
    key = await readPayloadKey(pool, cipher);
  };
  const repeat = new Repeat(renew, RENEW_MS, failed);
  return { key: () => key, stop: () => repeat.stop() };
}

/** Lets this thread decrypt encrypted parts until the returned function is called. */
export function registerPayloadKeys(pool: pg.Pool, cipher: SecretCipher): () => void {
  return findPayloadKeysBy(payloadKeyFinder(pool, cipher));
}
