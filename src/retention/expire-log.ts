import type pg from "pg";
import { readRecord } from "#contract/read-record.ts";
import { type ResourceLetter, resourceOf } from "#contract/resource.ts";
import type { StoredBody } from "../ingest/log/part-name.ts";
import { lowestIdAt } from "../ingest/log/part-name.ts";
import { ACCEPT_LOG } from "../ingest/log/partitions.ts";
import { rewriteBody } from "../ingest/log/stored-body.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { type ExpiringWindow, type PastTerm, writeHorizons, writtenColumns } from "./expiring-window.ts";
import { type Expired, expireWindow, lockUnchanged, type RetentionSessions } from "./replace-window.ts";
import { EVERY_CLIENT } from "./terms.ts";

/** Where the records lie that were received from $1 to before $2 and are current or held: they outlive the terms. */
const noteCurrent = namedStatement(
  "note-current-records",
  `insert into pointed_record (bucket, request_id, record_index)
  select bucket, request_id, record_index from bellhop_state.current_record
  where request_id >= $1::uuid and request_id < $2::uuid
  union
  select bucket, request_id, record_index from bellhop.quarantine
  where request_id >= $1::uuid and request_id < $2::uuid and state = 'h'`,
);
/** The next $3 parts of a window after ($1, $2), in the order of receipt, with the indexes of their records that are pointed to. */
const partsOf = (window: string) => `
  select log.bucket, log.log_writer_id::text as log_writer_id, log.request_id, log.kind, log.resource,
    coalesce(octet_length(log.body), 0) as stored_bytes,
    array(
      select pointed.record_index from pointed_record as pointed
      where pointed.request_id = log.request_id and pointed.bucket = log.bucket
    ) as pointed
  from bellhop.${window} as log
  where (log.request_id, log.bucket) > ($1::uuid, $2::integer)
  order by log.request_id, log.bucket
  limit $3`;

/** Parts that one statement reads; and bytes of bodies to rewrite that are read at once. */
const PARTS_AT_ONCE = 512;
const STORED_BYTES_AT_ONCE = 4 * 1_048_576;
const BEFORE_ALL = "00000000-0000-0000-0000-000000000000";

/** Columns that say something of a request, and nothing of where its records lie. */
const OF_REQUESTS = ["correlation_id", "reply_to", "rejections", "backfill_id", "trace_context"];

/** A part of a window, and the indexes of its records that are current or held. */
interface WindowPart {
  readonly bucket: number;
  readonly log_writer_id: string;
  readonly request_id: string;
  readonly kind: string;
  readonly resource: ResourceLetter;
  readonly stored_bytes: number;
  readonly pointed: readonly number[];
}

/**
 * What is done with a part: it goes, is copied as it is, or with some of its records. Where its outcomes are past their term it is
 * carried (kind `c`): no request any more, only a place in which records lie.
 */
type Fate =
  | { readonly keep: "nothing" }
  | { readonly keep: "all"; readonly kind: string }
  | { readonly keep: "some"; readonly kind: string; readonly byClient: boolean };

function fateOf({ kind, bucket, resource, pointed }: WindowPart, past: PastTerm): Fate {
  const areOutcomesPast = past.areOutcomesPast(bucket, resource);
  if (kind === "r" || kind === "d") return areOutcomesPast ? { keep: "nothing" } : { keep: "all", kind };
  const becomes = areOutcomesPast ? "c" : kind;
  const share = past.shareOf(resource, "payloads");
  if (share === "none") return { keep: "all", kind: becomes };
  if (share === "all" && pointed.length === 0 && becomes === "c") return { keep: "nothing" };
  return { keep: "some", kind: becomes, byClient: share === "some" };
}

/** Whether all that is in a window has been applied; what has not is applied from there. */
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
 * Takes out of a window of the log what is past its term: records as they were sent that are neither current nor held, and
 * parts whose outcomes may go. Undefined where not all of it has been applied yet.
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
    await client.query(
      "create temp table if not exists pointed_record (bucket smallint, request_id uuid, record_index integer)",
    );
    await client.query("truncate pointed_record");
    const from = Number.isFinite(window.fromMs) ? lowestIdAt(window.fromMs) : BEFORE_ALL;
    await client.query({ ...noteCurrent, values: [from, lowestIdAt(window.toMs)] });
    await client.query(
      "create index if not exists pointed_record_part on pointed_record (request_id, bucket); analyze pointed_record",
    );
    const carrier = new Carrier(client, expiring, columns, successor);
    await carrier.carryAll();
    const { parts, kept } = carrier;
    return {
      rows: parts,
      keptRows: kept,
      mayVanish: true,
      // Nobody takes ids so far back; if somebody did, what was copied is not all.
      isComplete: (replacing) => lockUnchanged(replacing, ACCEPT_LOG, window, parts),
      complete: (replacing) => writeHorizons(replacing, expiring, ["payloads", "outcomes"]),
    };
  });
}

/** Copies what stays of one window into its successor. */
class Carrier {
  readonly #client: pg.ClientBase;
  readonly #past: PastTerm;
  readonly #window: string;
  readonly #successor: string;
  readonly #columns: readonly string[];
  parts = 0;
  kept = 0;

  constructor(
    client: pg.ClientBase,
    { window, past }: ExpiringWindow,
    columns: readonly string[],
    successor: string,
  ) {
    this.#client = client;
    this.#past = past;
    this.#window = window.name;
    this.#successor = successor;
    this.#columns = columns;
  }

  async carryAll(): Promise<void> {
    const text = partsOf(this.#window);
    let after: readonly [string, number] = [BEFORE_ALL, -1];
    for (;;) {
      const { rows } = await this.#client.query<WindowPart>(text, [...after, PARTS_AT_ONCE]);
      const last = rows.at(-1);
      if (last === undefined) return;
      after = [last.request_id, last.bucket];
      this.parts += rows.length;
      await this.#carry(rows);
    }
  }

  async #carry(parts: readonly WindowPart[]): Promise<void> {
    const whole = new Map<string, WindowPart[]>();
    let partial: { part: WindowPart; kind: string; byClient: boolean }[] = [];
    let bytes = 0;
    for (const part of parts) {
      const fate = fateOf(part, this.#past);
      if (fate.keep === "nothing") continue;
      if (fate.keep === "all") {
        whole.set(fate.kind, [...(whole.get(fate.kind) ?? []), part]);
        continue;
      }
      if (bytes > 0 && bytes + part.stored_bytes > STORED_BYTES_AT_ONCE) {
        await this.#rewrite(partial);
        [partial, bytes] = [[], 0];
      }
      partial.push({ part, kind: fate.kind, byClient: fate.byClient });
      bytes += part.stored_bytes;
    }
    for (const [kind, ofKind] of whole) await this.#copy(kind, ofKind);
    await this.#rewrite(partial);
  }

  /** The columns as they are read: of what is no request any more nothing that only concerns the request. */
  #select(kind: string, layout = "log.layout", body = "log.body"): string {
    const replaced: Record<string, string> = { kind: `'${kind}'::"char"`, layout, body };
    if (kind === "c") for (const column of OF_REQUESTS) replaced[column] = "null";
    return this.#columns.map((column) => replaced[column] ?? `log.${column}`).join(", ");
  }

  async #copy(kind: string, parts: readonly WindowPart[]): Promise<void> {
    const { rowCount } = await this.#client.query(
      `insert into bellhop.${this.#successor} (${this.#columns.join(", ")})
      select ${this.#select(kind)}
      from unnest($1::smallint[], $2::bigint[], $3::uuid[]) as kept (bucket, log_writer_id, request_id)
      join bellhop.${this.#window} as log using (bucket, log_writer_id, request_id)`,
      [
        parts.map((part) => part.bucket),
        parts.map((part) => part.log_writer_id),
        parts.map((part) => part.request_id),
      ],
    );
    this.kept += rowCount ?? 0;
  }

  async #rewrite(
    partial: readonly { readonly part: WindowPart; readonly kind: string; readonly byClient: boolean }[],
  ): Promise<void> {
    for (const { part, kind, byClient } of partial) {
      const key = [part.bucket, part.log_writer_id, part.request_id];
      const { rows } = await this.#client.query<StoredBody>({
        text: `select layout, body from bellhop.${this.#window}
          where bucket = $1 and log_writer_id = $2 and request_id = $3`,
        values: key,
      });
      const [stored] = rows;
      if (stored === undefined) throw new Error(`A part of ${this.#window} is gone.`);
      const { kept, body } = await this.#keepOf(part, stored, byClient);
      if (kept === 0 && kind === "c") continue;
      await this.#client.query({
        text: `insert into bellhop.${this.#successor} (${this.#columns.join(", ")})
          select ${this.#select(kind, "$4::bytea", "$5::bytea")} from bellhop.${this.#window} as log
          where bucket = $1 and log_writer_id = $2 and request_id = $3`,
        values: [...key, body.layout, body.body],
      });
      this.kept += 1;
    }
  }

  /** What is kept of a part: what is pointed to, and (`byClient`) the records of those whose payloads are still to be kept. */
  async #keepOf(
    { bucket, request_id: requestId, resource, pointed }: WindowPart,
    stored: StoredBody,
    byClient: boolean,
  ): Promise<{ readonly kept: number; readonly body: StoredBody }> {
    const wanted = new Set(pointed);
    let kept = 0;
    const rewritten = await rewriteBody({ bucket, requestId }, stored, ({ index, bytes }) => {
      const isKept =
        wanted.has(index) ||
        (byClient && !this.#past.isPast(clientCodeOf(resource, bytes), resource, "payloads"));
      if (isKept) kept += 1;
      return isKept ? "keep" : "drop";
    });
    return { kept, body: rewritten ?? stored };
  }
}

/** Whose record it is; of one that cannot be read, which is held, the rule for everybody holds. */
function clientCodeOf(resource: ResourceLetter, bytes: Buffer): string {
  try {
    return readRecord(resourceOf(resource), bytes).clientCode;
  } catch {
    return EVERY_CLIENT;
  }
}
