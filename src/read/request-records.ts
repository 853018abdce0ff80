import type pg from "pg";
import { BodyLayout } from "../accept/body-layout.ts";
import { readStatement } from "../db/statement.ts";
import type { Outcome } from "./outcome.ts";
import { outcomeName } from "./outcome.ts";

const readParts = readStatement(new URL("./sql/read-request-parts.sql", import.meta.url));

/** A record of a request: where it lies, and its outcome when it was first decided. */
export interface RecordOfRequest {
  readonly bucket: number;
  readonly index: number;
  readonly outcome: Outcome | "pending";
}

/** All of a request's records, or those that are more than plainly applied. */
export type WhichRecords = "all" | "notable";

interface PartRow {
  readonly bucket: number;
  readonly layout: Buffer;
  readonly outcomes: string | null;
  readonly rejected: readonly number[];
  readonly detailed: readonly number[];
}

/** Outcomes are one letter for each accepted record of the part, in its order; rejected ones have none. */
function* recordsOf(part: PartRow, which: WhichRecords): Generator<RecordOfRequest> {
  const { bucket, outcomes } = part;
  const layout = new BodyLayout(part.layout);
  const rejected = new Set(part.rejected);
  const detailed = new Set(part.detailed);
  let letter = 0;
  for (let position = 0; position < layout.recordCount; position += 1) {
    const index = layout.indexAt(position);
    if (rejected.has(index)) {
      yield { bucket, index, outcome: "rejected" };
      continue;
    }
    const decided = outcomes?.[letter];
    letter += 1;
    if (decided === undefined) {
      if (which === "all") yield { bucket, index, outcome: "pending" };
    } else if (which === "all" || decided !== "a" || detailed.has(index)) {
      yield { bucket, index, outcome: outcomeName(decided) };
    }
  }
}

/**
 * The records of a client's request, ascending by index in the batch as sent. At most as many as a batch has, each a few
 * bytes.
 */
export async function findRecordsOf(
  pool: pg.Pool,
  clientId: string,
  requestId: string,
  which: WhichRecords,
): Promise<RecordOfRequest[]> {
  const { rows } = await pool.query<PartRow>({ ...readParts, values: [clientId, requestId] });
  return rows.flatMap((part) => [...recordsOf(part, which)]).sort((left, right) => left.index - right.index);
}
