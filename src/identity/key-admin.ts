import { createHash } from "node:crypto";
import type { Pool } from "pg";
import { namedStatement, readStatement, type Statement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { TOKEN_LEEWAY_SECONDS, TOKEN_SECONDS } from "./access-token.ts";
import { type AuthAdmin, AuthInputError, demand, isWhole } from "./admin.ts";
import { type AuthChange, changeAuth, recordAudit } from "./audit.ts";
import { decryptOrKnown, type SecretCipher } from "./secret-cipher.ts";
import { addSigningKey, FIND_UNRETIRED_KEY, WIPE_RETIRED_KEYS } from "./signing-key.ts";

/**
 * Why the signing key is to be replaced. Its age: no key that is to stay (announced or active) was made within the last $1 days (0:
 * never). Where keys are encrypted now ($2), that one which is to stay lies readable: copies of it are in dead rows, in the
 * write-ahead log and in backups.
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
/** Every key but the new one ($1) goes once the new one has signed long enough ($2 seconds) for its tokens to be dead. */
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
/** From now on nothing that it signed is good. Its private part goes with it. */
const REVOKE = namedStatement(
  "revoke-key",
  `update bellhop.signing_key
  set remove_at = clock_timestamp(), private_key = null
  where kid = $1 and (remove_at is null or remove_at > clock_timestamp())
  returning kid`,
);

/**
 * How long a new key is only published. Nodes know it within a second; others that verify our tokens keep the keys
 * they fetched for ten minutes (the default of jose), and must have fetched again before the first token under it.
 */
const KEY_ANNOUNCE_SECONDS = 900;

/** After a leak: just long enough for every node to have the new key before one signs with it. */
const LEAKED_ANNOUNCE_SECONDS = 5;

/** How long an old key's tokens are good after the new key took over: their whole life, and a minute. */
const KEY_RETIRE_SECONDS = TOKEN_SECONDS + TOKEN_LEEWAY_SECONDS + 60;

const ANNOUNCE_SECONDS_MAX = 30 * 86_400;

/** A signing key as its operator sees it. */
export interface KeySummary {
  readonly kid: string;
  readonly state: "announced" | "active" | "retiring" | "removed";
  readonly createdAt: Date;
  readonly activateAt: Date;
  readonly removeAt: Date | null;
  /** How the private part lies in the database. */
  readonly privatePart: "encrypted" | "readable" | "wiped";
}

interface KeyRotation {
  readonly kid: string;
  /** When the new key begins to sign. */
  readonly activateAt: Date;
  /** Keys whose tokens are good until then and for the retire window after it. */
  readonly retiring: readonly string[];
}

/** Every key there ever was, the newest first. */
export async function listKeys({
  internals,
}: {
  readonly internals: Pick<AuthAdmin["internals"], "pool">;
}): Promise<KeySummary[]> {
  return (await internals.pool.query<KeySummary>(LIST_ALL)).rows;
}

/**
 * Replaces the signing key in three windows: announced (published, signs nothing), active, retiring (signs nothing,
 * its tokens are good). So no good token is refused anywhere. With `leaked`, the new key takes over after seconds and
 * every token under another one is refused from then on. Throws AuthInputError while another rotation is announced.
 */
export async function rotateKey(
  { internals, who }: AuthAdmin,
  {
    leaked = false,
    announceSeconds = leaked ? LEAKED_ANNOUNCE_SECONDS : KEY_ANNOUNCE_SECONDS,
  }: { readonly announceSeconds?: number | undefined; readonly leaked?: boolean } = {},
): Promise<KeyRotation> {
  // A window shorter than the nodes' own could make one refuse a token that another just signed.
  demand(
    isWhole(announceSeconds, LEAKED_ANNOUNCE_SECONDS, ANNOUNCE_SECONDS_MAX),
    `The announce window is ${LEAKED_ANNOUNCE_SECONDS} seconds to 30 days.`,
  );
  // A leaked key is replaced even if some nodes cannot open the new one.
  if (!leaked) await requireOpenable(internals);
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
    `The key ${announced.kid} is announced already and becomes active at ${announced.activateAt.toISOString()}.`,
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

/** Why the service replaces the signing key: for its age, or because it lies readable although KEY_ENCRYPTION_KEY is set. */
type RotationCause = "old" | "readable";

/**
 * Replaces the signing key, as `rotateKey` does, if the newest was made more than `days` ago (0: however old it is, not), or one
 * lies readable that would be encrypted today. Undefined where neither is so. Of several nodes that ask at once, one does it.
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
  // Without the lock first: this is asked for ever and hardly ever so.
  if ((await findCause(pool)) === undefined) return undefined;
  return changeAuth(admin.internals, async (change) => {
    const because = await findCause(change.connection);
    if (because === undefined) return undefined;
    return { ...(await replaceKey(change, admin, KEY_ANNOUNCE_SECONDS, because)), because };
  });
}

/**
 * Ends everything that a key signed, at once: on this node now, on others within a second. Where no key is left that is to
 * stay, a new one signs from now on. Throws AuthInputError for a key that there is not, or whose tokens are refused already.
 */
export async function revokeKey(
  { internals, who }: AuthAdmin,
  kid: string,
): Promise<{ readonly kid: string; readonly replacedBy: string | null }> {
  return changeAuth(internals, async (change) => {
    const { connection } = change;
    const { rowCount } = await connection.query({ ...REVOKE, values: [kid] });
    demand(
      rowCount === 1,
      `There is no key ${JSON.stringify(kid)} whose tokens are good. \`bellhop key list\` shows all there are.`,
    );
    const left = await connection.query(FIND_UNRETIRED_KEY);
    const replacedBy = left.rowCount === 0 ? (await addSigningKey(change, internals.cipher, 0)).kid : null;
    await change.audit({ who, what: "revoke-key", detail: { kid, replacedBy } });
    return { kid, replacedBy };
  });
}

/** Throws AuthInputError where a node runs that could not use what is encrypted now. */
export async function requireOpenable({ pool, config }: AuthAdmin["internals"]): Promise<void> {
  const refusal = await whoCannotRead(pool, config.keyEncryptionKey);
  if (refusal !== undefined) throw new AuthInputError(refusal);
}

const ANNOUNCE = namedStatement(
  "announce-knowledge",
  `select pg_advisory_lock_shared($1::integer, known) from unnest($2::integer[]) as known`,
);
const FIND_WITHOUT = readStatement(new URL("./sql/find-nodes-without.sql", import.meta.url));

/**
 * What nodes tell each other to know, so that nothing is changed into a form that one of them could not read. A node's own
 * session (src/service/node-presence.ts) announces by shared advisory locks, which end with it. The class of these locks; any
 * constant will do, as long as nothing else takes it.
 */
export const KNOWLEDGE_LOCKS = 73_020_270;

/** That a node decrypts what this KEY_ENCRYPTION_KEY (base64) encrypted, as a lock's name: 31 bits, which reveal nothing useful about it. */
export function knowledgeOfKey(keyEncryptionKey: string): number {
  const key = Buffer.from(keyEncryptionKey, "base64");
  return createHash("sha256").update("bellhop knowledge\0").update(key).digest().readUInt32BE() >>> 1;
}

/** Why what is encrypted now could not be used by every node: they are named. Undefined where it could. */
export async function whoCannotRead(
  on: Queryable,
  keyEncryptionKey: string | undefined,
): Promise<string | undefined> {
  if (keyEncryptionKey === undefined) return undefined;
  const nodes = await nodesWithout(on, knowledgeOfKey(keyEncryptionKey));
  return nodes.length === 0
    ? undefined
    : `Nodes run that do not know this KEY_ENCRYPTION_KEY and could not use it: ${nodes.join(", ")}.`;
}

/** Announces knowledge by this session, as long as it lives. */
export async function announceKnowledge(session: Queryable, knowledge: readonly number[]): Promise<void> {
  await session.query({ ...ANNOUNCE, values: [KNOWLEDGE_LOCKS, knowledge] });
}

/** The names of the nodes present that do not say that they know it. */
export async function nodesWithout(on: Queryable, knowledge: number): Promise<string[]> {
  const { rows } = await on.query<{ owner: string }>({
    ...FIND_WITHOUT,
    values: [KNOWLEDGE_LOCKS, knowledge],
  });
  return rows.map(({ owner }) => owner);
}

/**
 * Everything that src/identity/secret-cipher.ts encrypted, by its table: the key of a row, the column, and the name that is bound into the value.
 * Another place of such values belongs here, or a change of KEY_ENCRYPTION_KEY would lose them (a test looks for them in every column).
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

/** Replaces a value only while it is still the one that was read, so that nodes doing it at once do no harm. */
function replacementOf(place: keyof typeof PLACES): Statement {
  const { key, column } = PLACES[place];
  const text = `update bellhop.${place} set ${column} = $3 where ${key} = $1 and ${column} = $2`;
  return namedStatement(`re-encrypt-${place}`, text);
}

interface StoredSecret {
  readonly place: keyof typeof PLACES;
  readonly id: string;
  /** The name that is bound into the value. */
  readonly bound: string;
  readonly encrypted: string;
}

/** The encrypted values of an installation. */
export interface SecretState {
  readonly values: number;
  /** Under a former key, or readable although there is a key. */
  readonly behind: readonly StoredSecret[];
}

/** Lists the values that the current key would encrypt otherwise. */
export async function readSecretState(pool: Pool, cipher: SecretCipher): Promise<SecretState> {
  const { rows } = await pool.query<StoredSecret>(LIST);
  return {
    values: rows.length,
    behind: rows.filter(({ bound, encrypted }) => !cipher.isCurrent(bound, encrypted)),
  };
}

/** How many values were re-encrypted, and which could not be decrypted. */
interface Reencryption {
  readonly reencrypted: number;
  /** Names of values that neither the current key nor a former one opens: they stay as they are. */
  readonly unopened: readonly string[];
}

/**
 * Encrypts with the current key whatever lies under a former one, or readable; leaves an audit entry where there was any. What it
 * replaces is opened first, so nothing is lost on the way, and may be done by several at once.
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
