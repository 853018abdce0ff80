import type pg from "pg";
import { readStatement } from "../db/statement.ts";
import type { ResourceLetter } from "../state/version-tables.ts";

const readBacklogStatement = readStatement(new URL("./sql/read-backlog.sql", import.meta.url));

/** At most this many parts a lane and bucket, and records in all, are read for one transaction. */
const PARTS_MAX = 64;
const RECORDS_TARGET = 2_000;
/** Stored bytes read at once, by apply and replay: the part that passes it is the last. */
export const STORED_BYTES_TARGET = 8 * 1_048_576;

/** One row of the log: the part of a batch that lies in one bucket, or a resolution. */
export interface LogPart {
  readonly bucket: number;
  readonly laneId: string;
  readonly requestId: string;
  readonly kind: "b" | "r" | "d";
  readonly resource: ResourceLetter;
  readonly receivedAt: Date;
  readonly target: { readonly requestId: string; readonly index: number } | null;
  readonly rejectedIndexes: ReadonlySet<number>;
  readonly layout: Buffer | null;
  readonly body: Buffer | null;
}

export interface LogRow {
  bucket: number;
  lane_id: string;
  request_id: string;
  kind: "b" | "r" | "d";
  resource: ResourceLetter;
  received_at: Date;
  target_request_id: string | null;
  target_index: number | null;
  rejections: { index: number }[] | null;
  layout: Buffer | null;
  body: Buffer | null;
}

export function partOf(row: LogRow): LogPart {
  return {
    bucket: row.bucket,
    laneId: row.lane_id,
    requestId: row.request_id,
    kind: row.kind,
    resource: row.resource,
    receivedAt: row.received_at,
    target:
      row.target_request_id === null || row.target_index === null
        ? null
        : { requestId: row.target_request_id, index: row.target_index },
    rejectedIndexes: new Set((row.rejections ?? []).map(({ index }) => index)),
    layout: row.layout,
    body: row.body,
  };
}

/** Reads what is next to be applied of these buckets, in the order of receipt. */
export async function readBacklog(client: pg.ClientBase, buckets: readonly number[]): Promise<LogPart[]> {
  const { rows } = await client.query<LogRow>({
    ...readBacklogStatement,
    values: [buckets, PARTS_MAX, RECORDS_TARGET, STORED_BYTES_TARGET],
  });
  return rows.map(partOf);
}
