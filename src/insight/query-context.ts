import type pg from "pg";
import { letterOf } from "#contract/resource.ts";
import { knownStatus } from "#contract/statuses.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import type { Property } from "../query/property.ts";
import { type PropertySettings, settingsOf } from "../settings/property-settings.ts";
import type { StatusResource } from "../settings/status-mapping.ts";
import { QuestionTooLarge, type StayQuestion } from "./question.ts";
import { settledReceipts, watermarkOf } from "./watermark.ts";

/** At most $3 statuses in the ledger of property $2 in bucket $1. Reads dimensions, which are few, not records. */
const readStatuses = namedStatement(
  "read-property-statuses",
  `select distinct status
  from bellhop_state.night_dimension
  where bucket = $1 and property_id = $2 and status is not null
  order by status
  limit $3`,
);
/** A hotel has some tens. The thread reads all in one piece, and sends them to the statements of an answer. */
const STATUSES_MAX = 20_000;

/** The current mapping of the statuses of a property's reservations and groups. */
export interface StatusMeanings {
  /** Statuses whose rooms are on the books. */
  readonly deducting: readonly string[];
  /** Statuses mapped as not on the books. */
  readonly off: readonly string[];
  /** Unmapped statuses: not on the books, and listed separately in answers. */
  readonly unmapped: readonly string[];
}

/** The status mapping of a client code. */
export interface PropertyStatuses extends Readonly<Record<StatusResource, StatusMeanings>> {
  /** Whether the status deducts; null if it is unmapped. */
  deducts(resource: StatusResource, status: string | null): boolean | null;
}

function meaningsOf(
  statuses: readonly string[],
  deductsOf: (status: string) => boolean | null,
): StatusMeanings {
  const meanings = Map.groupBy(statuses, deductsOf);
  const [deducting = [], off = [], unmapped = []] = [true, false, null].map((one) => meanings.get(one));
  return { deducting, off, unmapped };
}

/**
 * Maps every status in the ledger for both resources, as the ledger does not record which resource it belongs to. Throws QuestionTooLarge
 * if the property has too many.
 */
async function statusMeaningsOf(
  on: Queryable,
  clientCode: string,
  { bucket, propertyId }: Property,
): Promise<PropertyStatuses> {
  const values = [bucket, propertyId, STATUSES_MAX + 1];
  const found = await on.query<{ status: string }>({ ...readStatuses, values });
  if (found.rows.length > STATUSES_MAX)
    throw new QuestionTooLarge(
      `The records of this property have more than ${STATUSES_MAX} different statuses: status must not have texts of each record.`,
    );
  const mapped = await on.query<{ resource: string; status: string; deducts: boolean }>({
    name: "read-status-mappings",
    text: "select resource, status, deducts from bellhop.status_mapping where client_code = $1",
    values: [clientCode],
  });
  const own = new Map(mapped.rows.map(({ resource, status, deducts }) => [`${resource}${status}`, deducts]));
  const deducts = (resource: StatusResource, status: string | null) =>
    own.get(`${letterOf(resource)}${status ?? ""}`) ?? knownStatus(resource, status ?? "")?.deducts ?? null;
  const statuses = found.rows.map(({ status }) => status);
  return {
    deducts,
    reservations: meaningsOf(statuses, (status) => deducts("reservations", status)),
    groups: meaningsOf(statuses, (status) => deducts("groups", status)),
  };
}

/** The data that answers need in addition to the ledger, all as of one moment. */
export interface QueryContext {
  readonly settings: PropertySettings;
  readonly statuses: PropertyStatuses;
  /** The instant of an answer without `asOf`. */
  readonly now: Date;
  /** With the receipt clock: answers up to it are final. Null with the source clock. */
  readonly watermark: string | null;
}

/**
 * Answers a query from one snapshot. Settings, status mappings and the watermark are read first, so what `ask` reads is at least as new.
 * Read-only, takes no locks.
 */
export async function onQueryContext<Answer>(
  pool: pg.Pool,
  question: StayQuestion,
  ask: (client: pg.ClientBase, queryContext: QueryContext) => Promise<Answer>,
): Promise<{ readonly queryContext: QueryContext; readonly answer: Answer }> {
  const { clientCode, propertyCode, property, clock } = question;
  const settled = clock === "receipt" ? await settledReceipts(pool, property) : null;
  return withTransaction(
    pool,
    async (client) => {
      const watermark = await watermarkOf(client, property, settled);
      const settings = await settingsOf(client, clientCode, propertyCode);
      const statuses = await statusMeaningsOf(client, clientCode, property);
      const queryContext = { settings, statuses, watermark, now: new Date() };
      return { queryContext, answer: await ask(client, queryContext) };
    },
    { isolation: "repeatable read", readOnly: true },
  );
}
