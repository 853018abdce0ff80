import { RESOURCES, type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { businessDayOf } from "../settings/business-day.ts";
import type { PropertySettings } from "../settings/property-settings.ts";
import { type Arrival, type FeedCounts, type FeedPulse, feedPulse } from "./feed-pulse.ts";
import type { PropertyLabels } from "./label-meanings.ts";
import { type InventoryNight, type MissingNights, missingNights } from "./missing-nights.ts";
import type { QueryContext } from "./query-context.ts";

const statement = (name: string) => readStatement(new URL(`./sql/${name}.sql`, import.meta.url));
const readArrivals = statement("read-feed-arrivals");
const readNights = statement("read-inventory-nights");
const readWaiting = statement("read-waiting-parts");
const readHeld = statement("read-held-counts");
const readLabelUse = statement("read-label-use");
const READ_LOG_WRITERS = {
  name: "read-unretired-log-writers",
  text: "select log_writer_id::text as log_writer_id, clock_timestamp() as now from bellhop.log_writer where retired_at is null",
};

/** What one answer may cost: some tens of milliseconds each. */
const ARRIVALS_MAX = 2_000;
const NIGHTS_MAX = 2_000;
const WAITING_MAX = 1_000;
const HELD_MAX = 1_000;
/** What one answer may list. */
const LISTED_NIGHTS_MAX = 400;
const LISTED_LABELS_MAX = 100;
const HOUR_MS = 3_600_000;
const NO_NIGHTS: MissingNights = { horizon: null, absent: [], stale: [] };

/** A property as the tables know it. */
export interface FeedProperty {
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
  const nights = await on.query<InventoryNight>({ ...readNights, values: [...which, today, NIGHTS_MAX] });
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
