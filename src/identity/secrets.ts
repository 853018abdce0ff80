import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Pool } from "pg";
import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { decryptOrKnown, type SecretCipher } from "./secret-cipher.ts";

/**
 * Ids and secrets use only [A-Za-z0-9_-], so that Basic authentication reads the same whether the client encoded
 * its halves (RFC 6749 §2.3.1) or not. The prefixes let scanners of leaked text recognise what they found, and keep
 * an id from beginning with a dash, which a command line would take for an option.
 */
const CREDENTIAL_SHAPE = /^[A-Za-z0-9_-]{1,128}$/;

/** A new client id, such as `bhc_5Jr0…`: 96 random bits. */
export function newClientId(): string {
  return `bhc_${randomBytes(12).toString("base64url")}`;
}

/** A new secret: 256 random bits, so a fast keyed hash protects it as well as a slow one. */
export function newClientSecret(): string {
  return `bhs_${randomBytes(32).toString("base64url")}`;
}

/** True for text that could be a client id or secret of ours. */
export function looksLikeCredential(text: string): boolean {
  return CREDENTIAL_SHAPE.test(text);
}

/**
 * HMAC-SHA256 of the secret under a pepper of the installation, bound to the client id. 2 µs against 80-100 ms for
 * bcrypt, which protects guessable passwords; these secrets cannot be guessed.
 */
export function digestSecret(pepper: Buffer, clientId: string, secret: string): Buffer {
  return createHmac("sha256", pepper).update(`${clientId}\0${secret}`).digest();
}

/** The digest of a secret as it is stored, and the number of the pepper that it was made with; null of a digest that no secret has. */
export interface StoredSecret {
  readonly slot: number;
  readonly digest: Buffer;
  readonly pepper: number | null;
}

const NO_DIGEST = Buffer.alloc(32);

/**
 * The stored secret whose digest is that of the secret. Always hashes once for each pepper and compares twice, whatever there
 * is to compare with, so the time discloses neither whether the client exists nor how many secrets it has.
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

/** The first to add a value decides; everybody reads it afterwards. */
export const ADD_INSTANCE_VALUE = namedStatement(
  "add-instance-value",
  `insert into bellhop.instance (name, value) values ($1, $2) on conflict (name) do nothing`,
);
/** A statement: every pepper as it is stored. */
export const STORED_PEPPERS = `select coalesce(substring(name from 'auth\\.pepper\\.([0-9]+)'), '1')::integer as number, value
  from bellhop.instance
  where name = 'auth.pepper' or name ~ '^auth\\.pepper\\.[0-9]+$'`;
const LIST = namedStatement("list-peppers", STORED_PEPPERS);

/** The keys under which secrets are digested, by their numbers: one, or two while a rotation is under way. */
export interface Peppers {
  /** Of the digests that are made from now on: the greatest number. */
  readonly current: number;
  /** 32 random bytes each, the installation's own. */
  readonly keys: ReadonlyMap<number, Buffer>;
}

/** The name of a pepper among the values of the installation. The first one has none behind it: it was the only one once. */
export function nameOfPepper(number: number): string {
  return number === 1 ? "auth.pepper" : `auth.pepper.${number}`;
}

/** Stores a new pepper, unless one of this number is there. */
export async function addPepper(on: Queryable, cipher: SecretCipher, number: number): Promise<void> {
  const name = nameOfPepper(number);
  await on.query({ ...ADD_INSTANCE_VALUE, values: [name, cipher.encrypt(name, randomBytes(32))] });
}

/**
 * Reads the peppers; undefined where the installation has none yet. One that does not open is as it is `known`, or left out;
 * where none is known, that is thrown as AuthSetupError.
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

/** Makes the first pepper. With many nodes starting, the first one decides. */
export async function ensurePepper(pool: Pool, cipher: SecretCipher): Promise<void> {
  if ((await readPeppers(pool, cipher)) === undefined) await addPepper(pool, cipher, 1);
}

/** The key of a pepper that is known to be there: the current one has always one. */
export function pepperOf({ keys }: Peppers, number: number): Buffer {
  const key = keys.get(number);
  if (key === undefined) throw new Error(`there is no pepper ${number}`);
  return key;
}
