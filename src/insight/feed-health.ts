import { RESOURCES, type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { businessDayOf, type PropertySettings } from "../settings/property-settings.ts";
import type { PropertyLabels, QueryContext } from "./query-context.ts";
import { addDays, daysBetween } from "./question.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** What rates are of. */
const RATES_MS = 7 * DAY_MS;
/** What the observed cadence is of: feeds that come once a week have a few intervals in it. */
const CADENCE_MS = 28 * DAY_MS;
/** Where the last push is looked for. */
const PUSH_MS = 14 * DAY_MS;
/** Batches further apart than this are not of one push. */
const PUSH_PAUSE_MS = HOUR_MS;

/** What one apply transaction had of a feed (`bellhop.feed_arrival`). Times are milliseconds since 1970. */
export interface Arrival {
  readonly first_request_id: string;
  readonly first_ms: number;
  readonly last_ms: number;
  readonly batches: number;
  readonly applied: number;
  readonly unchanged: number;
  readonly stale: number;
  readonly duplicate: number;
  readonly quarantined: number;
  readonly rejected: number;
  readonly warned: number;
}

/** What became of the records of the last seven days. `records` is the sum of all others but `warned` and `batches`. */
interface FeedCounts {
  readonly batches: number;
  readonly records: number;
  readonly applied: number;
  readonly unchanged: number;
  readonly stale: number;
  readonly duplicate: number;
  readonly quarantined: number;
  readonly rejected: number;
  readonly warned: number;
}

/** How a feed comes. */
interface FeedPulse {
  readonly lastReceivedMs: number | null;
  /** Hours; null where there is nothing to tell it by. */
  readonly cadenceHours: number | null;
  readonly counts: FeedCounts;
  /** The first request of the last batches that together had at least half the records of the most there were. */
  readonly lastPush: { readonly firstRequestId: string; readonly beganMs: number } | null;
}

/**
 * The interval at which half of the time is spent in intervals that are no longer: what somebody who looks at any moment
 * finds to lie between the batch before and the next. A nightly push of ten batches comes every 24 hours by it, and a
 * steady stream every few minutes; the plain median of the push's intervals would be the seconds between its batches.
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

/** Deliveries, newest first: what came without a pause, with the records that said something of a night now. */
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

/** How a feed comes, by its newest arrivals, newest first. */
export function feedPulse(arrivals: readonly Arrival[], nowMs: number): FeedPulse {
  const counts = {
    batches: 0,
    applied: 0,
    unchanged: 0,
    stale: 0,
    duplicate: 0,
    quarantined: 0,
    rejected: 0,
  };
  let warned = 0;
  for (const arrival of arrivals) {
    if (arrival.last_ms < nowMs - RATES_MS) break;
    for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] += arrival[name];
    warned += arrival.warned;
  }
  const { batches, ...outcomes } = counts;
  const records = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  return {
    lastReceivedMs: arrivals[0]?.last_ms ?? null,
    cadenceHours: cadenceOf(arrivals, nowMs - CADENCE_MS),
    counts: { batches, records, ...outcomes, warned },
    lastPush: lastPushOf(arrivals, nowMs - PUSH_MS),
  };
}

/** A night that there is inventory of, and the request that its record is from. */
export interface InventoryNight {
  readonly night: string;
  readonly request_id: string;
  readonly received_ms: number;
}

/** Nights of inventory that are not there, or not fresh. */
interface MissingNights {
  /** The last night that the feed usually sends; null where it sends none. */
  readonly horizon: string | null;
  /** Nights up to it that have no record. */
  readonly absent: readonly string[];
  /** Nights up to it whose record is older than the last push, or than the feed's cadence and a half. */
  readonly stale: readonly string[];
}

/**
 * So many nights are looked at together to tell where a feed ends from a night that somebody sent far ahead; and a feed
 * ends where so many are missing one after another.
 */
const NIGHTS_TOGETHER = 30;
/** How much older than the newest a night may be, in cadences: one push may come late, but none may leave it out. */
const CADENCES_MAX = 1.5;

/** The last night, in days from today, of those before which, together, at least half are there. */
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
 * Which nights from a property's business day on are missing, up to the horizon that it usually sends. `nights` are in order
 * and from that day on; `pushBegan` is the request with which the last push began, `cadenceHours` how far apart pushes are
 * expected to be (null: not known).
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
 * The nights from $3 on that the property $2 in the bucket $1 has inventory of, and the request that each is from: at most $4.
 * An index scan of current_record's primary key: an inventory's key is its date.
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
/**
 * Records of the property $2 in the bucket $1 that are held in quarantine now, by resource: at most $3 are counted.
 * An index scan of quarantine_held.
 */
const readHeld = namedStatement(
  "read-held-counts",
  `select resource, count(*)::integer as records
  from (
    select resource from bellhop.quarantine
    where bucket = $1 and property_id = $2 and state = 'h'
    limit $3
  ) as held
  group by resource`,
);
/**
 * How many current records of the property $2 in the bucket $1 carry each of the labels $3. Reads the property's records, so
 * it is asked only where there is such a label.
 */
const readLabelUse = namedStatement(
  "read-label-use",
  `select resource, status as label, count(*)::integer as records
  from bellhop_state.current_record
  where bucket = $1 and property_id = $2 and resource in ('r', 'g') and status = any ($3::text[])
  group by resource, status
  order by resource, count(*) desc, status`,
);
const READ_LOG_WRITERS = {
  name: "read-unretired-log-writers",
  text: "select log_writer_id::text as log_writer_id, clock_timestamp() as now from bellhop.log_writer where retired_at is null",
};

/** What one answer may cost: some tens of milliseconds each. */
const ARRIVALS_MAX = 2_000;
const NIGHTS_READ_MAX = 2_000;
const WAITING_MAX = 1_000;
const HELD_MAX = 1_000;
/** What one answer may list. */
const LISTED_NIGHTS_MAX = 400;
const LISTED_LABELS_MAX = 100;
const NO_NIGHTS: MissingNights = { horizon: null, absent: [], stale: [] };

/** A property as the tables know it. */
interface FeedProperty {
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly propertyId: number;
  readonly bucket: number;
}

/** How one feed of a property does. Times are ISO 8601 UTC, hours have two places, rates are of 1 and have four. */
export interface FeedHealth {
  readonly propertyCode: string;
  readonly resource: Resource;
  /** When the last batch came that is applied; null: none ever. */
  readonly lastReceivedAt: string | null;
  /** The interval in which half of the last 28 days was spent, or less; null: too few batches to tell. */
  readonly cadenceHours: number | null;
  /** The property's setting; null: nothing is expected. */
  readonly expectedCadenceHours: number | null;
  readonly silent: boolean;
  /** Hours beyond the expected cadence; null where it is not silent. */
  readonly silentHours: number | null;
  /** Batches accepted and not applied yet in the property's bucket, which it shares with others. */
  readonly waiting: number;
  readonly oldestWaitingAt: string | null;
  /** Of the last seven days. */
  readonly batches: number;
  readonly records: number;
  readonly stale: number;
  readonly duplicate: number;
  readonly rejected: number;
  readonly warned: number;
  readonly rejectionRate: string | null;
  readonly warningRate: string | null;
  /** Records held now. */
  readonly quarantined: number;
  readonly unmappedLabelCount: number;
  /** Labels that nobody has mapped, with the current records that carry them, most first; at most 100. */
  readonly unmappedLabels: readonly { readonly label: string; readonly records: number }[];
  /** Of inventories, from the business day on: the last night that is usually sent. */
  readonly nightsTo: string | null;
  /** When the last push of it began. */
  readonly lastPushAt: string | null;
  /** Nights up to it without a record; at most 400 are listed. */
  readonly missingNights: readonly string[];
  readonly missingNightCount: number;
  /** Nights up to it that the last push left out; at most 400 are listed. */
  readonly staleNights: readonly string[];
  readonly staleNightCount: number;
}

/** How all feeds of a property do. */
export interface PropertyFeedHealth {
  readonly items: readonly FeedHealth[];
  /** The property's business day, and the moment of the answer. */
  readonly businessDay: string;
  readonly readAt: string;
}

const isoOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
const twoPlaces = (hours: number): number => Math.round(hours * 100) / 100;
const rateOf = (some: number, { records }: FeedCounts): string | null =>
  records === 0 ? null : (some / records).toFixed(4);

interface Waiting {
  readonly resource: ResourceLetter;
  readonly parts: number;
  readonly oldest_ms: number;
}

interface Observed {
  readonly property: FeedProperty;
  readonly settings: PropertySettings;
  readonly nowMs: number;
  readonly pulses: Readonly<Record<Resource, FeedPulse>>;
  readonly nights: MissingNights;
  readonly waiting: readonly Waiting[];
  readonly held: ReadonlyMap<Resource, number>;
  readonly labels: readonly {
    readonly resource: Resource;
    readonly label: string;
    readonly records: number;
  }[];
}

function healthOf(resource: Resource, observed: Observed): FeedHealth {
  const { property, settings, nowMs, pulses, waiting, held, labels } = observed;
  const { lastReceivedMs, cadenceHours, counts, lastPush } = pulses[resource];
  const nights = resource === "inventories" ? observed.nights : NO_NIGHTS;
  const expected = settings.cadence[resource];
  const sinceHours = lastReceivedMs === null ? 0 : (nowMs - lastReceivedMs) / HOUR_MS;
  const silent = expected !== null && sinceHours > expected;
  const unmapped = labels.filter((one) => one.resource === resource);
  const waits = waiting.find((one) => resourceOf(one.resource) === resource);
  return {
    propertyCode: property.propertyCode,
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
    quarantined: held.get(resource) ?? 0,
    unmappedLabelCount: unmapped.length,
    unmappedLabels: unmapped.slice(0, LISTED_LABELS_MAX).map(({ label, records }) => ({ label, records })),
    nightsTo: nights.horizon,
    lastPushAt: resource === "inventories" ? isoOf(lastPush?.beganMs ?? null) : null,
    missingNights: nights.absent.slice(0, LISTED_NIGHTS_MAX),
    missingNightCount: nights.absent.length,
    staleNights: nights.stale.slice(0, LISTED_NIGHTS_MAX),
    staleNightCount: nights.stale.length,
  };
}

/** Current records under labels that mean nothing yet. Records are read only where the ledger knows such a label. */
async function readUnmapped(
  on: Queryable,
  property: FeedProperty,
  { reservations, groups }: PropertyLabels,
): Promise<Observed["labels"]> {
  const unmapped = { reservations: new Set(reservations.unmapped), groups: new Set(groups.unmapped) };
  const either = [...new Set([...reservations.unmapped, ...groups.unmapped])];
  if (either.length === 0) return [];
  const { rows } = await on.query<{ resource: ResourceLetter; label: string; records: number }>({
    ...readLabelUse,
    values: [property.bucket, property.propertyId, either],
  });
  return rows
    .map((row) => ({ ...row, resource: resourceOf(row.resource) }))
    .filter(({ resource, label }) => resource !== "inventories" && unmapped[resource].has(label));
}

/** What is asked of the database, statement by statement, each bounded whatever the property has sent. */
async function observe(
  on: Queryable,
  property: FeedProperty,
  { settings, labels }: Pick<QueryContext, "settings" | "labels">,
): Promise<Observed> {
  const { bucket, propertyId, clientCode, propertyCode } = property;
  const logWriters = await on.query<{ log_writer_id: string; now: Date }>(READ_LOG_WRITERS);
  const nowMs = logWriters.rows[0]?.now.getTime() ?? Date.now();
  const which = [bucket, propertyId];
  const arrivals = await on.query<Arrival & { readonly resource: ResourceLetter }>({
    ...readArrivals,
    values: [...which, ARRIVALS_MAX],
  });
  const pulseOf = (wanted: Resource) =>
    feedPulse(
      arrivals.rows.filter(({ resource }) => resourceOf(resource) === wanted),
      nowMs,
    );
  const pulses = {
    inventories: pulseOf("inventories"),
    reservations: pulseOf("reservations"),
    groups: pulseOf("groups"),
  };
  const today = businessDayOf(new Date(nowMs), settings);
  const nights = await on.query<InventoryNight>({
    ...readNights,
    values: [...which, today, NIGHTS_READ_MAX],
  });
  const logWriterIds = logWriters.rows.map(({ log_writer_id }) => log_writer_id);
  const waiting = await on.query<Waiting>({
    ...readWaiting,
    values: [bucket, logWriterIds, WAITING_MAX, clientCode, propertyCode],
  });
  const held = await on.query<{ resource: ResourceLetter; records: number }>({
    ...readHeld,
    values: [...which, HELD_MAX],
  });
  const pushBegan = pulses.inventories.lastPush?.firstRequestId ?? null;
  return {
    property,
    settings,
    nowMs,
    pulses,
    waiting: waiting.rows,
    nights: missingNights(today, nights.rows, pushBegan, settings.cadence.inventories),
    held: new Map(held.rows.map(({ resource, records }) => [resourceOf(resource), records])),
    labels: await readUnmapped(on, property, labels),
  };
}

/** How the feeds of a property do now: an item for each resource, also for those that it never sent. */
export async function feedHealth(
  on: Queryable,
  property: FeedProperty,
  queryContext: Pick<QueryContext, "settings" | "labels">,
): Promise<PropertyFeedHealth> {
  const observed = await observe(on, property, queryContext);
  const now = new Date(observed.nowMs);
  return {
    items: RESOURCES.map((resource) => healthOf(resource, observed)),
    businessDay: businessDayOf(now, queryContext.settings),
    readAt: now.toISOString(),
  };
}
