import type pg from "pg";
import { RESOURCES, type Resource } from "#contract/resource.ts";
import { openLayout } from "../../src/ingest/log/stored-body.ts";
import { type JudgedRecord, judge } from "../workload/expected-state.ts";
import { batchNumberOf } from "./batch-source.ts";

/** A record as it lies in the log. */
export interface StoredRecord extends JudgedRecord {
  readonly requestId: string;
  readonly index: number;
  readonly json: string;
  /** The batch that it says it is of. */
  readonly batch: number;
  /** Its letter in the outcomes of its part; `none` when the part has none or too few. */
  readonly outcome: string;
}

interface LogRow {
  readonly bucket: number;
  readonly request_id: string;
  readonly resource: string;
  readonly record_count: number;
  readonly layout: Buffer;
  readonly body: Buffer;
  readonly outcomes: string | null;
}

const KEY_FIELDS = {
  inventories: "occupancyDate",
  reservations: "reservationId",
  groups: "groupCode",
} as const satisfies Record<Resource, string>;

/** Every record of the log in the order of receipt: request id, then its index in the batch as sent. */
export async function readStoredRecords(pool: pg.Pool): Promise<StoredRecord[]> {
  const { rows } = await pool.query<LogRow>(
    `select log.bucket, log.request_id, log.resource::text, log.record_count, log.layout, log.body, outcome.outcomes
    from bellhop.accept_log log left join bellhop.request_outcome outcome using (bucket, request_id)`,
  );
  const records: StoredRecord[] = [];
  for (const row of rows) {
    const layout = await openLayout({ bucket: row.bucket, requestId: row.request_id }, row.layout);
    for (const [position, { index, bytes }] of [...layout.allRecords(row.body)].entries())
      records.push(storedRecord(row, index, position, bytes.toString("utf8")));
  }
  return records.sort((left, right) =>
    left.requestId === right.requestId ? left.index - right.index : left.requestId < right.requestId ? -1 : 1,
  );
}

function storedRecord(row: LogRow, index: number, position: number, json: string): StoredRecord {
  const resource = RESOURCES.find((name) => name.startsWith(row.resource)) ?? "inventories";
  const fields = JSON.parse(json) as Record<string, string>;
  const { clientCode = "", propertyCode = "" } = fields;
  const key = fields[KEY_FIELDS[resource]] ?? "";
  const sourceTime = fields["createDateTime"] ?? fields["lastModifiedDateTime"] ?? "";
  return {
    ...judge({ resource, clientCode, propertyCode, key, sourceTime, json }),
    requestId: row.request_id,
    index,
    json,
    batch: batchNumberOf(json),
    outcome: (row.outcomes?.length === row.record_count ? row.outcomes[position] : undefined) ?? "none",
  };
}
