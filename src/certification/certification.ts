import { randomUUID } from "node:crypto";
import type pg from "pg";
import { isUtcTimestamp } from "#contract/calendar.ts";
import { type AuthAdmin, demand, isWhole } from "../identity/admin.ts";
import { changeAuth } from "../identity/audit.ts";
import { findClient, readForChange } from "../identity/client-admin.ts";
import { arrangeGrants, type Grant, grantsInclude } from "../identity/grants.ts";
import { namedStatement } from "../platform/db/statement.ts";
import {
  firstOf,
  isUuid,
  type ListPage,
  type Position,
  type PositionShape,
} from "../platform/http/position.ts";
import type { CertificationItem } from "./console-answers.ts";

const INSERT = namedStatement(
  "insert-certification",
  `insert into bellhop.certification (
    certification_id, client_id, client_code, property_code, request_rate, request_burst, token_burst, token_seconds,
    opened_by, ends_at
  )
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp() + make_interval(days => $10::integer))`,
);
const END = namedStatement(
  "end-certifications",
  `update bellhop.certification set ends_at = clock_timestamp() where client_id = $1 and ends_at > clock_timestamp()`,
);
/** Keeps the newest $2 certifications of a client. */
const DELETE_OLD = namedStatement(
  "delete-old-certifications",
  `delete from bellhop.certification
  where client_id = $1 and certification_id not in (
    select certification_id from bellhop.certification where client_id = $1 order by opened_at desc limit $2::integer
  )`,
);
/** Makes nodes reload the client. */
const TOUCH_CLIENT = namedStatement(
  "touch-client",
  `update bellhop.client set changed_epoch = $2 where client_id = $1`,
);
/**
 * The next $6 certifications before ($4, $5), newest first: of the client or certification $1, open or ended ($2), of the clients $3 (null:
 * all).
 */
const LIST = namedStatement(
  "list-certifications",
  `select of.certification_id as "certificationId", of.client_id as "clientId", of.client_code as "clientCode",
    of.property_code as "propertyCode", of.request_rate as "requestRate", of.request_burst as "requestBurst",
    of.token_seconds as "tokenSeconds", to_char(of.opened_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "openedAt",
    to_char(of.ends_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "endsAt", of.ends_at > clock_timestamp() as "isOpen",
    of.opened_by as "openedBy", client.name as "clientName", client.scopes
  from bellhop.certification of join bellhop.client using (client_id)
  where ($1::text is null or of.client_id = $1 or of.certification_id::text = $1)
    and ($2::boolean is null or (of.ends_at > clock_timestamp()) = $2)
    and ($3::text[] is null or of.client_id = any ($3))
    and (of.opened_at, of.certification_id) < ($4::timestamptz, $5::uuid)
  order by of.opened_at desc, of.certification_id desc
  limit $6`,
);

/** Certifications kept per client, with their events. */
const KEPT_MAX = 10;
/** Higher than the ordinary limit, because short tokens are renewed more often. */
const TOKEN_BURST = 100;

/** A certification of a client's integration. Times are UTC in microseconds, by the database's clock. */
export interface Certification extends Omit<CertificationItem, "resources"> {
  readonly scopes: readonly string[];
}

/** The client's limits while the certification is open, and its duration. */
export interface CertificationTerms {
  /** Low limits, so that every integration encounters a 429. */
  readonly requestRate: number;
  readonly requestBurst: number;
  /** Token lifetime; shorter than the specification's hour to observe a renewal within minutes. */
  readonly tokenSeconds: number;
  readonly days: number;
  /** The property in the examples; by default the client's first grant. */
  readonly property?: Grant | undefined;
}

export const DEFAULT_TERMS: CertificationTerms = {
  requestRate: 5,
  requestBurst: 20,
  tokenSeconds: 3_600,
  days: 14,
};

const TERMS_BOUNDS = {
  requestRate: [1, 1_000],
  requestBurst: [1, 1_000],
  tokenSeconds: [10, 3_600],
  days: [1, 90],
} as const;

/** The example property code if the client may push every property of a client code. */
const EXAMPLE_PROPERTY = "CERT01";

function checkTerms(terms: CertificationTerms): void {
  for (const [name, [least, most]] of Object.entries(TERMS_BOUNDS)) {
    const value = terms[name as keyof typeof TERMS_BOUNDS];
    demand(isWhole(value, least, most), `${name} must be a whole number from ${least} to ${most}.`);
  }
}

/** The property in the examples, which the client may push. */
function exampleOf(clientId: string, grants: readonly Grant[], wanted: Grant | undefined): Grant {
  const grant = wanted ?? grants[0];
  demand(grant !== undefined, `The client ${clientId} has no grants, so it cannot push anything.`);
  const { clientCode, propertyCode } = grant;
  const isGranted = grantsInclude(arrangeGrants(grants), clientCode, propertyCode);
  demand(isGranted, `The client ${clientId} may not push ${clientCode}/${propertyCode}.`);
  return propertyCode === "*" ? { clientCode, propertyCode: EXAMPLE_PROPERTY } : grant;
}

/** Opens a certification and ends any open one. Other nodes apply its limits within a second. Throws AuthInputError. */
export async function openCertification(
  { internals, who, scope }: AuthAdmin,
  clientId: string,
  terms: CertificationTerms = DEFAULT_TERMS,
): Promise<Certification> {
  checkTerms(terms);
  const certificationId = randomUUID();
  await changeAuth(internals, async (change) => {
    const { connection, epoch, audit } = change;
    const client = await readForChange(change, clientId, scope);
    const { clientCode, propertyCode } = exampleOf(clientId, client.grants, terms.property);
    await connection.query({ ...END, values: [clientId] });
    const { requestRate, requestBurst, tokenSeconds, days } = terms;
    // Only an operator of everything may set limits (src/console/client-routes.ts): another's certification lifts none.
    const lifts = scope === undefined || scope.isEverything;
    const limitOf = (term: number, own: number | null) =>
      lifts || own === null ? term : Math.min(term, own);
    const limits = [
      limitOf(requestRate, client.requestRate),
      limitOf(requestBurst, client.requestBurst),
      limitOf(TOKEN_BURST, client.tokenBurst),
      tokenSeconds,
    ];
    const values = [certificationId, clientId, clientCode, propertyCode, ...limits, who, days];
    await connection.query({ ...INSERT, values });
    await connection.query({ ...DELETE_OLD, values: [clientId, KEPT_MAX] });
    await connection.query({ ...TOUCH_CLIENT, values: [clientId, epoch] });
    await audit({ who, what: "open-certification", clientId, detail: { certificationId, ...terms } });
  });
  return (await findCertification(internals.pool, certificationId)) as Certification;
}

/** Ends a client's open certification and restores its ordinary limits. Returns whether there was one. */
export async function endCertification(
  { internals, who, scope }: AuthAdmin,
  clientId: string,
): Promise<boolean> {
  return changeAuth(internals, async ({ connection, epoch, audit }) => {
    await findClient(connection, clientId, scope);
    const { rowCount } = await connection.query({ ...END, values: [clientId] });
    if (rowCount === 0) return false;
    await connection.query({ ...TOUCH_CLIENT, values: [clientId, epoch] });
    await audit({ who, what: "end-certification", clientId });
    return true;
  });
}

/** Position: when the last certification of a page was opened, and its id. */
export const CERTIFICATION_POSITION: PositionShape = [
  (part) => typeof part === "string" && isUtcTimestamp(part),
  isUuid,
];
const NEWEST: Position = ["infinity", "ffffffff-ffff-ffff-ffff-ffffffffffff"];

/** One page of certifications, newest first. */
export async function listCertifications(
  pool: pg.Pool,
  filter: {
    /** A client's or a certification's id. */
    readonly id?: string | undefined;
    readonly isOpen?: boolean | undefined;
    /** Null: all clients. */
    readonly clients?: readonly string[] | null;
  },
  start: Position | null,
  limit: number,
): Promise<ListPage<Certification>> {
  const { id = null, isOpen = null, clients = null } = filter;
  const values = [id, isOpen, clients, ...(start ?? NEWEST), limit + 1];
  const { rows } = await pool.query<Certification>({ ...LIST, values });
  return firstOf(rows, limit, ({ openedAt, certificationId }) => [openedAt, certificationId]);
}

/** The certification with this id, or the newest of the client with this id. */
export async function findCertification(pool: pg.Pool, id: string): Promise<Certification | undefined> {
  return (await listCertifications(pool, { id }, null, 1)).items[0];
}
