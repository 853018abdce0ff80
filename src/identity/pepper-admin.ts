import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { countText } from "../platform/runtime/amounts.ts";
import { type AuthAdmin, AuthInputError, demand } from "./admin.ts";
import { changeAuth } from "./audit.ts";
import { requireOpenable } from "./key-admin.ts";
import type { SecretCipher } from "./secret-cipher.ts";
import { addPepper, nameOfPepper, type Peppers, readPeppers } from "./secrets.ts";

/** Live secrets of clients that are not revoked, by the pepper of their digests. */
const LIST_USE = namedStatement(
  "list-pepper-use",
  `select s.pepper as number,
    count(*)::integer as secrets,
    max(s.last_used_at) as "lastUsedAt",
    array_agg(distinct s.client_id order by s.client_id) as "clientIds"
  from bellhop.client_secret s
  join bellhop.client c on c.client_id = s.client_id
  where c.revoked_at is null and (s.expires_at is null or s.expires_at > clock_timestamp())
  group by s.pepper`,
);
/** Ends what could not be verified any more. */
const END_SECRETS = namedStatement(
  "end-secrets-of-pepper",
  `update bellhop.client_secret
  set expires_at = clock_timestamp()
  where pepper = $1 and (expires_at is null or expires_at > clock_timestamp())`,
);
const DELETE_VALUE = namedStatement("delete-instance-value", "delete from bellhop.instance where name = $1");

/** Clients named in a message that refuses. */
const CLIENTS_NAMED_MAX = 5;

/** A pepper as its operator sees it. */
export interface PepperSummary {
  readonly number: number;
  readonly isCurrent: boolean;
  /** Live secrets whose digests were made with it. */
  readonly secrets: number;
  /** When one of those was last good for something, to the minute. */
  readonly lastUsedAt: Date | null;
  readonly clientIds: readonly string[];
}

async function requirePeppers(on: Queryable, cipher: SecretCipher): Promise<Peppers> {
  const peppers = await readPeppers(on, cipher);
  demand(peppers !== undefined, "The installation has no pepper yet: start it once.");
  return peppers;
}

async function summarize(on: Queryable, { current, keys }: Peppers): Promise<PepperSummary[]> {
  const { rows } = await on.query<Omit<PepperSummary, "isCurrent">>(LIST_USE);
  const used = new Map(rows.map((row) => [row.number, row]));
  const unused = { secrets: 0, lastUsedAt: null, clientIds: [] };
  return [...keys.keys()]
    .sort((left, right) => right - left)
    .map((number) => ({ ...(used.get(number) ?? unused), number, isCurrent: number === current }));
}

/** The peppers that there are, the current one first, and what hangs on each. */
export async function listPeppers({
  internals,
}: {
  readonly internals: Pick<AuthAdmin["internals"], "pool" | "cipher">;
}): Promise<PepperSummary[]> {
  const { pool, cipher } = internals;
  return summarize(pool, await requirePeppers(pool, cipher));
}

/**
 * Makes a new pepper. The one before it stays good for the secrets that were digested with it; each of them is digested anew
 * when it is next used, so nothing is refused. Throws AuthInputError while two are live, or a node could not open the new one.
 */
export async function rotatePepper({ internals, who }: AuthAdmin): Promise<{ readonly number: number }> {
  await requireOpenable(internals);
  return changeAuth(internals, async (change) => {
    const { current, keys } = await requirePeppers(change.connection, internals.cipher);
    demand(keys.size < 2, "Two peppers are live already: `bellhop pepper retire` ends the older one.");
    await addPepper(change.connection, internals.cipher, current + 1);
    await change.audit({ who, what: "rotate-pepper", detail: { number: current + 1 } });
    return { number: current + 1 };
  });
}

/**
 * Deletes the pepper before the current one. Throws AuthInputError where there is none, and while a live secret hangs on it;
 * with `force` those secrets end, and their clients need new ones.
 */
export async function retirePepper(
  { internals, who }: AuthAdmin,
  options: { readonly force?: boolean } = {},
): Promise<{ readonly number: number; readonly endedSecrets: number }> {
  return changeAuth(internals, async (change) => {
    const { connection } = change;
    const peppers = await summarize(connection, await requirePeppers(connection, internals.cipher));
    const former = peppers.find(({ isCurrent }) => !isCurrent);
    demand(former !== undefined, "There is one pepper only: `bellhop pepper rotate` makes another.");
    if (former.secrets > 0 && options.force !== true) throw stillInUse(former);
    const { number, secrets: endedSecrets } = former;
    await connection.query({ ...END_SECRETS, values: [number] });
    await connection.query({ ...DELETE_VALUE, values: [nameOfPepper(number)] });
    await change.audit({ who, what: "retire-pepper", detail: { number, endedSecrets } });
    return { number, endedSecrets };
  });
}

function stillInUse({ secrets, clientIds }: PepperSummary): AuthInputError {
  const named = clientIds.slice(0, CLIENTS_NAMED_MAX).join(", ");
  const more = clientIds.length > CLIENTS_NAMED_MAX ? " and others" : "";
  return new AuthInputError(
    `${countText(secrets, "secret was", "secrets were")} not used since the rotation and would end (${named}${more}): wait, rotate them, or --force.`,
  );
}
