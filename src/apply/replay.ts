import type pg from "pg";
import type { ShowStep } from "../cli/progress.ts";
import { ALL_BUCKETS, BUCKET_COUNT, ID_LOWEST, lowestIdAt } from "../ingest/log/part-name.ts";
import { loadRedactionList, type RedactionList } from "../ingest/redact.ts";
import { withSession } from "../platform/db/connection.ts";
import { withExclusiveWork } from "../platform/db/coordination.ts";
import { reachAllBuckets } from "../platform/db/dialect.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { applyIsolatingBadRecords, applyReleased } from "./apply-parts.ts";
import { ApplyMemory } from "./apply-records.ts";
import {
  type LoggedPart,
  type LogStretch,
  openFirstPiece,
  PropertyDirectory,
  readLog,
  readPart,
} from "./backlog.ts";
import { LeaseStatements } from "./leases.ts";
import { writeDerivation } from "./ledger/derivation.ts";
import { openStateSession, planByKeys } from "./state/look-up.ts";
import { VERSION_TABLES } from "./state/record.ts";
import {
  carryOutcomes,
  copyWindows,
  createStateSchema,
  digestState,
  dropStateSchema,
  numberCorrections,
  rebindViews,
  STATE_SCHEMA,
  type StateDigest,
  swapStateSchema,
} from "./state/state-schema.ts";

/** The retention horizons in milliseconds since 1970: of the log by receipt, of versions by source time. */
const readHorizons = namedStatement(
  "read-horizons",
  `select
    (extract(epoch from max(known_from) filter (where kind in ('payloads', 'outcomes'))) * 1000)::float8 as log_ms,
    (extract(epoch from max(known_from) filter (where kind = 'versions')) * 1000)::float8 as versions_ms
  from bellhop.retention_horizon`,
);

/** The log is complete from `logMs`, versions from `versionsMs` (milliseconds since 1970; null: nothing was deleted). */
export interface ReplayHorizon {
  readonly logMs: number | null;
  readonly versionsMs: number | null;
}

export async function readReplayHorizon(client: pg.ClientBase): Promise<ReplayHorizon> {
  const { rows } = await client.query<{ log_ms: number | null; versions_ms: number | null }>(readHorizons);
  return { logMs: rows[0]?.log_ms ?? null, versionsMs: rows[0]?.versions_ms ?? null };
}

/** Copies the live versions received before `firstId`, which the log no longer contains, and makes the newest of each key current. */
async function copyBase(client: pg.ClientBase, schema: string, firstId: string | null): Promise<void> {
  if (firstId === null) return;
  for (const [resource, table] of Object.entries(VERSION_TABLES)) {
    await client.query(
      `insert into ${schema}.${table} select * from ${STATE_SCHEMA}.${table} where request_id < $1`,
      [firstId],
    );
    await client.query(
      `insert into ${schema}.current_record (bucket, property_id, resource, key, source_time, request_id, record_index,
        content_hash, facts_source_time, status, from_date, to_date)
      select distinct on (bucket, property_id, key) bucket, property_id, '${resource}', key, source_time, request_id,
        record_index, content_hash, facts_source_time, status, from_date, to_date
      from ${schema}.${table}
      order by bucket, property_id, key, source_time desc, request_id desc, record_index desc`,
    );
  }
  await client.query(`insert into ${schema}.known_room_type select * from ${STATE_SCHEMA}.known_room_type`);
}

const PARTS_PER_TRANSACTION = 64;

/** The first request to replay from the log, and whether the live ledger is kept instead of being rebuilt. */
interface Beginning {
  readonly firstId: string | null;
  readonly keepsLedger: boolean;
  readonly derivedFrom: string | null;
}

async function beginningOf(client: pg.ClientBase): Promise<Beginning> {
  const { logMs, versionsMs } = await readReplayHorizon(client);
  return {
    firstId: logMs === null ? null : lowestIdAt(logMs),
    keepsLedger: logMs !== null || versionsMs !== null,
    derivedFrom: logMs === null ? null : new Date(logMs).toISOString(),
  };
}

/** A part of which only the records before `until_record` are applied. */
interface PartlyApplied {
  readonly bucket: number;
  readonly log_writer_id: string;
  readonly request_id: string;
  readonly until_record: number;
}

/** Where a replay stops, by bucket: the cursors, and the parts beyond them that are applied in part. */
interface Position {
  readonly cursors: ReadonlyMap<
    number,
    readonly { readonly log_writer_id: string; readonly request_id: string }[]
  >;
  readonly partly: ReadonlyMap<number, readonly PartlyApplied[]>;
}

/** The ranges of a bucket's log writers between two positions. */
function stretchesOf(bucket: number, goal: Position, from?: Position): LogStretch[] {
  const begun = new Map(
    (from?.cursors.get(bucket) ?? []).map(({ log_writer_id, request_id }) => [log_writer_id, request_id]),
  );
  return (goal.cursors.get(bucket) ?? []).map((logWriter) => ({
    ...logWriter,
    from_id: begun.get(logWriter.log_writer_id) ?? ID_LOWEST,
  }));
}

export interface ReplayOptions {
  readonly clientConfig: pg.ClientConfig;
  readonly pool: pg.Pool;
  /** Replace the live state with the rebuilt one, whether or not they differ. */
  readonly swap: boolean;
  readonly onStep?: ShowStep;
}

export interface ReplayReport {
  readonly parts: number;
  readonly live: StateDigest;
  readonly rebuilt: StateDigest;
  readonly equal: boolean;
  readonly swapped: boolean;
  /** Receipt time (ISO 8601) from which the log was replayed; null: all of it. Older state and the ledger were copied. */
  readonly derivedFrom: string | null;
  /** Records whose current content the swap changed; each has a new change number. */
  readonly corrected: number;
  /** Schema that contains the former state after a swap. */
  readonly formerSchema: string | null;
  /** Views of other roles that still read the former state; their owners must recreate them. */
  readonly unboundViews: readonly string[];
}

async function readPosition(client: pg.ClientBase): Promise<Position> {
  const { rows } = await client.query<{ bucket: number; log_writer_id: string; request_id: string }>(
    `select bucket, log_writer_id::text as log_writer_id, request_id from ${STATE_SCHEMA}.apply_cursor`,
  );
  const partly = await client.query<PartlyApplied>(
    `select piece.bucket, log.log_writer_id::text as log_writer_id, piece.request_id, max(piece.until_record) as until_record
    from bellhop.applied_piece as piece join bellhop.accept_log as log using (bucket, request_id)
    group by piece.bucket, log.log_writer_id, piece.request_id`,
  );
  return {
    cursors: Map.groupBy(rows, ({ bucket }) => bucket),
    partly: Map.groupBy(partly.rows, ({ bucket }) => bucket),
  };
}

const NO_SWAP = { corrected: 0, formerSchema: null, unboundViews: [] };

/** Builds state in a separate schema, the first on the connection's search path. */
class Rebuild {
  readonly #client: pg.Client;
  readonly #properties: PropertyDirectory;
  readonly #memory: ApplyMemory;
  readonly #redactions: RedactionList;
  readonly #firstId: string;
  parts = 0;

  constructor(
    client: pg.Client,
    pool: pg.Pool,
    schema: string,
    redactions: RedactionList,
    { firstId, keepsLedger }: Beginning,
  ) {
    this.#client = client;
    this.#redactions = redactions;
    this.#firstId = firstId ?? ID_LOWEST;
    this.#properties = new PropertyDirectory(pool);
    this.#memory = new ApplyMemory(pool, client, { schema, entersNights: !keepsLedger });
  }

  /** Replays a bucket's log up to a position, in transactions of PARTS_PER_TRANSACTION unless the caller has begun one. */
  async replayBucket(bucket: number, goal: Position, from?: Position, inTransaction = false): Promise<void> {
    let after = this.#firstId;
    const stretches = stretchesOf(bucket, goal, from);
    for (;;) {
      const read = await readLog(this.#client, bucket, stretches, { after, partsMax: PARTS_PER_TRANSACTION });
      if (read.length === 0) break;
      await this.#replayParts(read, inTransaction);
      after = read.at(-1)?.part.requestId ?? after;
      this.parts += read.length;
    }
    for (const { log_writer_id, request_id, until_record } of goal.partly.get(bucket) ?? []) {
      // It is the first part beyond the cursor of its log writer.
      const cursor = goal.cursors.get(bucket)?.find((of) => of.log_writer_id === log_writer_id);
      const stretch = { log_writer_id, from_id: cursor?.request_id ?? ID_LOWEST, request_id };
      const read = await readLog(this.#client, bucket, [stretch], { partsMax: 1 });
      await this.#replayParts(read, inTransaction, until_record);
    }
  }

  async #replayParts(
    read: readonly LoggedPart[],
    inTransaction: boolean,
    untilRecord?: number,
  ): Promise<void> {
    if (!inTransaction) await this.#client.query("begin");
    for (const logged of read) await this.#replayPart(logged, untilRecord);
    this.#memory.takeRows();
    if (!inTransaction) await this.#client.query("commit");
  }

  /** Skips quarantined records: only a release, which is a log entry of its own, applies them. */
  async #replayPart({ part, quarantined }: LoggedPart, untilRecord?: number): Promise<void> {
    if (part.kind === "d") return;
    // Change numbers are copied from the live versions afterwards.
    const noChanges = { take: () => null };
    if (part.kind === "r") {
      // Only the first resolution of a record took effect: the one named in resolved_by.
      const { rowCount } = await this.#client.query(
        "select 1 from bellhop.quarantine where resolved_by = $1",
        [part.requestId],
      );
      if (rowCount === 0) return;
      await applyReleased(this.#client, part, noChanges, this.#properties, this.#memory);
      return;
    }
    const piece = untilRecord === undefined ? undefined : await openFirstPiece(part, untilRecord);
    const { records } = await readPart(part, this.#properties, this.#redactions, undefined, piece);
    const applicable = records.flatMap((record) =>
      "code" in record || quarantined.has(record.index) ? [] : [record],
    );
    await applyIsolatingBadRecords(this.#client, applicable, noChanges.take, this.#memory);
  }
}

/** Reads the position and digest of the live state in one snapshot. */
function snapshotLive({ clientConfig }: ReplayOptions): Promise<{ position: Position; live: StateDigest }> {
  return withSession(clientConfig, "replay", async (client) => {
    await client.query("begin isolation level repeatable read read only");
    await reachAllBuckets(client);
    const position = await readPosition(client);
    return { position, live: await digestState(client, STATE_SCHEMA) };
  });
}

/** Replays what was applied since `position` and swaps the schemas, under the leases of all buckets. All appliers lose their leases. */
async function swap(
  client: pg.Client,
  rebuild: Rebuild,
  schema: string,
  position: Position,
  { keepsLedger }: Beginning,
): Promise<Pick<ReplayReport, "corrected" | "formerSchema" | "unboundViews">> {
  await carryOutcomes(client, schema);
  await client.query("begin");
  await reachAllBuckets(client);
  await new LeaseStatements(client).holdLeases(ALL_BUCKETS);
  await copyWindows(client, schema);
  const goal = await readPosition(client);
  for (const bucket of ALL_BUCKETS) await rebuild.replayBucket(bucket, goal, position, true);
  await client.query(`insert into ${schema}.apply_cursor select * from ${STATE_SCHEMA}.apply_cursor`);
  await carryOutcomes(client, schema);
  const corrected = await numberCorrections(client, schema, BUCKET_COUNT);
  const formerSchema = `${schema}_former`;
  await swapStateSchema(client, schema, formerSchema, keepsLedger);
  if (!keepsLedger) await writeDerivation(client);
  const unboundViews = await rebindViews(client);
  await client.query(
    "update bellhop.bucket_lease set epoch = epoch + 1, backend_pid = null, backend_start = null",
  );
  await client.query("commit");
  return { corrected, formerSchema, unboundViews };
}

/** Rebuilds the state from the log in a separate schema, compares digests, and optionally swaps it in. Only a swap blocks appliers. */
export function replay(options: ReplayOptions): Promise<ReplayReport> {
  return withSession(options.clientConfig, "replay", (client) =>
    withExclusiveWork(client, () => replayOn(client, options)),
  );
}

async function replayOn(client: pg.Client, options: ReplayOptions): Promise<ReplayReport> {
  const schema = `bellhop_replay_${Date.now().toString(36)}`;
  try {
    await createStateSchema(client, schema);
    await openStateSession(client, schema);
    const beginning = await beginningOf(client);
    options.onStep?.("computing the digest of the live state");
    const { position, live } = await snapshotLive(options);
    await copyBase(client, schema, beginning.firstId);
    await planByKeys(client, true);
    const rebuild = new Rebuild(
      client,
      options.pool,
      schema,
      await loadRedactionList(options.pool),
      beginning,
    );
    let done = 0;
    const share = () => done / BUCKET_COUNT;
    while (done < BUCKET_COUNT) {
      options.onStep?.(`replaying bucket ${done} of ${BUCKET_COUNT}`, share);
      await rebuild.replayBucket(done, position);
      done += 1;
    }
    options.onStep?.("comparing the states");
    await planByKeys(client, false);
    const derived = await digestState(client, schema);
    const { nights, nightsHash, blocks, blocksHash } = beginning.keepsLedger ? live : derived;
    const rebuilt = { ...derived, nights, nightsHash, blocks, blocksHash };
    const equal = JSON.stringify(live) === JSON.stringify(rebuilt);
    const swapped = options.swap ? await swap(client, rebuild, schema, position, beginning) : undefined;
    const { corrected, formerSchema, unboundViews } = swapped ?? NO_SWAP;
    const { parts } = rebuild;
    return {
      parts,
      live,
      rebuilt,
      equal,
      swapped: swapped !== undefined,
      derivedFrom: beginning.derivedFrom,
      corrected,
      formerSchema,
      unboundViews,
    };
  } finally {
    await client.query("rollback").catch(() => undefined);
    await dropStateSchema(client, schema).catch(() => undefined);
  }
}
