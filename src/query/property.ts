import type { ResourceLetter } from "#contract/resource.ts";
import { recordAudit } from "../identity/audit.ts";
import { type Principal, permits } from "../identity/permissions.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { invalidParameter } from "../platform/http/read-parameters.ts";
import type { HttpContext } from "../service-context.ts";

/** The number and bucket of a pair of codes. An index scan on the table's unique key. */
const findPropertyStatement = namedStatement(
  "read-find-property",
  `select property_id, bucket from bellhop.property where client_code = $1 and property_code = $2`,
);

/** A property as the tables know it. */
export interface Property {
  readonly propertyId: number;
  readonly bucket: number;
}

/** Finds a property by its codes; undefined when no batch has ever named it. The caller has checked the grant. */
export async function findProperty(
  pool: Queryable,
  clientCode: string,
  propertyCode: string,
): Promise<Property | undefined> {
  const { rows } = await pool.query<{ property_id: number; bucket: number }>({
    ...findPropertyStatement,
    values: [clientCode, propertyCode],
  });
  const row = rows[0];
  return row === undefined ? undefined : { propertyId: row.property_id, bucket: row.bucket };
}

/** The codes that a reader asks about. */
export interface PropertyCodes {
  readonly clientCode: string;
  readonly propertyCode: string;
}

/**
 * Whether the client may read this property; a refusal leaves an audit entry. Asked before anything is looked up, so that
 * the answer about a property of others is the same whether it exists or not.
 */
export async function mayRead(
  context: HttpContext,
  principal: Principal,
  codes: PropertyCodes,
): Promise<boolean> {
  if (permits(principal, codes.clientCode, codes.propertyCode)) return true;
  await recordAudit(context.pool, {
    who: `client:${principal.clientId}`,
    what: "refuse-foreign-property",
    clientId: principal.clientId,
    detail: { reading: true, clientCode: codes.clientCode, propertyCode: codes.propertyCode },
  });
  return false;
}

/**
 * A lookup by the primary key; null where nothing has gone. Payloads go by receipt, versions by source time, and what is known of
 * both is known of all.
 */
const readKnownFromStatement = namedStatement(
  "read-known-from",
  `select to_char(max(known_from) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as known_from
  from bellhop.retention_horizon
  where client_code = $1 and resource = $2 and kind in ('versions', 'payloads')`,
);

/**
 * From when on everything is known of a client code's records of a resource, also what is not current (docs/retention.md): ISO
 * 8601 with microseconds; null: from the beginning.
 */
export async function readKnownFrom(
  on: Queryable,
  clientCode: string,
  resource: ResourceLetter,
): Promise<string | null> {
  const { rows } = await on.query<{ known_from: string | null }>({
    ...readKnownFromStatement,
    values: [clientCode, resource],
  });
  return rows[0]?.known_from ?? null;
}

/** The codes of a property that may be named; throws ServiceError `bellhop.http.InvalidParameter` for one code without the other. */
export function bothCodes(
  clientCode: string | undefined,
  propertyCode: string | undefined,
): PropertyCodes | undefined {
  if (clientCode === undefined && propertyCode === undefined) return undefined;
  if (clientCode === undefined || propertyCode === undefined)
    throw invalidParameter("clientCode and propertyCode are given together or not at all.");
  return { clientCode, propertyCode };
}
