import type pg from "pg";
import { readRecord } from "#contract/read-record.ts";
import { type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { ID_LOWEST, lowestIdAt, type StoredBody } from "../ingest/log/part-name.ts";
import { ACCEPT_LOG } from "../ingest/log/partitions.ts";
import { rewriteBody } from "../ingest/log/rewrite-body.ts";
import { placeByBucket } from "../platform/db/dialect.ts";
import { type ExpiringWindow, type PastTerm, writeHorizons, writtenColumns } from "./expiring-window.ts";
import {
  checkRoom,
  checkRoomFor,
  countRows,
  type Expired,
  expireWindow,
  lockUnchanged,
  type RetentionSessions,
} from "./replace-window.ts";
import { EVERY_CLIENT } from "./terms.ts";

/** Locations of records received from $1 to before $2 that are current or quarantined; they are kept regardless of the period. */
const CURRENT = `
  select bucket, request_id, record_index from bellhop_state.current_record
  where request_id >= $1::uuid and request_id < $2::uuid
  union
  select bucket, request_id, record_index from bellhop.quarantine
  where request_id >= $1::uuid and request_id < $2::uuid and state = 'q'`;
/** The next $3 parts of a window after ($1, $2), in order of receipt, with the indexes of their kept and of their rejected records. */
const partsOf = (window: string, pointed: string) => `
  select log.bucket, log.log_writer_id::text as log_writer_id, log.request_id, log.kind, log.resource,
    array(
      select pointed.record_index from ${pointed} as pointed
      where pointed.request_id = log.request_id and pointed.bucket = log.bucket
    ) as pointed,
    (
      select json_object_agg(rejection ->> 'index', rejection ->> 'clientCode')
      from json_array_elements(log.rejections) as rejection
    ) as rejected
  from bellhop.${window} as log
  where (log.request_id, log.bucket) > ($1::uuid, $2::integer)
  order by log.request_id, log.bucket
  limit $3`;

/** Disk space per kept record's location and its index. */
const POINTED_BYTES = 100;
const PARTS_AT_ONCE = 512;

/** Columns that describe a request, not the location of its records. */
const OF_REQUESTS = ["correlation_id", "reply_to", "rejections", "backfill_id", "trace_context"];

/** A part of a window, and the indexes of its current or quarantined records. */
interface WindowPart {
  readonly bucket: number;
  readonly log_writer_id: string;
  readonly request_id: string;
  readonly kind: string;
  readonly resource: ResourceLetter;
  readonly pointed: readonly number[];
  /** By the indexes of rejected records, the client code that they name; null: none. */
  readonly rejected: Readonly<Record<number, string | null>> | null;
}

/**
 * What happens to a part: it is dropped, copied, or copied with some of its records. If its outcomes have expired it becomes kind `c`: no
 * longer a request, only the location of records. Its rejected records are dropped then: nothing else names them, so that no erasure would
 * find them.
 */
type Fate =
  | { readonly keep: "nothing" }
  | { readonly keep: "all"; readonly kind: string }
  | { readonly keep: "some"; readonly kind: string; readonly share: ReturnType<PastTerm["shareOf"]> };

function fateOf({ kind, bucket, resource, pointed, rejected }: WindowPart, past: PastTerm): Fate {
  const areOutcomesPast = past.areOutcomesPast(bucket, resource);
  if (kind === "r" || kind === "d") return areOutcomesPast ? { keep: "nothing" } : { keep: "all", kind };
  const becomes = areOutcomesPast ? "c" : kind;
  const share = past.shareOf(resource, "payloads");
  if (share === "none" && (becomes !== "c" || rejected === null)) return { keep: "all", kind: becomes };
  if (share === "all" && pointed.length === 0 && becomes === "c") return { keep: "nothing" };
  return { keep: "some", kind: becomes, share };
}

/** Whether everything in a window has been applied; appliers still need unapplied parts. */
async function isApplied(client: pg.ClientBase, window: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from bellhop.${window} as log
    where log.kind <> 'c' and not exists (
      select from bellhop_state.apply_cursor as cursor
      where cursor.bucket = log.bucket and cursor.log_writer_id = log.log_writer_id and cursor.request_id >= log.request_id
    ) limit 1`,
  );
  return rowCount === 0;
}

/**
 * Removes expired data from a window of the log: payloads that are neither current nor quarantined, and parts whose outcomes have expired.
 * Undefined if not all of it has been applied yet.
 */
export async function expireLogWindow(
  sessions: RetentionSessions,
  expiring: ExpiringWindow,
): Promise<Expired | undefined> {
  const { window } = expiring;
  const client = sessions.copying;
  if (!(await isApplied(client, window.name))) return undefined;
  const columns = await writtenColumns(client, ACCEPT_LOG);
  return expireWindow(sessions, ACCEPT_LOG, expiring, async (successor) => {
    // Named after the successor, so that a killed run's leftovers are removed together.
    const pointed = `bellhop.${successor}_kept`;
    await client.query(
      `create unlogged table ${pointed} (bucket smallint not null, request_id uuid not null, record_index integer not null)`,
    );
    try {
      await placeByBucket(client, [pointed]);
      const from = Number.isFinite(window.fromMs) ? lowestIdAt(window.fromMs) : ID_LOWEST;
      const bounds = [from, lowestIdAt(window.toMs)];
      const countCurrent = () => countRows(client, `(${CURRENT}) as current`, bounds);
      await checkRoomFor(sessions, ACCEPT_LOG, window, async () => POINTED_BYTES * (await countCurrent()));
      await client.query(`insert into ${pointed} (bucket, request_id, record_index) ${CURRENT}`, bounds);
      await client.query(`create index on ${pointed} (request_id, bucket)`);
      await client.query(`analyze ${pointed}`);
      const { parts, kept } = await carry(sessions, expiring, { columns, successor, pointed });
      return {
        rows: parts,
        keptRows: kept,
        mayVanish: true,
        // No new id is this old; if there is one, the copy is incomplete.
        isComplete: (replacing) => lockUnchanged(replacing, ACCEPT_LOG, window, parts),
        complete: (replacing) => writeHorizons(replacing, expiring, ["payloads", "outcomes"]),
      };
    } finally {
      // Report the cause of a failed run rather than a closed session; a remaining table is removed with other leftovers.
      await client.query(`drop table ${pointed}`).catch(() => undefined);
    }
  });
}

/** Copies the kept parts of one window to its successor; returns how many there were and how many are kept. */
async function carry(
  sessions: RetentionSessions,
  { window, past }: ExpiringWindow,
  {
    columns,
    successor,
    pointed,
  }: { readonly columns: readonly string[]; readonly successor: string; readonly pointed: string },
): Promise<{ readonly parts: number; readonly kept: number }> {
  const client = sessions.copying;
  const from = `bellhop.${window.name}`;
  const into = `insert into bellhop.${successor} (${columns.join(", ")})`;
  // Parts that are no longer requests keep no request columns.
  const selected = (kind: string, replaced: Readonly<Record<string, string>> = {}) =>
    columns
      .map((name) => {
        if (name === "kind") return `'${kind}'::"char"`;
        return kind === "c" && OF_REQUESTS.includes(name) ? "null" : (replaced[name] ?? `log.${name}`);
      })
      .join(", ");

  async function copyWhole(kind: string, parts: readonly WindowPart[]): Promise<number> {
    await checkRoom(sessions, window);
    const { rowCount } = await client.query(
      `${into} select ${selected(kind)}
      from unnest($1::smallint[], $2::bigint[], $3::uuid[]) as kept (bucket, log_writer_id, request_id)
      join ${from} as log using (bucket, log_writer_id, request_id)`,
      [
        parts.map((part) => part.bucket),
        parts.map((part) => part.log_writer_id),
        parts.map((part) => part.request_id),
      ],
    );
    return rowCount ?? 0;
  }

  async function copySome(
    part: WindowPart,
    { kind, share }: Extract<Fate, { readonly keep: "some" }>,
  ): Promise<number> {
    const key = [part.bucket, part.log_writer_id, part.request_id];
    const ofPart = `from ${from} as log where bucket = $1 and log_writer_id = $2 and request_id = $3`;
    const { rows } = await client.query<StoredBody>(`select layout, body ${ofPart}`, key);
    const [stored] = rows;
    if (stored === undefined) throw new Error(`A part of ${window.name} is missing.`);
    const isWanted = (index: number, bytes: Buffer): boolean => {
      const rejectedOf = part.rejected?.[index];
      if (kind === "c" && rejectedOf !== undefined) return false;
      if (share !== "some") return share === "none";
      return !past.isPast(rejectedOf ?? clientCodeOf(part.resource, bytes), part.resource, "payloads");
    };
    const { kept, body } = await keptRecordsOf(part, stored, isWanted);
    if (kept === 0 && kind === "c") return 0;
    await checkRoom(sessions, window);
    await client.query(`${into} select ${selected(kind, REWRITTEN)} ${ofPart}`, [
      ...key,
      body.layout,
      body.body,
    ]);
    return 1;
  }

  let [parts, kept] = [0, 0];
  let after: readonly [string, number] = [ID_LOWEST, -1];
  for (;;) {
    const { rows } = await client.query<WindowPart>(partsOf(window.name, pointed), [...after, PARTS_AT_ONCE]);
    const last = rows.at(-1);
    if (last === undefined) return { parts, kept };
    after = [last.request_id, last.bucket];
    parts += rows.length;
    const fates = rows.map((part) => ({ part, fate: fateOf(part, past) }));
    const whole = fates.flatMap(({ part, fate }) => (fate.keep === "all" ? [{ part, kind: fate.kind }] : []));
    for (const [kind, ofKind] of Map.groupBy(whole, (one) => one.kind))
      kept += await copyWhole(
        kind,
        ofKind.map(({ part }) => part),
      );
    for (const { part, fate } of fates) if (fate.keep === "some") kept += await copySome(part, fate);
  }
}

const REWRITTEN = { layout: "$4::bytea", body: "$5::bytea" };

/** The kept records of a part: those that are current or quarantined, and those that are wanted otherwise. */
async function keptRecordsOf(
  { bucket, request_id: requestId, pointed }: WindowPart,
  stored: StoredBody,
  isWanted: (index: number, bytes: Buffer) => boolean,
): Promise<{ readonly kept: number; readonly body: StoredBody }> {
  const wanted = new Set(pointed);
  let kept = 0;
  const rewritten = await rewriteBody({ bucket, requestId }, stored, ({ index, bytes }) => {
    const isKept = wanted.has(index) || isWanted(index, bytes);
    if (isKept) kept += 1;
    return isKept ? "keep" : "drop";
  });
  return { kept, body: rewritten ?? stored };
}

/** The client code of a record; an unreadable (quarantined) record follows the default. */
function clientCodeOf(resource: ResourceLetter, bytes: Buffer): string {
  try {
    return readRecord(resourceOf(resource), bytes).clientCode;
  } catch {
    return EVERY_CLIENT;
  }
}
