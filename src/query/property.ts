import type { FastifyRequest } from "fastify";
import type pg from "pg";
import type { ResourceLetter } from "#contract/resource.ts";
import { recordAudit } from "../identity/audit.ts";
import { type AdmissionContext, authorizeAgain, lacksGrant } from "../identity/authorize.ts";
import { type Principal, permits } from "../identity/permissions.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { CursorContext } from "../platform/http/page-cursors.ts";
import { invalidParameter } from "../platform/http/read-parameters.ts";
import type { PropertyCodes } from "./console/answers.ts";

const findPropertyStatement = namedStatement(
  "read-find-property",
  `select property_id as "propertyId", bucket from bellhop.property where client_code = $1 and property_code = $2`,
);

export interface Property {
  readonly propertyId: number;
  readonly bucket: number;
}

/** Finds a property by its codes; undefined if it is unknown to Bellhop. The caller has checked the grant. */
export async function findProperty(
  pool: Queryable,
  clientCode: string,
  propertyCode: string,
): Promise<Property | undefined> {
  const values = [clientCode, propertyCode];
  return (await pool.query<Property>({ ...findPropertyStatement, values })).rows[0];
}

/** The property in a request's parameters; undefined if it is unknown to Bellhop. Throws EmptyRefusal unless the client may read it. */
export async function propertyOf({
  context,
  principal,
  parameters: { clientCode, propertyCode },
}: {
  readonly context: Pick<ReadContext, "pool">;
  readonly principal: Principal;
  readonly parameters: PropertyCodes;
}): Promise<Property | undefined> {
  await requireRead(context, principal, { clientCode, propertyCode });
  return findProperty(context.pool, clientCode, propertyCode);
}

export type { PropertyCodes };

/** What routes that clients read by work with. */
export interface ReadContext extends AdmissionContext, CursorContext {
  readonly pool: pg.Pool;
}

/**
 * Whether the client may read this property; refusals are audited. Checked before any lookup, so that the answer does not disclose whether
 * it exists.
 */
export async function mayRead(
  context: Pick<ReadContext, "pool">,
  principal: Principal,
  codes: PropertyCodes,
): Promise<boolean> {
  if (permits(principal, codes.clientCode, codes.propertyCode)) return true;
  const { clientId } = principal;
  const detail = { reading: true, clientCode: codes.clientCode, propertyCode: codes.propertyCode };
  const what = "refuse-foreign-property";
  await recordAudit(context.pool, { who: `client:${clientId}`, what, clientId, detail });
  return false;
}

/** Throws EmptyRefusal unless the client may read this property. */
export async function requireRead(
  context: Pick<ReadContext, "pool">,
  principal: Principal,
  codes: PropertyCodes,
): Promise<void> {
  if (!(await mayRead(context, principal, codes))) throw lacksGrant(codes.clientCode, codes.propertyCode);
}

/** Checks token, scope and grant again after a long step. Throws EmptyRefusal. */
export async function authorizeReadAgain(
  context: ReadContext,
  request: FastifyRequest,
  codes?: PropertyCodes,
): Promise<void> {
  const principal = await authorizeAgain(context, request);
  if (codes !== undefined) await requireRead(context, principal, codes);
}

/** Null if nothing was removed. Payloads are removed by receipt and versions by source time; returns the later one. */
const readKnownFromStatement = namedStatement(
  "read-known-from",
  `select to_char(max(known_from) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as known_from
  from bellhop.retention_horizon
  where client_code = $1 and resource = $2 and kind in ('versions', 'payloads')`,
);

/** The time from which all versions of a client code's records are retained (docs/retention.md), ISO 8601 with microseconds; null: all. */
export async function readKnownFrom(
  on: Queryable,
  clientCode: string,
  resource: ResourceLetter,
): Promise<string | null> {
  const values = [clientCode, resource];
  const { rows } = await on.query<{ known_from: string | null }>({ ...readKnownFromStatement, values });
  return rows[0]?.known_from ?? null;
}

/** The codes if both are given; throws ServiceError `bellhop.http.InvalidParameter` for one without the other. */
export function bothCodes(
  clientCode: string | undefined,
  propertyCode: string | undefined,
): PropertyCodes | undefined {
  if (clientCode === undefined && propertyCode === undefined) return undefined;
  if (clientCode === undefined || propertyCode === undefined)
    throw invalidParameter("clientCode and propertyCode must be given together.");
  return { clientCode, propertyCode };
}
