import { namedStatement } from "../../platform/db/statement.ts";
import { type BodyLayout, packBody, type RecordSlice, type StoredBody } from "./body-layout.ts";
import { openLayout, sealAsBefore } from "./open-layout.ts";
import type { PartName } from "./stored-part.ts";

/** Writes the records of one part of the log anew, at the same places. */
export const replaceBody = namedStatement(
  "replace-body",
  `update bellhop.accept_log set layout = $4, body = $5
  where bucket = $1 and log_writer_id = $2 and request_id = $3`,
);

/**
 * What becomes of one record of a stored body: it stays, it goes (its place stays, without bytes), or other bytes take its
 * place, and `contentHash` (32 hexadecimal digits) stands for what it was known by. A rejected record is known by none.
 */
export type RecordRewrite =
  | "keep"
  | "drop"
  | { readonly bytes: Buffer; readonly contentHash: string | undefined };

/** A record of a stored body. `hashOverride`: its content hash, where that is not the one of its bytes; no bytes: it was dropped. */
export interface StoredRecord {
  readonly index: number;
  readonly bytes: Buffer;
  readonly hashOverride: string | undefined;
}

/**
 * The body of one part of the log with other records at the same places: indexes and order stay, so that whatever points into it
 * goes on pointing at the same record. It is sealed as it was. Undefined where all of them are kept.
 */
export async function rewriteBody(
  part: PartName,
  stored: StoredBody,
  decide: (record: StoredRecord) => RecordRewrite,
): Promise<StoredBody | undefined> {
  const layout = await openLayout(part, stored.layout);
  const packed = repack(layout, stored.body, decide);
  return packed === undefined ? undefined : sealAsBefore(packed, part, stored);
}

function repack(
  layout: BodyLayout,
  body: Buffer,
  decide: (record: StoredRecord) => RecordRewrite,
): StoredBody | undefined {
  const pieces: Buffer[] = [];
  const slices: RecordSlice[] = [];
  const hashOverrides = new Map<number, string>();
  let hasChanged = false;
  let end = 0;
  let position = 0;
  for (const { index, bytes } of layout.allRecords(body)) {
    const hashOverride = layout.hashOverrideAt(position);
    position += 1;
    const rewrite = bytes.length === 0 ? "keep" : decide({ index, bytes, hashOverride });
    if (rewrite !== "keep") hasChanged = true;
    const kept = rewrite === "keep" ? bytes : rewrite === "drop" ? Buffer.alloc(0) : rewrite.bytes;
    const hash = rewrite === "keep" ? hashOverride : rewrite === "drop" ? undefined : rewrite.contentHash;
    if (hash !== undefined) hashOverrides.set(index, hash);
    pieces.push(kept);
    slices.push({ index, start: end, end: end + kept.length });
    end += kept.length;
  }
  return hasChanged ? packBody(Buffer.concat(pieces), slices, hashOverrides) : undefined;
}
