import type pg from "pg";
import { letterOf } from "#contract/resource.ts";
import { knownStatus } from "#contract/statuses.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import type { Property } from "../query/property.ts";
import { type PropertySettings, settingsOf } from "../settings/property-settings.ts";
import type { StatusResource } from "../settings/status-mapping.ts";
import type { StayQuestion } from "./question.ts";
import { settledReceipts, watermarkOf } from "./watermark.ts";

/** Every status of the property $2 in the bucket $1 that the ledger knows. A property's dimensions are few; its records are not. */
const readStatuses = namedStatement(
  "read-property-statuses",
  `select distinct status
  from bellhop_state.night_dimension
  where bucket = $1 and property_id = $2 and status is not null
  order by status`,
);

/** What the statuses of a property's reservations and groups mean now, each status once. */
export interface StatusMeanings {
  /** Statuses under which rooms are on the books. */
  readonly deducting: readonly string[];
  /** Statuses that are known, and hold nothing. */
  readonly off: readonly string[];
  /** Statuses without a mapping: they hold nothing, and answers list them separately. */
  readonly unmapped: readonly string[];
}

/** What statuses mean to a client code. */
export interface PropertyStatuses extends Readonly<Record<StatusResource, StatusMeanings>> {
  /** Whether any status deducts; null where nobody has mapped it. */
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

/** What every status of the ledger means, by the client code's mapping or by default, for both resources: the ledger does not say whose it is. */
async function statusMeaningsOf(
  on: Queryable,
  clientCode: string,
  { bucket, propertyId }: Property,
): Promise<PropertyStatuses> {
  const found = await on.query<{ status: string }>({ ...readStatuses, values: [bucket, propertyId] });
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

/** What a question is answered by, beside the entries: all of it as of one moment. */
export interface QueryContext {
  readonly settings: PropertySettings;
  readonly statuses: PropertyStatuses;
  /** By the clock of receipt: at or below it no answer changes any more. Null by the source clock. */
  readonly watermark: string | null;
}

/**
 * Answers a question from one snapshot: settings, meanings of statuses and the watermark are read first, then whatever `ask`
 * reads is at least as new. Read only; nothing waits for it and it waits for nothing.
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
      const queryContext = { settings, statuses, watermark };
      return { queryContext, answer: await ask(client, queryContext) };
    },
    { isolation: "repeatable read", readOnly: true },
  );
}
