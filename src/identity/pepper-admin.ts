import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { countText } from "../platform/runtime/amounts.ts";
import { type AuthAdmin, AuthInputError, demand } from "./admin.ts";
import { changeAuth } from "./audit.ts";
import { requireOpenable } from "./key-admin.ts";
import { addPepper, nameOfPepper, STORED_PEPPERS } from "./secrets.ts";

/** Peppers, the current one first, with their live secrets of unrevoked clients. Decrypts nothing. */
const LIST_USE = namedStatement(
  "list-pepper-use",
  `select pepper.number, pepper.number = max(pepper.number) over () as "isCurrent",
    count(s.client_id)::integer as secrets,
    max(s.last_used_at) as "lastUsedAt",
    coalesce(array_agg(distinct s.client_id order by s.client_id) filter (where s.client_id is not null), '{}') as "clientIds"
  from (${STORED_PEPPERS}) as pepper
  left join (bellhop.client_secret s join bellhop.client c on c.client_id = s.client_id and c.revoked_at is null)
    on s.pepper = pepper.number and (s.expires_at is null or s.expires_at > clock_timestamp())
  group by pepper.number
  order by pepper.number desc`,
);
/** Expires the secrets that can no longer be verified. */
const END_SECRETS = namedStatement(
  "end-secrets-of-pepper",
  `update bellhop.client_secret
  set expires_at = clock_timestamp()
  where pepper = $1 and (expires_at is null or expires_at > clock_timestamp())`,
);
const DELETE_VALUE = namedStatement("delete-instance-value", "delete from bellhop.instance where name = $1");

/** Clients named in an error message. */
const CLIENTS_NAMED_MAX = 5;

/** A pepper as shown to an operator. */
export interface PepperSummary {
  readonly number: number;
  readonly isCurrent: boolean;
  /** Live secrets digested with it. */
  readonly secrets: number;
  /** Last successful use of one of these secrets, to the minute. */
  readonly lastUsedAt: Date | null;
  readonly clientIds: readonly string[];
}

/** All peppers, the current one first, and the secrets that depend on each. */
export async function listPeppers(on: Queryable): Promise<PepperSummary[]> {
  return (await on.query<PepperSummary>(LIST_USE)).rows;
}

/**
 * Creates a new pepper. The previous one remains valid for the secrets digested with it; each is redigested when next used.
 * Throws AuthInputError if two are live already, or if a node could not decrypt the new one.
 */
export async function rotatePepper({ internals, who }: AuthAdmin): Promise<{ readonly number: number }> {
  await requireOpenable(internals);
  return changeAuth(internals, async (change) => {
    const [current, former] = await listPeppers(change.connection);
    demand(current !== undefined, "The installation has no pepper yet. Start the service once.");
    demand(
      former === undefined,
      "Two peppers are already valid. Run `bellhop pepper retire` to end the older one.",
    );
    const number = current.number + 1;
    await addPepper(change.connection, internals.cipher, number);
    await change.audit({ who, what: "rotate-pepper", detail: { number } });
    return { number };
  });
}

/**
 * Deletes the previous pepper. Throws AuthInputError if there is none, or if live secrets depend on it; `force` expires those secrets,
 * and their clients need new ones.
 */
export async function retirePepper(
  { internals, who }: AuthAdmin,
  options: { readonly force?: boolean } = {},
): Promise<{ readonly number: number; readonly endedSecrets: number }> {
  return changeAuth(internals, async (change) => {
    const { connection } = change;
    const [, former] = await listPeppers(connection);
    demand(former !== undefined, "There is only one pepper. Run `bellhop pepper rotate` to create another.");
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
