import type pg from "pg";
import { ERASED } from "#contract/redact-record.ts";
import { type Resource, resourceOf } from "#contract/resource.ts";
import { BEFORE_ALL, type LogRow, partOf } from "../apply/backlog.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { withTransaction } from "../platform/db/transaction.ts";
import { rewritePart } from "./rewrite-part.ts";
import { scanPart } from "./scan-log.ts";

/** The next batches after $1 that had rejected records; those lie in one part of each. */
const findRejecting = namedStatement(
  "find-rejecting-parts",
  `select bucket, log_writer_id::text as log_writer_id, request_id, kind, resource, received_at, target_request_id, target_index,
    rejections, layout, body
  from bellhop.accept_log
  where request_id > $1 and rejections is not null
  order by request_id
  limit $2`,
);
const writeRejections = namedStatement(
  "write-rejections",
  `update bellhop.accept_log set rejections = $4 where bucket = $1 and log_writer_id = $2 and request_id = $3`,
);

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
  const { bucket, log_writer_id: logWriterId, request_id: requestId } = row;
  await withTransaction(client, async () => {
    await rewritePart(client, { bucket, logWriterId, requestId }, ({ index }) => {
      const left = rewritten.get(index) ?? "keep";
      return typeof left === "string" ? left : { bytes: left, contentHash: undefined };
    });
    await client.query({
      ...writeRejections,
      values: [bucket, logWriterId, requestId, JSON.stringify(rejections)],
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
