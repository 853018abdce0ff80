import type pg from "pg";
import { openLayout } from "../ingest/log/open-layout.ts";
import type { StoredRecord } from "../ingest/log/rewrite-body.ts";
import type { ApplyMemory } from "./apply-memory.ts";
import { advanceCursors, recordOutcomes } from "./apply-parts.ts";
import type { NextChange } from "./apply-records.ts";
import { type LogPart, type LogRow, partOf } from "./backlog.ts";
import { applyIsolatingBadRecords } from "./isolate-bad-records.ts";
import type { ChangeCounters } from "./leases.ts";
import type { PropertyDirectory } from "./property-directory.ts";
import { readReleasedRecord } from "./read-part.ts";
import type { OutcomeLetter } from "./record.ts";

/** Reads one record of a batch out of the log. */
async function findTarget(
  client: pg.ClientBase,
  bucket: number,
  target: NonNullable<LogPart["target"]>,
): Promise<{ part: LogPart; record: StoredRecord } | undefined> {
  const { rows } = await client.query<LogRow>(
    `select bucket, log_writer_id::text as log_writer_id, request_id, kind, resource, received_at, target_request_id, target_index,
      rejections, layout, body
    from bellhop.accept_log where request_id = $1 and bucket = $2 and kind in ('b', 'c')`,
    [target.requestId, bucket],
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  const part = partOf(row);
  if (part.layout === null || part.body === null) return undefined;
  const layout = await openLayout(part, part.layout);
  const position = layout.positionOf(target.index);
  if (position < 0) return undefined;
  const range = layout.rangeOf(position);
  const stored = part.body.subarray(range.from, range.from + range.bytes);
  for (const record of layout.recordsOf(range.chunk, stored)) {
    if (record.position !== position) continue;
    return {
      part,
      record: { index: target.index, bytes: record.bytes, hashOverride: layout.hashOverrideAt(position) },
    };
  }
  return undefined;
}

/** Applies a released record to the state, under its own receipt. Answers `q` when it still cannot be stored. */
export async function applyReleased(
  client: pg.ClientBase,
  resolution: LogPart,
  counters: { readonly take: NextChange },
  properties: PropertyDirectory,
  memory: ApplyMemory,
): Promise<OutcomeLetter> {
  if (resolution.target === null) throw new Error(`Resolution ${resolution.requestId} names no record.`);
  const target = await findTarget(client, resolution.bucket, resolution.target);
  if (target === undefined) return "q";
  const record = await readReleasedRecord(target.part, target.record, properties);
  if (record.kind !== "applicable") return "q";
  // Whoever asked before the release was not told of it: it counts from then on.
  const released = { ...record.record, countsFrom: resolution.requestId };
  const [applied] = await applyIsolatingBadRecords(client, [released], counters.take, memory);
  await memory.write(client);
  return applied?.outcome ?? "q";
}

/**
 * Carries out a release or discard inside the caller's transaction. A record that is no longer held (resolved twice) is
 * left as it is; a release that fails leaves it held.
 */
export async function applyResolution(
  client: pg.ClientBase,
  resolution: LogPart,
  counters: ChangeCounters,
  properties: PropertyDirectory,
  memory: ApplyMemory,
): Promise<OutcomeLetter> {
  const { target } = resolution;
  if (target === null) throw new Error(`Resolution ${resolution.requestId} names no record.`);
  const { rowCount } = await client.query(
    `select 1 from bellhop.quarantine where bucket = $1 and request_id = $2 and record_index = $3 and state = 'h' for update`,
    [resolution.bucket, target.requestId, target.index],
  );
  let outcome: OutcomeLetter = "d";
  if (rowCount === 1) {
    const released = resolution.kind === "r";
    outcome = released ? await applyReleased(client, resolution, counters, properties, memory) : "x";
    if (outcome !== "q") {
      await client.query(
        `update bellhop.quarantine set state = $4, resolved_at = statement_timestamp(), resolved_by = $5, outcome = $6
        where bucket = $1 and request_id = $2 and record_index = $3`,
        [
          resolution.bucket,
          target.requestId,
          target.index,
          released ? "r" : "d",
          resolution.requestId,
          outcome,
        ],
      );
    }
  }
  const outcomes = [{ index: 0, outcome, code: null, message: null, warnings: [] }];
  await recordOutcomes(client, [{ part: resolution, outcomes }], []);
  await advanceCursors(client, [resolution]);
  await counters.write(client);
  return outcome;
}
