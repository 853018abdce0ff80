import type pg from "pg";
import { type LogRow, partOf } from "../apply/backlog.ts";
import { type Resource, resourceOf } from "../contract/resource.ts";
import { ERASED } from "../contract/strip-record.ts";
import { readStatement } from "../db/statement.ts";
import { withTransaction } from "../db/transaction.ts";
import { rewritePart } from "./rewrite-part.ts";
import { scanPart } from "./scan-log.ts";

const findRejecting = readStatement(new URL("./sql/find-rejecting-parts.sql", import.meta.url));
const writeRejections = readStatement(new URL("./sql/write-rejections.sql", import.meta.url));

const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";
const PARTS_AT_ONCE = 16;

interface Rejection {
  readonly index: number;
  readonly violations: readonly {
    readonly pointer: string;
    readonly code: string;
    readonly message: string;
  }[];
  readonly violationTotal: number;
}

type RejectingRow = Omit<LogRow, "rejections"> & { readonly rejections: Rejection[] };

/** What is left of a rejected record: other bytes, none (`drop`), or all of it (`keep`). */
export type RewriteRejected = (resource: Resource, bytes: Buffer) => Buffer | "drop" | "keep";

/** What was told of a record, less all that may quote it: why it was refused, and how often, stays. */
function withoutQuotes({ index, violations, violationTotal }: Rejection): Rejection {
  const told = violations.map(({ code }) => ({ pointer: `/${index}`, code, message: ERASED }));
  return { index, violations: told, violationTotal };
}

async function rewriteIn(
  client: pg.ClientBase,
  row: RejectingRow,
  rewrite: RewriteRejected,
): Promise<number> {
  const { records } = await scanPart(partOf(row));
  const resource = resourceOf(row.resource);
  const rewritten = new Map<number, Buffer | "drop">();
  for (const { index, bytes, isRejected } of records) {
    const left = isRejected ? rewrite(resource, bytes) : "keep";
    if (left !== "keep") rewritten.set(index, left);
  }
  if (rewritten.size === 0) return 0;
  const rejections = row.rejections.map((one) => (rewritten.has(one.index) ? withoutQuotes(one) : one));
  const { bucket, lane_id: laneId, request_id: requestId } = row;
  await withTransaction(client, async () => {
    await rewritePart(client, { bucket, laneId, requestId }, ({ index }) => {
      const left = rewritten.get(index) ?? "keep";
      return typeof left === "string" ? left : { bytes: left, contentHash: undefined };
    });
    await client.query({
      ...writeRejections,
      values: [bucket, laneId, requestId, JSON.stringify(rejections)],
    });
  });
  return rewritten.size;
}

/**
 * Writes rejected records of lenient batches anew, in the log and in what was told of them. They were never applied, and lie in the
 * first part of their batch, whoever's bucket that is: so all parts that have any are read. Answers how many were rewritten.
 */
export async function rewriteRejected(client: pg.ClientBase, rewrite: RewriteRejected): Promise<number> {
  let count = 0;
  for (let after = BEFORE_ALL; ; ) {
    const { rows } = await client.query<RejectingRow>({ ...findRejecting, values: [after, PARTS_AT_ONCE] });
    for (const row of rows) count += await rewriteIn(client, row, rewrite);
    const last = rows.at(-1);
    if (last === undefined || rows.length < PARTS_AT_ONCE) return count;
    after = last.request_id;
  }
}
