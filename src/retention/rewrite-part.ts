import type pg from "pg";
import type { StoredBody } from "../ingest/log/body-layout.ts";
import { type RecordRewrite, rewriteBody, type StoredRecord } from "../ingest/log/rewrite-body.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";

/** One part of the log, held until the transaction ends, so that nobody else rewrites it meanwhile. */
const lockPart = namedStatement(
  "lock-part",
  `select layout, body
  from bellhop.accept_log
  where bucket = $1 and log_writer_id = $2 and request_id = $3 and layout is not null and body is not null
  for update`,
);
const replaceBody = readStatement(new URL("../apply/sql/replace-body.sql", import.meta.url));

/** Which part of the log: its key there. */
export interface PartKey {
  readonly bucket: number;
  readonly logWriterId: string;
  readonly requestId: string;
}

/**
 * Rewrites the records of one part of the log at equal ordinals, in the caller's transaction: its key, the indexes of its
 * records and their order stay, so that pointers, cursors and outcomes stay what they are. `decide` is asked of every record
 * that has not been dropped before, the rejected ones of a lenient batch among them. A record of which other bytes are kept
 * names the content hash by which it goes on being known. Answers whether anything changed; not so where the part is gone or
 * holds no records (a release or discard).
 */
export async function rewritePart(
  client: pg.ClientBase,
  part: PartKey,
  decide: (record: StoredRecord) => RecordRewrite,
): Promise<boolean> {
  const key = [part.bucket, part.logWriterId, part.requestId];
  const { rows } = await client.query<StoredBody>({ ...lockPart, values: key });
  const [stored] = rows;
  const rewritten = stored === undefined ? undefined : await rewriteBody(part, stored, decide);
  if (rewritten === undefined) return false;
  await client.query({ ...replaceBody, values: [...key, rewritten.layout, rewritten.body] });
  return true;
}
