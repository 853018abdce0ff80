import { RESOURCES, type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { isoOfMicroseconds, microsecondsOf } from "../../ingest/log/part-name.ts";
import { ofBucket, queryEachBucket } from "../../platform/db/dialect.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import type { Property, PropertyCodes } from "../../query/property.ts";
import { type PropertySettings, settingsOfClients } from "../../settings/property-settings.ts";
import type { FeedGlance } from "./answers.ts";

/**
 * The newest applied batch of each resource, of each property $2 in its bucket $1. Plan: a backward scan of one row of feed_arrival's
 * primary key per property and resource.
 */
const readArrivals = {
  name: "read-newest-arrivals",
  ...ofBucket(
    3,
    ({
      andBucket,
    }) => `select wanted.property_id as "propertyId", resource.letter as resource, arrival.last_request_id as "requestId"
  from unnest($1::smallint[], $2::integer[]) as wanted (bucket, property_id)
  cross join unnest('{i,r,g}'::"char"[]) as resource (letter)
  cross join lateral (
    select t.last_request_id
    from bellhop.feed_arrival as t
    where t.bucket = wanted.bucket and t.property_id = wanted.property_id and t.resource = resource.letter ${andBucket}
    order by t.last_request_id desc
    limit 1
  ) as arrival`,
  ),
};
const READ_NOW = { name: "read-now", text: "select clock_timestamp() as now" };

const HOUR_US = 3_600_000_000;

type GlancedProperty = Property & PropertyCodes;

function glance(
  resource: Resource,
  newest: string | undefined,
  cadenceHours: number | null,
  nowUs: number,
): FeedGlance {
  if (newest === undefined) return { resource, lastReceivedAt: null, state: "never", cadenceHours };
  const receivedUs = microsecondsOf(newest);
  const isSilent = cadenceHours !== null && nowUs - receivedUs > cadenceHours * HOUR_US;
  return {
    resource,
    lastReceivedAt: isoOfMicroseconds(receivedUs),
    state: isSilent ? "silent" : "ok",
    cadenceHours,
  };
}

interface ArrivalRow {
  readonly propertyId: number;
  readonly resource: ResourceLetter;
  readonly requestId: string;
}

/** The newest request of each feed, by property id. */
export async function newestArrivals(
  on: Queryable,
  properties: readonly Property[],
): Promise<Map<number, Map<Resource, string>>> {
  const { rows } = await queryEachBucket<ArrivalRow, Property>(on, readArrivals, properties, (some) => [
    some.map(({ bucket }) => bucket),
    some.map(({ propertyId }) => propertyId),
  ]);
  const newest = new Map<number, Map<Resource, string>>();
  for (const { propertyId, resource, requestId } of rows) {
    const arrivals = newest.get(propertyId) ?? new Map<Resource, string>();
    newest.set(propertyId, arrivals.set(resourceOf(resource), requestId));
  }
  return newest;
}

/** Feeds and settings of each property, in order; the caller limits how many. */
export async function readFeedGlances(
  on: Queryable,
  properties: readonly GlancedProperty[],
): Promise<{ readonly feeds: FeedGlance[]; readonly settings: PropertySettings | undefined }[]> {
  const { rows: clock } = await on.query<{ now: Date }>(READ_NOW);
  const nowUs = (clock[0]?.now.getTime() ?? Date.now()) * 1000;
  const newest = await newestArrivals(on, properties);
  const codes = [...new Set(properties.map(({ clientCode }) => clientCode))];
  const ofClients = await settingsOfClients(on, codes);
  return properties.map(({ clientCode, propertyCode, propertyId }) => {
    const settings = ofClients.get(clientCode)?.of(propertyCode);
    const arrivals = newest.get(propertyId);
    const feeds = RESOURCES.map((resource) =>
      glance(resource, arrivals?.get(resource), settings?.cadence[resource] ?? null, nowUs),
    );
    return { feeds, settings };
  });
}
