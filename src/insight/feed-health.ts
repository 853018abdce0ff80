import { addDays, daysBetween } from "#contract/dates.ts";
import { RESOURCES, type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { PROPERTY_PARAMETERS } from "../query/openapi/read-parameters.ts";
import { OUTCOMES } from "../query/outcome.ts";
import type { Property } from "../query/property.ts";
import { businessDayOf } from "../settings/property-settings.ts";
import type { AnswerDays } from "./days-of-answer.ts";
import * as field from "./fields.ts";
import type { Asked, Insight, InsightResult } from "./insight.ts";
import type { PropertyStatuses, QueryContext } from "./query-context.ts";
import type { StayQuestion } from "./question.ts";
import { readOpenLogWriters } from "./watermark.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Period of the rates. */
const RATES_MS = 7 * DAY_MS;
/** Period of the observed cadence: contains several intervals even of a weekly feed. */
const CADENCE_MS = 28 * DAY_MS;
/** How far back to search for the last push. */
const PUSH_MS = 14 * DAY_MS;
/** Batches further apart than this belong to different pushes. */
const PUSH_PAUSE_MS = HOUR_MS;

const COUNTED = OUTCOMES.filter((outcome) => outcome !== "discarded");
type Counts = Record<"batches" | "warned" | (typeof COUNTED)[number], number>;

/** A feed's share of one apply transaction (`bellhop.feed_arrival`). Times are milliseconds since 1970. */
export interface Arrival extends Readonly<Counts> {
  readonly first_request_id: string;
  readonly first_ms: number;
  readonly last_ms: number;
}

/** Counts of the last seven days; `records` is the sum of the outcomes. */
interface FeedCounts extends Counts {
  readonly records: number;
}

/** Activity of a feed. */
interface FeedPulse {
  readonly lastReceivedMs: number | null;
  /** Hours; null if there are too few batches to measure it. */
  readonly cadenceHours: number | null;
  readonly counts: FeedCounts;
  /** Start of the last group of batches with at least half the records of the largest group. */
  readonly lastPush: { readonly firstRequestId: string; readonly beganMs: number } | null;
}

/**
 * The time-weighted median interval: half of the time lies in intervals no longer than this. A nightly push of ten batches has a cadence of
 * 24 hours, a steady stream one of minutes; the plain median of the push would be the seconds between its batches.
 */
function cadenceOf(arrivals: readonly Arrival[], sinceMs: number): number | null {
  const gaps: { readonly ms: number; readonly times: number }[] = [];
  let later: Arrival | undefined;
  for (const arrival of arrivals) {
    if (arrival.last_ms < sinceMs) break;
    if (later !== undefined) gaps.push({ ms: Math.max(0, later.first_ms - arrival.last_ms), times: 1 });
    if (arrival.batches > 1) {
      const times = arrival.batches - 1;
      gaps.push({ ms: (arrival.last_ms - arrival.first_ms) / times, times });
    }
    later = arrival;
  }
  gaps.sort((one, other) => one.ms - other.ms);
  const totalMs = gaps.reduce((sum, { ms, times }) => sum + ms * times, 0);
  if (totalMs === 0) return null;
  let passedMs = 0;
  for (const { ms, times } of gaps) {
    passedMs += ms * times;
    if (passedMs * 2 >= totalMs) return ms / HOUR_MS;
  }
  return null;
}

/**
 * The last delivery of at least half the records of the largest one. Deliveries are arrivals without a pause between them; counts records
 * that changed something.
 */
function lastPushOf(arrivals: readonly Arrival[], sinceMs: number): FeedPulse["lastPush"] {
  const deliveries: { records: number; first: Arrival }[] = [];
  let later: Arrival | undefined;
  for (const arrival of arrivals) {
    if (arrival.last_ms < sinceMs) break;
    const records = arrival.applied + arrival.unchanged;
    const delivery = deliveries.at(-1);
    if (delivery === undefined || later === undefined || later.first_ms - arrival.last_ms > PUSH_PAUSE_MS)
      deliveries.push({ records, first: arrival });
    else {
      delivery.records += records;
      delivery.first = arrival;
    }
    later = arrival;
  }
  const most = Math.max(0, ...deliveries.map(({ records }) => records));
  const push = deliveries.find(({ records }) => records > 0 && records * 2 >= most);
  return push === undefined
    ? null
    : { firstRequestId: push.first.first_request_id, beganMs: push.first.first_ms };
}

/** A feed's activity from its newest arrivals, newest first. */
export function feedPulse(arrivals: readonly Arrival[], nowMs: number): FeedPulse {
  const recent = arrivals.filter(({ last_ms }) => last_ms >= nowMs - RATES_MS);
  const sumOf = (name: keyof Counts) => recent.reduce((sum, arrival) => sum + arrival[name], 0);
  const outcomes = Object.fromEntries(COUNTED.map((name) => [name, sumOf(name)])) as Counts;
  const records = COUNTED.reduce((sum, name) => sum + outcomes[name], 0);
  return {
    lastReceivedMs: arrivals[0]?.last_ms ?? null,
    cadenceHours: cadenceOf(arrivals, nowMs - CADENCE_MS),
    counts: { ...outcomes, batches: sumOf("batches"), records, warned: sumOf("warned") },
    lastPush: lastPushOf(arrivals, nowMs - PUSH_MS),
  };
}

/** A night with inventory, and the request of its record. */
export interface InventoryNight {
  readonly night: string;
  readonly request_id: string;
  readonly received_ms: number;
}

/** Nights with missing or outdated inventory. */
interface MissingNights {
  /** The last night that the feed usually sends; null if it sends none. */
  readonly horizon: string | null;
  /** Nights up to the horizon without a record. */
  readonly absent: readonly string[];
  /** Nights up to the horizon whose record is older than the last push or than 1.5 times the cadence. */
  readonly stale: readonly string[];
}

/** The horizon is the end of the last window of this many nights of which at least half have records; a longer gap ends the feed. */
const NIGHTS_TOGETHER = 30;
/** Maximum age of a night's record relative to the newest, in cadences: one push may be late. */
const CADENCES_MAX = 1.5;

/** The horizon in days from today. */
function horizonOf(days: readonly number[]): number | null {
  let last: number | null = null;
  let first = 0;
  for (const [at, day] of days.entries()) {
    if (day - (days[at - 1] ?? 0) > NIGHTS_TOGETHER) break;
    while ((days[first] as number) <= day - NIGHTS_TOGETHER) first += 1;
    const possible = Math.min(NIGHTS_TOGETHER, day + 1);
    if ((at - first + 1) * 2 >= possible) last = day;
  }
  return last;
}

/**
 * Nights from the property's business day up to the horizon that lack current inventory. `nights` are ordered and start on that day;
 * `pushBegan` is the first request of the last push, `cadenceHours` the expected interval between pushes (null: unknown).
 */
export function missingNights(
  today: string,
  nights: readonly InventoryNight[],
  pushBegan: string | null,
  cadenceHours: number | null,
): MissingNights {
  const last = horizonOf(nights.map(({ night }) => daysBetween(today, night)));
  if (last === null) return { horizon: null, absent: [], stale: [] };
  const newestMs = nights.reduce((newest, { received_ms }) => Math.max(newest, received_ms), 0);
  const oldestMs = cadenceHours === null ? 0 : newestMs - CADENCES_MAX * cadenceHours * HOUR_MS;
  const known = new Map(nights.map((night) => [night.night, night]));
  const absent: string[] = [];
  const stale: string[] = [];
  for (let day = 0; day <= last; day += 1) {
    const night = addDays(today, day);
    const found = known.get(night);
    if (found === undefined) absent.push(night);
    else if ((pushBegan !== null && found.request_id < pushBegan) || found.received_ms < oldestMs)
      stale.push(night);
  }
  return { horizon: addDays(today, last), absent, stale };
}

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
  field.listField(description, LISTED_NIGHTS_MAX, field.stayDate, ["2026-08-21"]);
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
  unmappedLabels: field.listField(
    "These statuses, most records first.",
    STATUSES_MAX,
    field.objectField("A status.", {
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

async function answer({ client, question, queryContext }: Asked): Promise<InsightResult> {
  const observed = await observe(client, question, queryContext);
  return { items: RESOURCES.map((one) => healthOf(one, observed)), next: null };
}

export const feeds: Insight = {
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
};
