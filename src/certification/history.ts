import type { Resource } from "#contract/resource.ts";
import type { Evidence, SeenRecord } from "./evidence.ts";

/** What was seen of one key: a reservation, a group, a hotel's date. */
export interface KeyHistory {
  /** In the order of receipt, once decided: quarantined, rejected and pending ones are no versions. */
  readonly versions: readonly SeenRecord[];
  /** The one of the newest source time; of several the one received last. */
  readonly latest: SeenRecord;
}

const VERSION_OUTCOMES: ReadonlySet<string> = new Set(["applied", "unchanged", "stale", "duplicate"]);

/** The histories of a resource's keys, in the order in which each was first seen. */
export function historiesOf({ records }: Evidence, resource: Resource): KeyHistory[] {
  const versions = new Map<string, SeenRecord[]>();
  for (const record of records) {
    if (record.resource !== resource || !VERSION_OUTCOMES.has(record.outcome)) continue;
    const id = JSON.stringify([record.clientCode, record.propertyCode, record.key]);
    const seen = versions.get(id);
    if (seen === undefined) versions.set(id, [record]);
    else seen.push(record);
  }
  return [...versions.values()].map((seen) => ({
    versions: seen,
    latest: seen.reduce((newest, one) => (one.sourceTime >= newest.sourceTime ? one : newest)),
  }));
}
