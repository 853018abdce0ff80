import type pg from "pg";
import { RESOURCES, type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import type { FeedGlance } from "../../console/answers.ts";
import { isoOfMicroseconds, microsecondsOf } from "../../ingest/log/part-name.ts";
import { queryEachBucket } from "../../platform/db/dialect.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import { settingsOfClient } from "../../settings/property-settings.ts";

/**
 * When the newest batch of each resource that is applied came, of each property $2 in its bucket $1.
 * Plan: for each property and resource a backward scan of one row of feed_arrival's primary key.
 */
const readArrivals = namedStatement(
  "read-newest-arrivals",
  `select wanted.property_id as "propertyId", resource.letter as resource, arrival.last_request_id as "requestId"
  from unnest($1::smallint[], $2::integer[]) as wanted (bucket, property_id)
  cross join unnest('{i,r,g}'::"char"[]) as resource (letter)
  cross join lateral (
    select t.last_request_id
    from bellhop.feed_arrival as t
    where t.bucket = wanted.bucket and t.property_id = wanted.property_id and t.resource = resource.letter /* and its bucket */
    order by t.last_request_id desc
    limit 1
  ) as arrival`,
);
const READ_NOW = { name: "read-now", text: "select clock_timestamp() as now" };

const HOUR_US = 3_600_000_000;

interface GlancedProperty {
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly propertyId: number;
  readonly bucket: number;
}

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

const feedOf = (propertyId: number, resource: Resource): string => `${propertyId} ${resource}`;

/** The newest request of each property's feeds, by `feedOf`. */
async function newestArrivals(
  pool: pg.Pool,
  properties: readonly GlancedProperty[],
): Promise<Map<string, string>> {
  const { rows } = await queryEachBucket<ArrivalRow, GlancedProperty>(
    pool,
    readArrivals,
    properties,
    (some) => [some.map(({ bucket }) => bucket), some.map(({ propertyId }) => propertyId)],
  );
  return new Map(
    rows.map(({ propertyId, resource, requestId }) => [feedOf(propertyId, resourceOf(resource)), requestId]),
  );
}

/** The feeds of each property, in the order of the properties; the caller has bounded how many. */
export async function glanceAtFeeds(
  pool: pg.Pool,
  properties: readonly GlancedProperty[],
): Promise<FeedGlance[][]> {
  const { rows: clock } = await pool.query<{ now: Date }>(READ_NOW);
  const nowUs = (clock[0]?.now.getTime() ?? Date.now()) * 1000;
  const newest = await newestArrivals(pool, properties);
  const codes = [...new Set(properties.map(({ clientCode }) => clientCode))];
  const settings = new Map(
    await Promise.all(codes.map(async (code) => [code, await settingsOfClient(pool, code)] as const)),
  );
  return properties.map(({ clientCode, propertyCode, propertyId }) => {
    const cadence = settings.get(clientCode)?.of(propertyCode).cadence;
    return RESOURCES.map((resource) =>
      glance(resource, newest.get(feedOf(propertyId, resource)), cadence?.[resource] ?? null, nowUs),
    );
  });
}
