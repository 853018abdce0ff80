import type pg from "pg";
import { isoOfMicroseconds, microsecondsOf } from "../accept/request-id.ts";
import { RESOURCES, type Resource, type ResourceLetter, resourceOf } from "../contract/resource.ts";
import { readStatement } from "../db/statement.ts";
import { settingsOfClient } from "../settings/property-settings.ts";

const readArrivals = readStatement(new URL("./sql/read-newest-arrivals.sql", import.meta.url));
const READ_NOW = { name: "read-now", text: "select clock_timestamp() as now" };

const HOUR_US = 3_600_000_000;

/** One feed of a property, as it is told of in a list of many (insight's feed-health says all of one). */
export interface FeedGlance {
  readonly resource: Resource;
  readonly lastReceivedAt: string | null;
  readonly state: "ok" | "silent" | "never";
  /** Null: nothing is expected. */
  readonly cadenceHours: number | null;
}

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

/** The feeds of each property, in the order of the properties; the caller has bounded how many. */
export async function glanceAtFeeds(
  pool: pg.Pool,
  properties: readonly GlancedProperty[],
): Promise<FeedGlance[][]> {
  const { rows: clock } = await pool.query<{ now: Date }>(READ_NOW);
  const nowUs = (clock[0]?.now.getTime() ?? Date.now()) * 1000;
  const buckets = properties.map(({ bucket }) => bucket);
  const ids = properties.map(({ propertyId }) => propertyId);
  const { rows } = await pool.query<{ place: number; resource: ResourceLetter; requestId: string }>({
    ...readArrivals,
    values: [buckets, ids],
  });
  const newest = new Map(rows.map((row) => [`${row.place} ${resourceOf(row.resource)}`, row.requestId]));
  const codes = [...new Set(properties.map(({ clientCode }) => clientCode))];
  const settings = new Map(
    await Promise.all(codes.map(async (code) => [code, await settingsOfClient(pool, code)] as const)),
  );
  return properties.map(({ clientCode, propertyCode }, at) => {
    const cadence = settings.get(clientCode)?.of(propertyCode).cadence;
    return RESOURCES.map((resource) =>
      glance(resource, newest.get(`${at + 1} ${resource}`), cadence?.[resource] ?? null, nowUs),
    );
  });
}
