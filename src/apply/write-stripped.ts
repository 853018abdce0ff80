import type pg from "pg";
import { rewriteBody } from "../accept/rewrite-body.ts";
import { readStatement } from "../db/statement.ts";
import type { ReadPart } from "./read-part.ts";

const replaceBody = readStatement(new URL("./sql/replace-body.sql", import.meta.url));

/**
 * Takes out of the log what was taken out of records while they were read: those of the erasure list that were accepted as they
 * were sent, by a node that did not know of it yet. Inside the transaction that applies their parts.
 */
export async function writeStripped(client: pg.ClientBase, parts: readonly ReadPart[]): Promise<void> {
  for (const { part, stripped } of parts) {
    const { layout, body, bucket, laneId, requestId } = part;
    if (stripped === undefined || layout === null || body === null) continue;
    const rewritten = await rewriteBody(part, { layout, body }, ({ index }) => {
      const bytes = stripped.get(index);
      return bytes === undefined ? "keep" : { bytes, contentHash: undefined };
    });
    if (rewritten === undefined) continue;
    await client.query({
      ...replaceBody,
      values: [bucket, laneId, requestId, rewritten.layout, rewritten.body],
    });
  }
}
