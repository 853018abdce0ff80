import { createHash } from "node:crypto";
import type { Pool } from "pg";
import { decryptOrKnown, type SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { namedStatement, readStatement, type Statement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { TOKEN_LEEWAY_SECONDS, TOKEN_SECONDS } from "./access-token.ts";
import { type AuthAdmin, AuthInputError, demand, isWhole } from "./admin.ts";
import { type AuthChange, changeAuth, recordAudit } from "./audit.ts";
import { addSigningKey, FIND_UNRETIRED_KEY, WIPE_RETIRED_KEYS } from "./signing-key.ts";

/**
 * Whether the signing key must be replaced. `old`: no announced or active key was created within the last $1 days (0: never). `readable`:
 * if keys are encrypted now ($2), such a key is stored unencrypted; copies remain in dead rows, WAL and backups.
 */
const IS_DUE = namedStatement(
  "is-key-due",
  `select
    $1::integer > 0 and not exists (
      select from bellhop.signing_key
      where remove_at is null and created_at > clock_timestamp() - make_interval(days => $1)
    ) as "isOld",
    $2::boolean and exists (
      select from bellhop.signing_key where remove_at is null and private_key like 'plain:%'
    ) as "isReadable"`,
);
const LIST_ALL = readStatement(new URL("./sql/list-all-keys.sql", import.meta.url));
/** Retires every key except the new one ($1), $2 seconds after the new one becomes active, when its tokens have expired. */
const RETIRE_OTHERS = namedStatement(
  "retire-other-keys",
  `update bellhop.signing_key old
  set remove_at = least(
    coalesce(old.remove_at, 'infinity'),
    (select activate_at from bellhop.signing_key where kid = $1) + make_interval(secs => $2)
  )
  where kid <> $1 and (old.remove_at is null or old.remove_at > clock_timestamp())
  returning kid`,
);
/** Invalidates everything that the key signed and deletes its private part. */
const REVOKE = namedStatement(
  "revoke-key",
  `update bellhop.signing_key
  set remove_at = clock_timestamp(), private_key = null
  where kid = $1 and (remove_at is null or remove_at > clock_timestamp())
  returning kid`,
);

/**
 * How long a new key is published before it signs. Nodes know it within a second; other verifiers cache keys for ten minutes (the default
 * of jose) and must refetch them first.
 */
const KEY_ANNOUNCE_SECONDS = 900;

/** After a leak: just long enough for every node to load the new key. */
const LEAKED_ANNOUNCE_SECONDS = 5;

/** How long the tokens of the previous key stay valid: their lifetime and a minute. */
const KEY_RETIRE_SECONDS = TOKEN_SECONDS + TOKEN_LEEWAY_SECONDS + 60;

const ANNOUNCE_SECONDS_MAX = 30 * 86_400;

/** A signing key as shown to an operator. */
export interface KeySummary {
  readonly kid: string;
  readonly state: "announced" | "active" | "retiring" | "removed";
  readonly createdAt: Date;
  readonly activateAt: Date;
  readonly removeAt: Date | null;
  /** How the database stores the private part. */
  readonly privatePart: "encrypted" | "readable" | "wiped";
}

interface KeyRotation {
  readonly kid: string;
  /** When the new key starts to sign. */
  readonly activateAt: Date;
  /** Keys whose tokens stay valid until the end of the retire window. */
  readonly retiring: readonly string[];
}

/** All keys, newest first, including removed ones. */
export async function listKeys({
  internals,
}: {
  readonly internals: Pick<AuthAdmin["internals"], "pool">;
}): Promise<KeySummary[]> {
  return (await internals.pool.query<KeySummary>(LIST_ALL)).rows;
}

/**
 * Replaces the signing key in three phases: announced (published, does not sign), active, retiring (does not sign, its tokens are valid),
 * so that no valid token is refused. With `leaked`, the new key takes over within seconds and tokens under all other keys are refused from
 * then on. Throws AuthInputError while another rotation is announced, or if a running node could not decrypt the new key.
 */
export async function rotateKey(
  { internals, who }: AuthAdmin,
  {
    leaked = false,
    announceSeconds = leaked ? LEAKED_ANNOUNCE_SECONDS : KEY_ANNOUNCE_SECONDS,
  }: { readonly announceSeconds?: number | undefined; readonly leaked?: boolean } = {},
): Promise<KeyRotation> {
  // With a shorter window than the nodes' refresh interval, a node could refuse a token that another has just signed.
  demand(
    isWhole(announceSeconds, LEAKED_ANNOUNCE_SECONDS, ANNOUNCE_SECONDS_MAX),
    `The announce window must be ${LEAKED_ANNOUNCE_SECONDS} seconds to 30 days.`,
  );
  await requireOpenable(internals);
  return changeAuth(internals, async (change) => {
    if (!leaked) await refuseWhileAnnounced(change);
    return replaceKey(change, { internals, who }, announceSeconds, leaked ? "leaked" : "asked");
  });
}

async function refuseWhileAnnounced({ connection }: AuthChange): Promise<void> {
  const keys = await connection.query<KeySummary>(LIST_ALL);
  const announced = keys.rows.find((key) => key.state === "announced");
  if (announced === undefined) return;
  throw new AuthInputError(
    `The key ${announced.kid} is already announced and signs from ${announced.activateAt.toISOString()}.`,
  );
}

async function replaceKey(
  change: AuthChange,
  { internals, who }: AuthAdmin,
  announceSeconds: number,
  because: "asked" | "leaked" | RotationCause,
): Promise<KeyRotation> {
  const leaked = because === "leaked";
  await change.connection.query(WIPE_RETIRED_KEYS);
  const { kid, activateAt } = await addSigningKey(change, internals.cipher, announceSeconds);
  const values = [kid, leaked ? 0 : KEY_RETIRE_SECONDS];
  const retired = await change.connection.query<{ kid: string }>({ ...RETIRE_OTHERS, values });
  const retiring = retired.rows.map((row) => row.kid);
  await change.audit({ who, what: "rotate-key", detail: { kid, activateAt, retiring, leaked, because } });
  return { kid, activateAt, retiring };
}

/** Why the service replaces the signing key: it is too old, or stored unencrypted although KEY_ENCRYPTION_KEY is set. */
type RotationCause = "old" | "readable";

/**
 * Replaces the signing key as `rotateKey` does if the newest is older than `days` (0: no limit) or one is stored unencrypted that would be
 * encrypted today. Undefined otherwise. If several nodes call it at once, one replaces the key.
 */
export async function rotateKeyWhenDue(
  admin: AuthAdmin,
  days: number,
): Promise<(KeyRotation & { readonly because: RotationCause }) | undefined> {
  const { pool, cipher } = admin.internals;
  const findCause = async (on: Queryable): Promise<RotationCause | undefined> => {
    const values = [days, cipher.encrypts];
    const { rows } = await on.query<{ isOld: boolean; isReadable: boolean }>({ ...IS_DUE, values });
    if (rows[0]?.isReadable === true) return "readable";
    return rows[0]?.isOld === true ? "old" : undefined;
  };
  // Check without the lock first: called often, and rarely due.
  if ((await findCause(pool)) === undefined) return undefined;
  return changeAuth(admin.internals, async (change) => {
    const because = await findCause(change.connection);
    if (because === undefined) return undefined;
    return { ...(await replaceKey(change, admin, KEY_ANNOUNCE_SECONDS, because)), because };
  });
}

/**
 * Invalidates everything that a key signed, on this node at once and on others within a second. If no key remains that may sign, creates
 * one that signs at once. Throws AuthInputError if the key is unknown or removed already, or if a running node could not decrypt a new one.
 */
export async function revokeKey(
  { internals, who }: AuthAdmin,
  kid: string,
): Promise<{ readonly kid: string; readonly replacedBy: string | null }> {
  await requireOpenable(internals);
  return changeAuth(internals, async (change) => {
    const { connection } = change;
    const { rowCount } = await connection.query({ ...REVOKE, values: [kid] });
    demand(rowCount === 1, `No key ${JSON.stringify(kid)} has valid tokens (see bellhop key list).`);
    const left = await connection.query(FIND_UNRETIRED_KEY);
    const replacedBy = left.rowCount === 0 ? (await addSigningKey(change, internals.cipher, 0)).kid : null;
    await change.audit({ who, what: "revoke-key", detail: { kid, replacedBy } });
    return { kid, replacedBy };
  });
}

/** Throws AuthInputError if a running node could not decrypt what is encrypted now. */
export async function requireOpenable({ pool, config }: AuthAdmin["internals"]): Promise<void> {
  const refusal = await missingKeyMessage(pool, config.keyEncryptionKey);
  if (refusal !== undefined) throw new AuthInputError(refusal);
}

const ANNOUNCE = namedStatement(
  "announce-knowledge",
  `select pg_advisory_lock_shared($1::integer, known) from unnest($2::integer[]) as known`,
);
const FIND_WITHOUT = readStatement(new URL("./sql/find-nodes-without.sql", import.meta.url));

/**
 * Class of the advisory locks by which nodes announce what they know, so that nothing is stored in a form that a node cannot read. A node's
 * own session (src/service/node-presence.ts) holds them as shared locks, which end with it. The number is arbitrary.
 */
export const KNOWLEDGE_LOCKS = 73_020_270;

/** Advisory lock key for knowledge of a KEY_ENCRYPTION_KEY (base64): 31 bits of its hash, which reveal nothing useful. */
export function knowledgeOfKey(keyEncryptionKey: string): number {
  const key = Buffer.from(keyEncryptionKey, "base64");
  return createHash("sha256").update("bellhop knowledge\0").update(key).digest().readUInt32BE() >>> 1;
}

/** Advisory lock key for the addresses of an installation: nodes of one installation announce the same. */
export function knowledgeOfAddresses({ baseUrl, authUrl }: AddressSettings): number {
  const text = JSON.stringify([baseUrl ?? null, authUrl ?? baseUrl ?? null]);
  return createHash("sha256").update("bellhop addresses\0").update(text).digest().readUInt32BE() >>> 1;
}

/** BASE_URL and AUTH_URL, where they are set. */
interface AddressSettings {
  readonly baseUrl: string | undefined;
  readonly authUrl: string | undefined;
}

/** Error message naming the nodes that cannot decrypt what is encrypted now; undefined if all can. */
export async function missingKeyMessage(
  on: Queryable,
  keyEncryptionKey: string | undefined,
): Promise<string | undefined> {
  if (keyEncryptionKey === undefined) return undefined;
  const nodes = await nodesWithout(on, knowledgeOfKey(keyEncryptionKey));
  return nodes.length === 0 ? undefined : `Running nodes lack this KEY_ENCRYPTION_KEY: ${nodes.join(", ")}.`;
}

/** Announces knowledge for the lifetime of this session. */
export async function announceKnowledge(session: Queryable, knowledge: readonly number[]): Promise<void> {
  await session.query({ ...ANNOUNCE, values: [KNOWLEDGE_LOCKS, knowledge] });
}

/** Names of the running nodes that have not announced the knowledge. */
export async function nodesWithout(on: Queryable, knowledge: number): Promise<string[]> {
  const { rows } = await on.query<{ owner: string }>({
    ...FIND_WITHOUT,
    values: [KNOWLEDGE_LOCKS, knowledge],
  });
  return rows.map(({ owner }) => owner);
}

/**
 * Columns with values encrypted by secret-cipher.ts: key column, value column, and the name used as authenticated data. A column missing
 * here would be lost with a change of KEY_ENCRYPTION_KEY (a test searches every column).
 */
const PLACES = {
  instance: { key: "name", column: "value", bound: "name" },
  signing_key: { key: "kid", column: "private_key", bound: "'signing key ' || kid" },
  webhook_secret: {
    key: "endpoint_id",
    column: "encrypted_secret",
    bound: "'webhook secret ' || endpoint_id || '/' || slot",
  },
  payload_key: { key: "key_id", column: "encrypted_key", bound: "'payload key ' || key_id" },
  operator: { key: "name", column: "encrypted_totp_secret", bound: "'operator totp ' || name" },
} as const;
const LIST = namedStatement(
  "list-encrypted-values",
  Object.entries(PLACES)
    .map(
      ([place, { key, column, bound }]) =>
        `select '${place}' as place, ${key}::text as id, ${bound} as bound, ${column} as encrypted
        from bellhop.${place} where ${column} like 'plain:%' or ${column} like 'aes256gcm:%'`,
    )
    .join(" union all "),
);

/** Replaces a value only if it is unchanged since it was read, so that nodes can do so concurrently. */
function replacementOf(place: keyof typeof PLACES): Statement {
  const { key, column } = PLACES[place];
  const text = `update bellhop.${place} set ${column} = $3 where ${key} = $1 and ${column} = $2`;
  return namedStatement(`re-encrypt-${place}`, text);
}

interface StoredSecret {
  readonly place: keyof typeof PLACES;
  readonly id: string;
  /** The name used as authenticated data. */
  readonly bound: string;
  readonly encrypted: string;
}

/** State of the encrypted values of an installation. */
export interface SecretState {
  readonly values: number;
  /** Encrypted under a previous key, or unencrypted although there is a key. */
  readonly behind: readonly StoredSecret[];
}

/** Lists the values that are not encrypted under the current key. */
export async function readSecretState(pool: Pool, cipher: SecretCipher): Promise<SecretState> {
  const { rows } = await pool.query<StoredSecret>(LIST);
  return {
    values: rows.length,
    behind: rows.filter(({ bound, encrypted }) => !cipher.isCurrent(bound, encrypted)),
  };
}

interface Reencryption {
  readonly reencrypted: number;
  /** Names of values that no configured key decrypts; they are unchanged. */
  readonly unopened: readonly string[];
}

/**
 * Encrypts values with the current key that are under a previous one or unencrypted, and writes an audit entry if there were any. Each
 * value is decrypted first, so none is lost. Safe to run concurrently.
 */
export async function reencrypt(pool: Pool, cipher: SecretCipher, who: string): Promise<Reencryption> {
  const { behind } = await readSecretState(pool, cipher);
  const unopened: string[] = [];
  const places = new Map<string, number>();
  for (const { place, id, bound, encrypted } of behind) {
    const plain = decryptOrKnown(cipher, bound, encrypted, (opened) => opened, { value: undefined });
    if (plain === undefined) {
      unopened.push(bound);
      continue;
    }
    const values = [id, encrypted, cipher.encrypt(bound, plain)];
    const { rowCount } = await pool.query({ ...replacementOf(place), values });
    places.set(place, (places.get(place) ?? 0) + (rowCount ?? 0));
  }
  const reencrypted = [...places.values()].reduce((sum, count) => sum + count, 0);
  if (reencrypted > 0)
    await recordAudit(pool, { who, what: "reseal-values", detail: Object.fromEntries(places) });
  return { reencrypted, unopened };
}
