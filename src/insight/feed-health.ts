import { RESOURCES, type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { PROPERTY_PARAMETERS } from "../query/openapi/read-parameters.ts";
import type { Property } from "../query/property.ts";
import { businessDayOf } from "../settings/business-day.ts";
import type { AnswerDays } from "./days-of-answer.ts";
import { type Arrival, type FeedCounts, feedPulse, HOUR_MS } from "./feed-pulse.ts";
import * as field from "./fields.ts";
import { type Asked, insight } from "./insight.ts";
import { type InventoryNight, type MissingNights, missingNights } from "./missing-nights.ts";
import type { PropertyStatuses, QueryContext } from "./query-context.ts";
import type { StayQuestion } from "./question.ts";
import { readOpenLogWriters } from "./watermark.ts";

const statement = (name: string) => readStatement(new URL(`./sql/${name}.sql`, import.meta.url));
const readArrivals = statement("read-feed-arrivals");
/**
 * At most $4 nights from $3 on with inventory of property $2 in bucket $1, and the request of each. Plan: an index scan of current_record's
 * primary key, whose key is the date.
 */
const readNights = namedStatement(
  "read-inventory-nights",
  `select key as night, request_id,
    extract(epoch from analytics.received_at_of(request_id))::float8 * 1000 as received_ms
  from bellhop_state.current_record
  where bucket = $1 and property_id = $2 and resource = 'i' and key >= $3
  order by key
  limit $4`,
);
const readWaiting = statement("read-waiting-parts");
/** Quarantined records of property $2 in bucket $1 by resource; counts at most $3. Plan: an index scan of quarantine_unresolved. */
const readQuarantined = namedStatement(
  "read-quarantined-counts",
  `select resource, count(*)::integer as records
  from (
    select resource from bellhop.quarantine
    where bucket = $1 and property_id = $2 and state = 'q'
    limit $3
  ) as quarantined
  group by resource`,
);
/**
 * Number of current records of property $2 in bucket $1 in each of the statuses $3. Reads the property's records, so it is used only if
 * such a status exists.
 */
const readStatusUse = namedStatement(
  "read-status-use",
  `select resource, status, count(*)::integer as records
  from bellhop_state.current_record
  where bucket = $1 and property_id = $2 and resource in ('r', 'g') and status = any ($3::text[])
  group by resource, status
  order by resource, count(*) desc, status`,
);

/** Limits of what one answer reads: some tens of milliseconds each. */
const ARRIVALS_MAX = 2_000;
const NIGHTS_READ_MAX = 2_000;
const WAITING_MAX = 1_000;
const QUARANTINED_MAX = 1_000;
/** Limits of what one answer lists. */
const LISTED_NIGHTS_MAX = 400;
const STATUSES_MAX = 100;
const NO_NIGHTS: MissingNights = { horizon: null, absent: [], stale: [] };

const nights = (description: string) =>
  field.list(description, LISTED_NIGHTS_MAX, field.stayDate, ["2026-08-21"]);
const FIELDS = {
  propertyCode: field.code("The property code.", "LIS01"),
  resource: field.resource("The resource of the feed.", "inventories"),
  lastReceivedAt: field.orNull(
    field.time("When the last applied batch was received; null: there is none.", "2026-07-14T02:01:17.052Z"),
  ),
  cadenceHours: field.hoursOrNull(
    "The observed hours between batches: half of the last 28 days lies in intervals no longer than this. Null: too few batches.",
    24.01,
  ),
  expectedCadenceHours: field.hoursOrNull(
    "The expected hours between batches, from the settings; null: none are expected.",
    24,
  ),
  silent: field.flag("Whether the last batch is older than expected.", false),
  silentHours: field.hoursOrNull("Hours overdue; null if the feed is not silent.", 3.5),
  waiting: field.count(
    "Batches waiting to be applied that may have records of the property, from clients with a grant for it: an upper bound.",
    0,
  ),
  oldestWaitingAt: field.orNull(
    field.time("When the oldest of them was received.", "2026-07-14T09:30:00.120Z"),
  ),
  batches: field.count("Batches of the last 7 days.", 56),
  records: field.count("Records of those batches.", 5_110),
  stale: field.count("Records older than the current version.", 2),
  duplicate: field.count("Records that had been received already.", 0),
  rejected: field.count("Invalid records of lenient batches.", 1),
  warned: field.count("Records with warnings.", 14),
  rejectionRate: field.decimalOrNull("`rejected` of `records`, 0 to 1; null: no records.", "0.0002"),
  warningRate: field.decimalOrNull("`warned` of `records`, 0 to 1.", "0.0027"),
  quarantined: field.count("Records in quarantine now; at most 1,000 are counted.", 0),
  unmappedLabelCount: field.count("Unmapped statuses that current records carry.", 1),
  unmappedLabels: field.list(
    "These statuses, most records first.",
    STATUSES_MAX,
    field.objectOf("A status.", {
      label: field.code("As sent.", "ON HOLD"),
      records: field.count("Current records that carry it.", 4),
    }),
    [{ label: "ON HOLD", records: 4 }],
  ),
  nightsTo: field.orNull(field.day("For inventories: the last night that is usually sent.", "2028-07-12")),
  lastPushAt: field.orNull(
    field.time("For inventories: when the last push began.", "2026-07-14T02:00:02.552Z"),
  ),
  missingNightCount: field.count("Nights from the current business day to `nightsTo` without a record.", 1),
  missingNights: nights("Those nights, at most 400."),
  staleNightCount: field.count("Nights up to `nightsTo` that the last push left out.", 1),
  staleNights: nights("Those nights, at most 400."),
};

/** Health of one feed of a property. */
export type FeedHealth = field.ValuesOf<typeof FIELDS>;

/** Health of a property's feeds: one item per resource, including resources never sent. */
export type PropertyFeedHealth = AnswerDays & {
  readonly items: readonly FeedHealth[];
};

const isoOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
const twoPlaces = (hours: number): number => Math.round(hours * 100) / 100;
const rateOf = (some: number, { records }: FeedCounts): string | null =>
  records === 0 ? null : (some / records).toFixed(4);

interface Waiting {
  readonly resource: ResourceLetter;
  readonly parts: number;
  readonly oldest_ms: number;
}

function healthOf(resource: Resource, observed: Awaited<ReturnType<typeof observe>>): FeedHealth {
  const { propertyCode, settings, nowMs, pulseOf, waiting, quarantined } = observed;
  const { lastReceivedMs, cadenceHours, counts, lastPush } = pulseOf(resource);
  const nights = resource === "inventories" ? observed.nights : NO_NIGHTS;
  const expected = settings.cadence[resource];
  const sinceHours = lastReceivedMs === null ? 0 : (nowMs - lastReceivedMs) / HOUR_MS;
  const silent = expected !== null && sinceHours > expected;
  const unmapped = observed.unmapped.filter((one) => one.resource === resource);
  const waits = waiting.find((one) => resourceOf(one.resource) === resource);
  return {
    propertyCode,
    resource,
    lastReceivedAt: isoOf(lastReceivedMs),
    cadenceHours: cadenceHours === null ? null : twoPlaces(cadenceHours),
    expectedCadenceHours: expected,
    silent,
    silentHours: silent ? twoPlaces(sinceHours - expected) : null,
    waiting: waits?.parts ?? 0,
    oldestWaitingAt: isoOf(waits?.oldest_ms ?? null),
    batches: counts.batches,
    records: counts.records,
    stale: counts.stale,
    duplicate: counts.duplicate,
    rejected: counts.rejected,
    warned: counts.warned,
    rejectionRate: rateOf(counts.rejected, counts),
    warningRate: rateOf(counts.warned, counts),
    quarantined: quarantined.get(resource) ?? 0,
    unmappedLabelCount: unmapped.length,
    unmappedLabels: unmapped
      .slice(0, STATUSES_MAX)
      .map(({ status, records }) => ({ label: status, records })),
    nightsTo: nights.horizon,
    lastPushAt: resource === "inventories" ? isoOf(lastPush?.beganMs ?? null) : null,
    missingNights: nights.absent.slice(0, LISTED_NIGHTS_MAX),
    missingNightCount: nights.absent.length,
    staleNights: nights.stale.slice(0, LISTED_NIGHTS_MAX),
    staleNightCount: nights.stale.length,
  };
}

/** Current records in unmapped statuses. Records are read only if the ledger contains such a status. */
async function readUnmapped(
  on: Queryable,
  { bucket, propertyId }: Property,
  { reservations, groups }: PropertyStatuses,
) {
  const unmapped = { reservations: new Set(reservations.unmapped), groups: new Set(groups.unmapped) };
  const either = [...new Set([...reservations.unmapped, ...groups.unmapped])];
  if (either.length === 0) return [];
  const { rows } = await on.query<{ resource: ResourceLetter; status: string; records: number }>({
    ...readStatusUse,
    values: [bucket, propertyId, either],
  });
  return rows
    .map((row) => ({ ...row, resource: resourceOf(row.resource) }))
    .filter(({ resource, status }) => resource !== "inventories" && unmapped[resource].has(status));
}

/** Reads the data for one answer; each statement is bounded whatever the property has sent. */
async function observe(
  on: Queryable,
  { clientCode, propertyCode, property }: StayQuestion,
  { settings, statuses }: QueryContext,
) {
  const { now, logWriters } = await readOpenLogWriters(on);
  const nowMs = now.getTime();
  const which = [property.bucket, property.propertyId];
  const arrivals = await on.query<Arrival & { readonly resource: ResourceLetter }>({
    ...readArrivals,
    values: [...which, ARRIVALS_MAX],
  });
  const byResource = Map.groupBy(arrivals.rows, ({ resource }) => resourceOf(resource));
  const pulseOf = (wanted: Resource) => feedPulse(byResource.get(wanted) ?? [], nowMs);
  const today = businessDayOf(now, settings);
  const nights = await on.query<InventoryNight>({
    ...readNights,
    values: [...which, today, NIGHTS_READ_MAX],
  });
  const waiting = await on.query<Waiting>({
    ...readWaiting,
    values: [property.bucket, logWriters, WAITING_MAX, clientCode, propertyCode],
  });
  const quarantined = await on.query<{ resource: ResourceLetter; records: number }>({
    ...readQuarantined,
    values: [...which, QUARANTINED_MAX],
  });
  const pushBegan = pulseOf("inventories").lastPush?.firstRequestId ?? null;
  return {
    propertyCode,
    settings,
    nowMs,
    today,
    pulseOf,
    waiting: waiting.rows,
    nights: missingNights(today, nights.rows, pushBegan, settings.cadence.inventories),
    quarantined: new Map(quarantined.rows.map(({ resource, records }) => [resourceOf(resource), records])),
    unmapped: await readUnmapped(on, property, statuses),
  };
}

async function answer({ client, question, queryContext }: Asked) {
  const observed = await observe(client, question, queryContext);
  return { items: RESOURCES.map((one) => healthOf(one, observed)), next: null };
}

export const feeds = insight({
  name: "feed-health",
  operationId: "getFeedHealth",
  summary: "Get feed health",
  description:
    "For each resource: the last batch, the usual interval between batches, whether the feed is silent, the backlog, the outcomes of recent records, unmapped statuses, and missing nights of inventory.",
  parameters: PROPERTY_PARAMETERS,
  item: {
    name: "FeedHealthItem",
    description: "One feed of a property.",
    fields: FIELDS,
    notInCsv: ["unmappedLabels", "missingNights", "staleNights"],
  },
  page: {
    name: "FeedHealthPage",
    description: "The feeds of a property.",
  },
  position: [],
  answer,
});
