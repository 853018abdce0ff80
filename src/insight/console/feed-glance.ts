import type pg from "pg";
import { RESOURCES, type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import type { FeedGlance } from "../../console/answers.ts";
import { isoOfMicroseconds, microsecondsOf } from "../../ingest/log/request-id.ts";
import { isDistributed } from "../../platform/db/distribution.ts";
import { readStatement } from "../../platform/db/statement.ts";
import { settingsOfClient } from "../../settings/property-settings.ts";

const readArrivals = readStatement(new URL("../../console/sql/read-newest-arrivals.sql", import.meta.url));
const readArrivalsOfBucket = readStatement(
  new URL("../../console/sql/read-newest-arrivals-of-bucket.sql", import.meta.url),
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
  readonly resource: ResourceLetter;
  readonly requestId: string;
}

const placeOf = (at: number, resource: Resource): string => `${at} ${resource}`;

/** The newest request of each property's feeds, by `placeOf`. On Citus a statement a property: each lies on one worker. */
async function newestArrivals(
  pool: pg.Pool,
  properties: readonly GlancedProperty[],
): Promise<Map<string, string>> {
  const newest = new Map<string, string>();
  if (!(await isDistributed(pool))) {
    const values = [properties.map(({ bucket }) => bucket), properties.map(({ propertyId }) => propertyId)];
    const { rows } = await pool.query<ArrivalRow & { place: number }>({ ...readArrivals, values });
    for (const { place, resource, requestId } of rows)
      newest.set(placeOf(place - 1, resourceOf(resource)), requestId);
    return newest;
  }
  for (const [at, { bucket, propertyId }] of properties.entries()) {
    const { rows } = await pool.query<ArrivalRow>({ ...readArrivalsOfBucket, values: [bucket, propertyId] });
    for (const { resource, requestId } of rows) newest.set(placeOf(at, resourceOf(resource)), requestId);
  }
  return newest;
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
  return properties.map(({ clientCode, propertyCode }, at) => {
    const cadence = settings.get(clientCode)?.of(propertyCode).cadence;
    return RESOURCES.map((resource) =>
      glance(resource, newest.get(placeOf(at, resource)), cadence?.[resource] ?? null, nowUs),
    );
  });
}
