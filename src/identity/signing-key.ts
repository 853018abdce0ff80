import { createPrivateKey, generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { type CryptoKey, calculateJwkThumbprint, exportJWK, importJWK, type JWK } from "jose";
import type { Pool } from "pg";
import { decryptOrKnown, type SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { AuthChange } from "./audit.ts";

export const FIND_UNRETIRED_KEY = namedStatement(
  "find-unretired-key",
  `select kid from bellhop.signing_key where remove_at is null limit 1`,
);
/** Wipes the private part of a key a minute after its successor became active: it no longer signs and could only be stolen. */
export const WIPE_RETIRED_KEYS = namedStatement(
  "wipe-retired-private-keys",
  `update bellhop.signing_key old
  set private_key = null
  where old.private_key is not null
    and exists (
      select from bellhop.signing_key newer
      where newer.activate_at > old.activate_at and newer.activate_at < clock_timestamp() - interval '1 minute'
    )`,
);
const LIST_LIVE = namedStatement(
  "list-live-keys",
  `select kid,
    public_jwk as "publicJwk",
    private_key as "encryptedPrivateKey",
    extract(epoch from activate_at)::float8 * 1000 as "activateAtMs",
    extract(epoch from remove_at)::float8 * 1000 as "removeAtMs"
  from bellhop.signing_key
  where remove_at is null or remove_at > clock_timestamp()
  order by activate_at, kid`,
);
const INSERT = namedStatement(
  "insert-key",
  `insert into bellhop.signing_key (kid, public_jwk, private_key, activate_at)
  values ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
  returning activate_at as "activateAt"`,
);

/** ES256 (RFC 7518 §3.4): 500-byte tokens, verified in 0.1 ms without a shared secret. */
export const SIGNING_ALGORITHM = "ES256";

/** An announced, active or retiring key. Times are by the database's clock, in ms since 1970. */
export interface SigningKey {
  readonly kid: string;
  /** Published in /.well-known/jwks.json. */
  readonly publicJwk: JWK;
  readonly publicKey: CryptoKey;
  readonly privateKey: KeyObject | undefined;
  readonly activateAtMs: number;
  readonly removeAtMs: number | null;
}

interface KeyRow extends Omit<SigningKey, "publicKey" | "privateKey"> {
  readonly encryptedPrivateKey: string | null;
}

const generate = promisify(generateKeyPair);

const privateKeyName = (kid: string): string => `signing key ${kid}`;

/** Creates a key pair that becomes active after `activateInSeconds`; its id is its thumbprint (RFC 7638). */
export async function addSigningKey(
  change: AuthChange,
  cipher: SecretCipher,
  activateInSeconds: number,
): Promise<{ kid: string; activateAt: Date }> {
  const { publicKey, privateKey } = await generate("ec", { namedCurve: "P-256" });
  const jwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(jwk);
  const publicJwk: JWK = { ...jwk, kid, alg: SIGNING_ALGORITHM, use: "sig" };
  const encrypted = cipher.encrypt(privateKeyName(kid), privateKey.export({ format: "der", type: "pkcs8" }));
  const values = [kid, JSON.stringify(publicJwk), encrypted, activateInSeconds];
  const inserted = await change.connection.query<{ activateAt: Date }>({ ...INSERT, values });
  const activateAt = inserted.rows[0]?.activateAt;
  if (activateAt === undefined) throw new Error("a signing key was not inserted");
  return { kid, activateAt };
}

/**
 * Loads every announced, active or retiring key, ordered by activation. One that cannot be decrypted is taken from `known`, or only
 * verifies; if none is known, throws AuthSetupError.
 */
export async function loadSigningKeys(
  pool: Pool,
  cipher: SecretCipher,
  known: ReadonlyMap<string, SigningKey>,
): Promise<SigningKey[]> {
  const { rows } = await pool.query<KeyRow>(LIST_LIVE);
  return Promise.all(rows.map((row) => decryptKey(cipher, row, known)));
}

async function decryptKey(
  cipher: SecretCipher,
  { encryptedPrivateKey: encrypted, ...key }: KeyRow,
  known: ReadonlyMap<string, SigningKey>,
): Promise<SigningKey> {
  const { kid, publicJwk } = key;
  const publicKey = await importJWK(publicJwk, SIGNING_ALGORITHM);
  if (publicKey instanceof Uint8Array) throw new Error(`signing key ${kid} is not a public key`);
  const before = known.size === 0 ? undefined : { value: known.get(kid)?.privateKey };
  const open = (der: Buffer) => createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const privateKey =
    encrypted === null ? undefined : decryptOrKnown(cipher, privateKeyName(kid), encrypted, open, before);
  return { ...key, publicKey, privateKey };
}

/**
 * The key that signs: the last one activated. If none is active yet (the database's clock was set back), the first to become so, so that
 * tokens can still be issued.
 */
export function chooseSigningKey(keys: Iterable<SigningKey>, nowMs: number): SigningKey | undefined {
  const usable = [...keys]
    .filter((key) => key.privateKey !== undefined && (key.removeAtMs === null || key.removeAtMs > nowMs))
    .sort((left, right) => left.activateAtMs - right.activateAtMs);
  return usable.findLast((key) => key.activateAtMs <= nowMs) ?? usable[0];
}
