import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { InsightProperty, PointInTime } from "./point-in-time.ts";
import { ROWS_MAX, requireFewRows } from "./question.ts";

const readReported = readStatement(new URL("./sql/read-reported-rooms.sql", import.meta.url));

/** What an inventory record says of one room type on a night, and where the record lies. Null: not told. */
export interface ReportedRooms {
  readonly night: string;
  readonly request_id: string;
  readonly record_index: number;
  readonly source_time: string;
  readonly room_type: string;
  readonly capacity: number | null;
  readonly out_of_order: number | null;
  readonly sold: number | null;
  readonly transient: number | null;
  readonly grouped: number | null;
}

/** What inventory reports of a range of nights (`to` included), by room type, virtual ones aside; in the order of nights. */
export async function readReportedRooms(
  on: Queryable,
  property: InsightProperty,
  range: { readonly from: string; readonly to: string },
  at: PointInTime,
): Promise<ReportedRooms[]> {
  const { rows } = await on.query<ReportedRooms>({
    ...readReported,
    values: [
      property.bucket,
      property.propertyId,
      range.from,
      range.to,
      at.sourceUpTo,
      at.receivedUpTo,
      ROWS_MAX + 1,
    ],
  });
  return requireFewRows(rows, range);
}
