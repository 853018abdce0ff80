import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type pg from "pg";
import { RESOURCES } from "#contract/resource.ts";

/** A line as the consumer kept it. */
interface KeptChange {
  readonly resource: string;
  readonly propertyCode: string;
  readonly key: string;
  readonly sourceTime: string;
  readonly requestId: string;
  readonly index: number;
  readonly digest: string;
}

/** What a consumer kept, held against what the tables have. */
export interface FeedFindings {
  /** Changes that the tables have, and that the consumer received. */
  readonly changes: number;
  readonly delivered: number;
  /** Reported twice: that changed back (a copy that was received earlier was applied later). */
  readonly changedBack: number;
  readonly missed: number;
  readonly repeated: number;
  readonly problems: readonly string[];
}

interface StoredChange {
  readonly identity: string;
  readonly of: string;
  readonly bucket: number;
  readonly change_no: number;
  readonly request_id: string;
  readonly record_index: number;
}

const TABLES = { inventories: "inventory", reservations: "reservation", groups: "group" } as const;

/** Every change that the tables have, in the order of its number; of which record and source time it is. */
async function readStored(pool: pg.Pool): Promise<StoredChange[]> {
  const stored: StoredChange[] = [];
  for (const resource of RESOURCES) {
    const { rows } = await pool.query<StoredChange>(
      `select concat_ws(' ', $1::text, property_code, version.key) as of,
        concat_ws(' ', $1::text, property_code, version.key, to_char(version.source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) as identity,
        version.bucket, version.change_no::float8 as change_no, version.request_id, version.record_index
      from bellhop_state.${TABLES[resource]}_version as version
      join bellhop.property using (property_id)
      where version.change_no is not null`,
      [resource],
    );
    stored.push(...rows);
  }
  return stored.sort((left, right) => left.change_no - right.change_no);
}

async function* keptLines(path: string): AsyncGenerator<KeptChange> {
  for await (const json of createInterface({ input: createReadStream(path) })) {
    const line = JSON.parse(json) as KeptChange & { readonly type: string };
    if (line.type === "change") yield line;
  }
}

/** The last that was reported of a record, and at which place among all that was. */
interface LastDelivered {
  readonly sourceTime: string;
  readonly digest: string;
  readonly place: number;
}

/**
 * Compares the consumed feed with the tables: every change once, those of a record in order of source time, those of a
 * bucket by number, and the last of each record is current. Identifies versions by source time and content, because
 * their receipt may have changed.
 */
export async function checkFeed(pool: pg.Pool, path: string): Promise<FeedFindings> {
  const stored = await readStored(pool);
  const problems: string[] = [];
  const lastOf = new Map<string, LastDelivered>();
  /** Of each record and source time, the contents that were reported, and the receipts. */
  const contents = new Map<string, Map<string, number>>();
  const receipts = new Map<string, number>();
  let delivered = 0;
  let [repeated, changedBack] = [0, 0];
  for await (const change of keptLines(path)) {
    delivered += 1;
    const of = `${change.resource} ${change.propertyCode} ${change.key}`;
    const identity = `${of} ${change.sourceTime}`;
    const before = lastOf.get(of);
    if (before !== undefined && before.sourceTime > change.sourceTime)
      problems.push(`${identity} was reported after ${before.sourceTime}`);
    const digests = contents.get(identity) ?? new Map<string, number>();
    contents.set(identity, digests);
    const times = (digests.get(change.digest) ?? 0) + 1;
    digests.set(change.digest, times);
    if (times > 1) {
      // It changed back if another content of the same source time was reported in between.
      if (digests.size > 1 && before?.digest !== change.digest) changedBack += 1;
      else {
        repeated += 1;
        problems.push(`${identity} was reported again`);
      }
    }
    receipts.set(`${change.requestId}/${change.index}`, delivered);
    lastOf.set(of, { sourceTime: change.sourceTime, digest: change.digest, place: delivered });
  }
  const missed = findMissed(stored, contents, problems);
  checkNumbers(stored, receipts, problems);
  checkLast(stored, receipts, lastOf, problems);
  return { changes: stored.length, delivered, changedBack, missed, repeated, problems };
}

/** Of each record and source time as many contents are reported as there are changes. */
function findMissed(
  stored: readonly StoredChange[],
  contents: ReadonlyMap<string, ReadonlyMap<string, number>>,
  problems: string[],
): number {
  const changes = new Map<string, number>();
  for (const { identity } of stored) changes.set(identity, (changes.get(identity) ?? 0) + 1);
  let missed = 0;
  for (const [identity, count] of changes) {
    const lacking = count - (contents.get(identity)?.size ?? 0);
    if (lacking <= 0) continue;
    missed += lacking;
    problems.push(`${identity}: ${lacking} of ${count} changes were never reported`);
  }
  return missed;
}

/** Within a bucket what was reported later has the greater number; of those whose receipt is still the one that was reported. */
function checkNumbers(
  stored: readonly StoredChange[],
  receipts: ReadonlyMap<string, number>,
  problems: string[],
): void {
  const last = new Map<number, { place: number; identity: string }>();
  for (const { bucket, identity, request_id, record_index } of stored) {
    const place = receipts.get(`${request_id}/${record_index}`);
    if (place === undefined) continue;
    const before = last.get(bucket);
    if (before !== undefined && place < before.place)
      problems.push(`${identity} was reported before ${before.identity}, which has the smaller number`);
    last.set(bucket, { place, identity });
  }
}

/** What was reported last of a record is its last change. */
function checkLast(
  stored: readonly StoredChange[],
  receipts: ReadonlyMap<string, number>,
  lastOf: ReadonlyMap<string, LastDelivered>,
  problems: string[],
): void {
  for (const { of, identity, request_id, record_index } of new Map(
    stored.map((change) => [change.of, change]),
  ).values()) {
    const last = lastOf.get(of);
    const place = receipts.get(`${request_id}/${record_index}`);
    const isLast = `${of} ${last?.sourceTime}` === identity && (place === undefined || place === last?.place);
    if (!isLast)
      problems.push(`${of} was reported last as of ${last?.sourceTime}, and its last change is ${identity}`);
  }
}
