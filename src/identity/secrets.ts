import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Pool } from "pg";
import { decryptOrKnown, type SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";

/**
 * Ids and secrets use only [A-Za-z0-9_-], so Basic authentication reads the same whether or not the client form-encodes its halves
 * (RFC 6749 §2.3.1). The prefixes let secret scanners recognise them and keep an id from starting with a dash, as a CLI option does.
 */
const CREDENTIAL_SHAPE = /^[A-Za-z0-9_-]{1,128}$/;

/** A new client id, such as `bhc_5Jr0…`: 96 random bits. */
export function newClientId(): string {
  return `bhc_${randomBytes(12).toString("base64url")}`;
}

/** A new secret: 256 random bits, so a fast keyed hash is as safe as a slow one. */
export function newClientSecret(): string {
  return `bhs_${randomBytes(32).toString("base64url")}`;
}

/** Whether the text has the form of a client id or secret. */
export function looksLikeCredential(text: string): boolean {
  return CREDENTIAL_SHAPE.test(text);
}

/**
 * HMAC-SHA256 of the secret under a pepper, bound to the client id. Takes 2 µs; bcrypt would take 80-100 ms and is only needed for
 * guessable passwords.
 */
export function digestSecret(pepper: Buffer, clientId: string, secret: string): Buffer {
  return createHmac("sha256", pepper).update(`${clientId}\0${secret}`).digest();
}

/** A stored secret's digest and the number of its pepper; null if the digest matches no secret. */
export interface StoredSecret {
  readonly slot: number;
  readonly digest: Buffer;
  readonly pepper: number | null;
}

const NO_DIGEST = Buffer.alloc(32);

/**
 * The stored secret with this digest. Always hashes once per pepper and compares twice, so that the time discloses neither whether the
 * client exists nor how many secrets it has.
 */
export function matchSecret<Stored extends StoredSecret>(
  { keys }: Peppers,
  clientId: string,
  secret: string,
  stored: readonly Stored[],
): Stored | undefined {
  const digests = new Map([...keys].map(([number, key]) => [number, digestSecret(key, clientId, secret)]));
  let matched: Stored | undefined;
  for (const index of [0, 1]) {
    const candidate = stored[index];
    const digest = digests.get(candidate?.pepper ?? 0);
    const same = timingSafeEqual(digest ?? NO_DIGEST, candidate?.digest ?? NO_DIGEST);
    if (same && candidate !== undefined && digest !== undefined) matched = candidate;
  }
  return matched;
}

/** The first node to add a value decides it. */
export const ADD_INSTANCE_VALUE = namedStatement(
  "add-instance-value",
  `insert into bellhop.instance (name, value) values ($1, $2) on conflict (name) do nothing`,
);
/** SQL: every pepper as stored. */
export const STORED_PEPPERS = `select coalesce(substring(name from 'auth\\.pepper\\.([0-9]+)'), '1')::integer as number, value
  from bellhop.instance
  where name = 'auth.pepper' or name ~ '^auth\\.pepper\\.[0-9]+$'`;
const LIST = namedStatement("list-peppers", STORED_PEPPERS);

/** The keys under which secrets are digested, by number: one, or two during a rotation. */
export interface Peppers {
  /** The pepper of new digests: the highest number. */
  readonly current: number;
  /** 32 random bytes each. */
  readonly keys: ReadonlyMap<number, Buffer>;
}

/** The pepper's name in `bellhop.instance`. The first has no number, as there was only one at first. */
export function nameOfPepper(number: number): string {
  return number === 1 ? "auth.pepper" : `auth.pepper.${number}`;
}

/** Stores a new pepper unless the number exists. */
export async function addPepper(on: Queryable, cipher: SecretCipher, number: number): Promise<void> {
  const name = nameOfPepper(number);
  await on.query({ ...ADD_INSTANCE_VALUE, values: [name, cipher.encrypt(name, randomBytes(32))] });
}

/**
 * Reads the peppers; undefined if there are none. One that cannot be decrypted is taken from `known`, or omitted; without `known`, throws
 * AuthSetupError.
 */
export async function readPeppers(
  on: Queryable,
  cipher: SecretCipher,
  known?: Peppers,
): Promise<Peppers | undefined> {
  const { rows } = await on.query<{ number: number; value: string }>(LIST);
  const keys = new Map<number, Buffer>();
  for (const { number, value } of rows) {
    const before = known && { value: known.keys.get(number) };
    const key = decryptOrKnown(cipher, nameOfPepper(number), value, (plain) => plain, before);
    if (key !== undefined) keys.set(number, key);
  }
  return keys.size === 0 ? undefined : { current: Math.max(...keys.keys()), keys };
}

/** Creates the first pepper. If several nodes start together, the first one decides. */
export async function ensurePepper(pool: Pool, cipher: SecretCipher): Promise<void> {
  if ((await readPeppers(pool, cipher)) === undefined) await addPepper(pool, cipher, 1);
}

/** The key of a pepper that must exist. */
export function pepperOf({ keys }: Peppers, number: number): Buffer {
  const key = keys.get(number);
  if (key === undefined) throw new Error(`there is no pepper ${number}`);
  return key;
}
