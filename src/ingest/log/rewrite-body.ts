import { namedStatement } from "../../platform/db/statement.ts";
import { type BodyLayout, packBody, type RecordSlice } from "./body-layout.ts";
import { encryptAsBefore, openLayout } from "./open-layout.ts";
import type { PartName, StoredBody } from "./part-name.ts";

export const replaceBody = namedStatement(
  "replace-body",
  `update bellhop.accept_log set layout = $4, body = $5
  where bucket = $1 and log_writer_id = $2 and request_id = $3`,
);

/**
 * Keeps, drops (leaving an empty place) or replaces a stored record. `contentHash`: its original hash, 32 hexadecimal digits;
 * undefined for a rejected record.
 */
export type RecordRewrite =
  | "keep"
  | "drop"
  | { readonly bytes: Buffer; readonly contentHash: string | undefined };

/** A record of a stored body; without bytes if it was dropped. `hashOverride`: see HashOverrides. */
export interface StoredRecord {
  readonly index: number;
  readonly bytes: Buffer;
  readonly hashOverride: string | undefined;
}

/** Rewrites records of a stored body, keeping indexes, order and encryption. Undefined if all records are kept. */
export async function rewriteBody(
  part: PartName,
  stored: StoredBody,
  decide: (record: StoredRecord) => RecordRewrite,
): Promise<StoredBody | undefined> {
  const layout = await openLayout(part, stored.layout);
  const packed = repack(layout, stored.body, decide);
  return packed === undefined ? undefined : encryptAsBefore(packed, part, stored);
}

function repack(
  layout: BodyLayout,
  body: Buffer,
  decide: (record: StoredRecord) => RecordRewrite,
): StoredBody | undefined {
  const slices: RecordSlice[] = [];
  const hashOverrides = new Map<number, string>();
  let hasChanged = false;
  let position = 0;
  for (const { index, bytes } of layout.allRecords(body)) {
    const hashOverride = layout.hashOverrideAt(position);
    position += 1;
    const rewrite = bytes.length === 0 ? "keep" : decide({ index, bytes, hashOverride });
    if (rewrite !== "keep") hasChanged = true;
    const kept = rewrite === "keep" ? bytes : rewrite === "drop" ? Buffer.alloc(0) : rewrite.bytes;
    const hash = rewrite === "keep" ? hashOverride : rewrite === "drop" ? undefined : rewrite.contentHash;
    if (hash !== undefined) hashOverrides.set(index, hash);
    slices.push({ index, bytes: kept, start: 0, end: kept.length });
  }
  return hasChanged ? packBody(Buffer.alloc(0), slices, hashOverrides) : undefined;
}
