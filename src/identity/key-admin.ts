import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { TOKEN_LEEWAY_SECONDS, TOKEN_SECONDS } from "./access-token.ts";
import { type AuthAdmin, AuthInputError } from "./admin.ts";
import { type AuthChange, changeAuth } from "./change.ts";
import { whoCannotOpen } from "./node-knowledge.ts";
import { addSigningKey } from "./signing-key.ts";

const FIND_UNRETIRED = readStatement(new URL("./sql/find-unretired-key.sql", import.meta.url));
const IS_DUE = readStatement(new URL("./sql/is-key-due.sql", import.meta.url));
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
const WIPE_RETIRED_KEYS = readStatement(new URL("./sql/wipe-retired-private-keys.sql", import.meta.url));

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

export interface KeyRotation {
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
  options: { readonly announceSeconds?: number; readonly leaked?: boolean } = {},
): Promise<KeyRotation> {
  const leaked = options.leaked ?? false;
  const announceSeconds = leaked
    ? LEAKED_ANNOUNCE_SECONDS
    : (options.announceSeconds ?? KEY_ANNOUNCE_SECONDS);
  checkAnnounceSeconds(announceSeconds);
  // A leaked key is replaced whoever is left behind by it.
  if (!leaked) await requireOpenable(internals);
  const rotation = await changeAuth(internals.pool, async (change) => {
    if (!leaked) await refuseWhileAnnounced(change);
    return replaceKey(change, { internals, who }, announceSeconds, leaked ? "leaked" : "asked");
  });
  await internals.directory.renew();
  return rotation;
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
  const { kid, activateAt } = await addSigningKey(change, internals.sealer, announceSeconds);
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
  const { pool, directory, sealer } = admin.internals;
  const findCause = async (on: Queryable): Promise<RotationCause | undefined> => {
    const values = [days, sealer.encrypts];
    const { rows } = await on.query<{ isOld: boolean; isReadable: boolean }>({ ...IS_DUE, values });
    if (rows[0]?.isReadable === true) return "readable";
    return rows[0]?.isOld === true ? "old" : undefined;
  };
  // Without the lock first: this is asked for ever and hardly ever so.
  if ((await findCause(pool)) === undefined) return undefined;
  const rotation = await changeAuth(pool, async (change) => {
    const because = await findCause(change.connection);
    if (because === undefined) return undefined;
    return { ...(await replaceKey(change, admin, KEY_ANNOUNCE_SECONDS, because)), because };
  });
  await directory.renew();
  return rotation;
}

/**
 * Ends everything that a key signed, at once: on this node now, on others within a second. Where no key is left that is to
 * stay, a new one signs from now on. Throws AuthInputError for a key that there is not, or whose tokens are refused already.
 */
export async function revokeKey(
  { internals, who }: AuthAdmin,
  kid: string,
): Promise<{ readonly kid: string; readonly replacedBy: string | null }> {
  const revoked = await changeAuth(internals.pool, async (change) => {
    const { connection } = change;
    if ((await connection.query({ ...REVOKE, values: [kid] })).rowCount !== 1) {
      throw new AuthInputError(
        `There is no key ${JSON.stringify(kid)} whose tokens are good. \`bellhop key list\` shows all there are.`,
      );
    }
    const left = await connection.query(FIND_UNRETIRED);
    const replacedBy = left.rowCount === 0 ? (await addSigningKey(change, internals.sealer, 0)).kid : null;
    await change.audit({ who, what: "revoke-key", detail: { kid, replacedBy } });
    return { kid, replacedBy };
  });
  await internals.directory.renew();
  return revoked;
}

async function requireOpenable({ pool, config }: AuthAdmin["internals"]): Promise<void> {
  const refusal = await whoCannotOpen(pool, config.keyEncryptionKey);
  if (refusal !== undefined) throw new AuthInputError(refusal);
}

/** A window shorter than the nodes' own could make one refuse a token that another just signed. */
function checkAnnounceSeconds(seconds: number): void {
  if (Number.isInteger(seconds) && seconds >= LEAKED_ANNOUNCE_SECONDS && seconds <= ANNOUNCE_SECONDS_MAX)
    return;
  throw new AuthInputError(`The announce window is ${LEAKED_ANNOUNCE_SECONDS} seconds to 30 days.`);
}
