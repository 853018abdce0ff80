import type { BodyLayout } from "../accept/body-layout.ts";
import { openLayout } from "../accept/open-layout.ts";
import { type LogPart, type LogRow, partOf } from "../apply/backlog.ts";
import type { ResourceLetter } from "../contract/resource.ts";
import { readStatement } from "../db/statement.ts";
import type { Queryable } from "../db/transaction.ts";

const findLanes = readStatement(new URL("./sql/find-lanes-of-bucket.sql", import.meta.url));
const readParts = readStatement(new URL("./sql/read-parts-of-lane.sql", import.meta.url));

const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";
/** A full batch is 64 MiB at most, a stored one a tenth of that. */
const PARTS_AT_ONCE = 16;

/** How far each lane of a bucket has been read; a later scan goes on behind it. */
export type LanePositions = Map<string, string>;

/** A part of the log with its records, each by its place and its bytes as they are stored; those that were dropped are left out. */
export interface ScannedPart {
  readonly part: LogPart;
  readonly records: readonly ScannedRecord[];
}

export interface ScannedRecord {
  readonly index: number;
  readonly bytes: Buffer;
  /** Its content hash, where that is not the one of its bytes. */
  readonly standIn: string | undefined;
  readonly isRejected: boolean;
}

/** Reads the records of one part. */
export async function scanPart(part: LogPart): Promise<ScannedPart> {
  const { layout, body } = part;
  if (layout === null || body === null) return { part, records: [] };
  const opened = await openLayout(part, layout);
  return { part, records: [...recordsOf(part, opened, body)] };
}

function* recordsOf(part: LogPart, layout: BodyLayout, body: Buffer): Generator<ScannedRecord> {
  let position = -1;
  for (const { index, bytes } of layout.allRecords(body)) {
    position += 1;
    if (bytes.length === 0) continue;
    yield { index, bytes, standIn: layout.standInAt(position), isRejected: part.rejectedIndexes.has(index) };
  }
}

/**
 * Reads the batches of one bucket, lane by lane and in each in the order of receipt, from `positions` on, which are moved. Some
 * parts are in memory at a time.
 */
export async function* scanBucket(
  client: Queryable,
  bucket: number,
  resources: readonly ResourceLetter[],
  positions: LanePositions,
): AsyncGenerator<ScannedPart, void> {
  const lanes = await client.query<{ lane_id: string }>({ ...findLanes, values: [bucket] });
  for (const { lane_id: laneId } of lanes.rows) {
    for (;;) {
      const after = positions.get(laneId) ?? BEFORE_ALL;
      const { rows } = await client.query<LogRow>({
        ...readParts,
        values: [bucket, laneId, after, resources, PARTS_AT_ONCE],
      });
      for (const row of rows) {
        yield await scanPart(partOf(row));
        positions.set(laneId, row.request_id);
      }
      if (rows.length < PARTS_AT_ONCE) break;
    }
  }
}
