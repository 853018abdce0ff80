import { randomUUID } from "node:crypto";
import type pg from "pg";
import { type AuthAdmin, AuthInputError } from "../identity/admin.ts";
import { changeAuth } from "../identity/audit.ts";
import { readForChange } from "../identity/client-admin.ts";
import type { Grant } from "../identity/permissions.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";

const INSERT = namedStatement(
  "insert-certification",
  `insert into bellhop.certification (
    certification_id, client_id, client_code, property_code, request_rate, request_burst, token_burst, token_seconds,
    opened_by, ends_at
  )
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp() + make_interval(days => $10::integer))`,
);
/** Ends what is open of the client. */
const END = namedStatement(
  "end-certifications",
  `update bellhop.certification set ends_at = clock_timestamp() where client_id = $1 and ends_at > clock_timestamp()`,
);
/** Of a client's certifications the newest $2 are kept. */
const DELETE_OLD = namedStatement(
  "delete-old-certifications",
  `delete from bellhop.certification
  where client_id = $1 and certification_id not in (
    select certification_id from bellhop.certification where client_id = $1 order by opened_at desc limit $2::integer
  )`,
);
/** What nodes know of the client is to be read anew. */
const TOUCH_CLIENT = namedStatement(
  "touch-client",
  `update bellhop.client set changed_epoch = $2 where client_id = $1`,
);
const LIST = readStatement(new URL("./sql/list-certifications.sql", import.meta.url));

/** Certifications kept of a client, with what was noted of each. */
const KEPT_MAX = 10;
const LISTED_MAX = 1_000;
/** Short tokens are taken more often than the limit of everyday allows. */
const TOKEN_BURST = 100;

/** A certification of a client's integration. Times are UTC to the microsecond, by the database's clock. */
export interface Certification {
  readonly certificationId: string;
  readonly clientId: string;
  /** The property that instructions name: any that the client may push does as well. */
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly requestRate: number;
  readonly requestBurst: number;
  readonly tokenSeconds: number;
  readonly openedAt: string;
  /** When it was ended or will end by itself. */
  readonly endsAt: string;
  readonly isOpen: boolean;
}

/** What the client is held to while its certification is open, and how long that is at most. */
export interface CertificationTerms {
  /** Requests a second and at once: few, so that every integration meets a 429. */
  readonly requestRate: number;
  readonly requestBurst: number;
  /** How long a token lives: short, so that its renewal is seen within minutes. */
  readonly tokenSeconds: number;
  readonly days: number;
  /** For the examples; by default the first that the client was granted. */
  readonly property?: Grant;
}

export const DEFAULT_TERMS: CertificationTerms = {
  requestRate: 5,
  requestBurst: 20,
  tokenSeconds: 900,
  days: 14,
};

const TERMS_BOUNDS = {
  requestRate: [1, 1_000],
  requestBurst: [1, 1_000],
  tokenSeconds: [10, 3_600],
  days: [1, 90],
} as const;

/** The property code that examples name where the client may push every property of a client code. */
const EXAMPLE_PROPERTY = "CERT01";

function checkTerms(terms: CertificationTerms): void {
  for (const [name, [least, most]] of Object.entries(TERMS_BOUNDS)) {
    const value = terms[name as keyof typeof TERMS_BOUNDS];
    if (!Number.isInteger(value) || value < least || value > most)
      throw new AuthInputError(`${name} is a whole number from ${least} to ${most}.`);
  }
}

/** The property of the examples: one that the client may push. */
function exampleOf(clientId: string, grants: readonly Grant[], wanted: Grant | undefined): Grant {
  const grant = wanted ?? grants[0];
  if (grant === undefined)
    throw new AuthInputError(`The client ${clientId} has no grant: it could push nothing.`);
  const isGranted = grants.some(
    ({ clientCode, propertyCode }) =>
      clientCode === grant.clientCode && (propertyCode === "*" || propertyCode === grant.propertyCode),
  );
  if (!isGranted)
    throw new AuthInputError(
      `The client ${clientId} may not push ${grant.clientCode}/${grant.propertyCode}.`,
    );
  return grant.propertyCode === "*" ? { ...grant, propertyCode: EXAMPLE_PROPERTY } : grant;
}

/**
 * Opens a certification of a client; one that is open is ended. From now on the client is held to the terms and what it does
 * on the wire is noted: on this node at once, on others within a second. Throws AuthInputError.
 */
export async function openCertification(
  { internals, who }: AuthAdmin,
  clientId: string,
  terms: CertificationTerms = DEFAULT_TERMS,
): Promise<Certification> {
  checkTerms(terms);
  const certificationId = randomUUID();
  await changeAuth(internals.pool, async (change) => {
    const { connection, epoch, audit } = change;
    const client = await readForChange(change, clientId);
    const { clientCode, propertyCode } = exampleOf(clientId, client.grants, terms.property);
    await connection.query({ ...END, values: [clientId] });
    const { requestRate, requestBurst, tokenSeconds, days } = terms;
    const limits = [requestRate, requestBurst, TOKEN_BURST, tokenSeconds];
    await connection.query({
      ...INSERT,
      values: [certificationId, clientId, clientCode, propertyCode, ...limits, who, days],
    });
    await connection.query({ ...DELETE_OLD, values: [clientId, KEPT_MAX] });
    await connection.query({ ...TOUCH_CLIENT, values: [clientId, epoch] });
    await audit({ who, what: "open-certification", clientId, detail: { certificationId, ...terms } });
  });
  await internals.directory.renew();
  return (await findCertification(internals.pool, certificationId)) as Certification;
}

/** Ends what is open of a client: it has its own limits again. Answers whether anything was. */
export async function endCertification({ internals, who }: AuthAdmin, clientId: string): Promise<boolean> {
  const ended = await changeAuth(internals.pool, async ({ connection, epoch, audit }) => {
    const { rowCount } = await connection.query({ ...END, values: [clientId] });
    if (rowCount === 0) return false;
    await connection.query({ ...TOUCH_CLIENT, values: [clientId, epoch] });
    await audit({ who, what: "end-certification", clientId });
    return true;
  });
  await internals.directory.renew();
  return ended;
}

/** All certifications, the newest first, or those of one client. */
export async function listCertifications(pool: pg.Pool, clientId: string | null): Promise<Certification[]> {
  return (await pool.query<Certification>({ ...LIST, values: [clientId, LISTED_MAX] })).rows;
}

/** The certification of this id, or the newest of the client of this id. */
export async function findCertification(pool: pg.Pool, id: string): Promise<Certification | undefined> {
  return (await pool.query<Certification>({ ...LIST, values: [id, 1] })).rows[0];
}
