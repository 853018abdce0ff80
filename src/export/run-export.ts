import type pg from "pg";
import { type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { ALL_BUCKETS, BUCKET_COUNT, ID_LOWEST, lowestIdAt } from "../ingest/log/part-name.ts";
import { settledReceipts, watermarkOf } from "../insight/watermark.ts";
import { CODE_VERSION } from "../platform/db/code-version.ts";
import { endWithClient, reportProcess, withSession } from "../platform/db/connection.ts";
import { holdOffExclusiveWork } from "../platform/db/coordination.ts";
import { inSnapshot, reachAllBuckets } from "../platform/db/dialect.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { withTransaction } from "../platform/db/transaction.ts";
import { readChangeEnds, readCursorEpoch } from "../query/changes/change-cursor.ts";
import { Batch } from "./columns.ts";
import {
  type Basis,
  type Draft,
  ExportError,
  type ExportFolder,
  type Manifest,
  type OpenPass,
  openFolder,
  type Pass,
  type Position,
} from "./folder.ts";
import { type ExportedFile, type Format, RowFile } from "./row-file.ts";
import { DEFAULT_TABLES, type Stretch, TABLE_NAMES, TABLES, type Table, type TableName } from "./tables.ts";

export interface ExportOptions {
  readonly clientConfig: pg.ClientConfig;
  /** For reads outside the snapshot: the log's contents. */
  readonly pool: pg.Pool;
  readonly directory: string;
  /** Undefined: as in the folder, otherwise Parquet. */
  readonly format?: Format | undefined;
  /** Undefined: as in the folder, otherwise DEFAULT_TABLES. */
  readonly tables?: readonly TableName[] | undefined;
  /** Export all rows again. */
  readonly full: boolean;
  /** Called with the backend process id of the reading session before it reads. */
  opened?(backendPid: number): void;
  /** Called after each bucket of a table; `share`: the fraction of all tables read, 0 to 1. */
  progress?(table: TableName, bucket: number, share: number): void;
}

export interface ExportReport {
  readonly manifest: Manifest;
  /** Why all rows were written; null if only changes were. */
  readonly full: string | null;
  readonly written: readonly Pass[];
}

/** Advisory lock: concurrent exports would write the same files. */
const EXPORT_LOCK = 7_302_041;
/** Maximum backlog of changes for one snapshot of all buckets. A larger backlog is first written bucket by bucket. */
const CHANGES_IN_SNAPSHOT_MAX = 200_000;
/** A file ends with the bucket in which it reaches this many rows. */
const FILE_ROWS = 1_000_000;
const PAGE_ROWS = 5_000;
const SNAPSHOT = { isolation: "repeatable read", readOnly: true } as const;
const NOTHING_YET = new Date(0).toISOString();

/** A text of the installation, and one that changes with each erasure (whose version rises when it starts) and each deletion of a property. */
const readPrivacy = namedStatement(
  "read-privacy-state",
  `select (select left(encode(sha256(value::bytea), 'hex'), 16) from bellhop.instance where name = 'privacy.list') as installation,
    concat_ws('/', version,
    (select count(*) from bellhop.erasure where finished_at is not null),
    (select count(*) || '/' || max(deleted_at) from bellhop.property where deleted_at is not null)) as privacy
  from bellhop.privacy_version`,
);
const readHorizons = namedStatement(
  "read-retention-horizons",
  `select client_code as "clientCode", resource, kind, known_from as "knownFrom"
  from bellhop.retention_horizon order by client_code, resource, kind`,
);

const REASONS: Readonly<Record<keyof Basis, string>> = {
  format: "another format was requested",
  tables: "other tables were requested",
  version: "Bellhop was upgraded",
  installation: "the folder had an export of another installation",
  epoch: "the database was restored",
  privacy: "personal data was erased, or a property deleted",
};

/** Why an export with one basis cannot continue with another; undefined if it can. */
function reasonOf(before: Basis, now: Basis): string | undefined {
  const names = Object.keys(REASONS) as (keyof Basis)[];
  const other = names.find((name) => String(before[name]) !== String(now[name]));
  return other === undefined ? undefined : REASONS[other];
}

/** By bucket. */
type Settled = readonly (string | null)[];

class Export {
  readonly #client: pg.Client;
  readonly #folder: ExportFolder;
  readonly #options: ExportOptions;
  readonly #draft: Draft;

  constructor(client: pg.Client, folder: ExportFolder, options: ExportOptions, draft: Draft) {
    this.#client = client;
    this.#folder = folder;
    this.#options = options;
    this.#draft = draft;
  }

  async run(): Promise<ExportReport> {
    const draft = this.#draft;
    await this.#folder.keepOnly([
      ...(this.#folder.manifest?.passes ?? []).flatMap(({ files }) => files),
      ...draft.passes.flatMap(({ files }) => files),
      ...(draft.open?.files ?? []),
    ]);
    while (
      draft.open !== null ||
      draft.position === null ||
      (await this.#backlog()) > CHANGES_IN_SNAPSHOT_MAX
    )
      await this.#writeBulk();
    const settled = await this.#settled();
    const begin = async () => {
      await this.#client.query("begin isolation level repeatable read read only");
      await reachAllBuckets(this.#client);
    };
    const manifest = await inSnapshot(this.#client, this.#options.clientConfig, begin, () =>
      this.#writeRest(settled),
    );
    await this.#client.query("commit");
    await this.#folder.finish(manifest);
    return { manifest, full: draft.full?.reason ?? null, written: draft.passes };
  }

  /** `settledReceipts` of each bucket. The first call usually settles it for the others. */
  async #settled(): Promise<Settled> {
    const { pool } = this.#options;
    const [first = 0, ...others] = ALL_BUCKETS;
    const settled = await settledReceipts(pool, { bucket: first });
    return [settled, ...(await Promise.all(others.map((bucket) => settledReceipts(pool, { bucket }))))];
  }

  async #backlog(): Promise<number> {
    const { changes } = await this.#readPosition(null);
    return changes.reduce((sum, end, bucket) => sum + end - (this.#draft.position?.changes[bucket] ?? 0), 0);
  }

  /**
   * The position of data read from now on, as of the client's snapshot if it has one. `settled`: the results of `settledReceipts`
   * beforehand; null: leaves the receipt position unchanged.
   */
  async #readPosition(settled: Settled | null): Promise<Position> {
    const ends = await readChangeEnds(this.#client, ALL_BUCKETS);
    const watermarks: (string | null)[] = [];
    for (const bucket of settled === null ? [] : ALL_BUCKETS)
      watermarks.push(await watermarkOf(this.#client, { bucket }, settled?.[bucket] ?? null));
    // In a bucket without a watermark, anything may be unapplied.
    const [earliest] = watermarks.includes(null) ? [] : watermarks.sort();
    return {
      changes: ALL_BUCKETS.map((bucket) => ends.get(bucket) ?? 0),
      receivedBefore: earliest ?? this.#draft.position?.receivedBefore ?? NOTHING_YET,
    };
  }

  /** Writes a long pass, each bucket from a separate snapshot; the next pass contains what changed meanwhile. */
  async #writeBulk(): Promise<void> {
    const draft = this.#draft;
    const settled = await this.#settled();
    draft.open ??= { to: await this.#readPosition(settled), done: {}, files: [] };
    const pass = await this.#writePass(draft.open, (work) => withTransaction(this.#client, work, SNAPSHOT));
    draft.passes.push(pass);
    draft.position = draft.open.to;
    draft.open = null;
    await this.#folder.saveDraft(draft);
  }

  /** Writes the remaining changes from the client's snapshot. */
  async #writeRest(settled: Settled): Promise<Manifest> {
    const draft = this.#draft;
    const open: OpenPass = { to: await this.#readPosition(settled), done: {}, files: [] };
    const pass = await this.#writePass(open, (work) => work());
    if (pass.files.length > 0) draft.passes.push(pass);
    const retention = await this.#client.query<{ resource: ResourceLetter }>(readHorizons);
    const now = await this.#client.query<{ at: Date }>("select transaction_timestamp() as at");
    const takenAt = now.rows[0]?.at.toISOString() ?? "";
    const before = draft.full === null ? this.#folder.manifest : undefined;
    const passes = [...(before?.passes ?? []), ...draft.passes];
    return {
      manifestVersion: 1,
      basis: draft.basis,
      full: draft.full ?? before?.full ?? { at: takenAt, reason: "" },
      takenAt,
      position: open.to,
      retention: retention.rows.map((row) => ({ ...row, resource: resourceOf(row.resource) })),
      tables: Object.fromEntries(
        draft.basis.tables.map((name) => {
          const { key, columns, resource } = TABLES[name];
          return [name, { key, columns, ...(resource === undefined ? {} : { resource }) }];
        }),
      ),
      lastPass: passes.at(-1)?.pass ?? draft.after,
      passes,
    };
  }

  async #writePass(open: OpenPass, inSnapshot: (work: () => Promise<void>) => Promise<void>): Promise<Pass> {
    const pass = (this.#draft.passes.at(-1)?.pass ?? this.#draft.after) + 1;
    for (const name of this.#draft.basis.tables) await this.#writeTable(name, pass, open, inSnapshot);
    return { pass, files: open.files };
  }

  async #writeTable(
    name: TableName,
    pass: number,
    open: OpenPass,
    inSnapshot: (work: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const table: Table = TABLES[name];
    const { format } = this.#draft.basis;
    let file: RowFile | undefined;
    const batch = new Batch(table.columns, (full) => {
      const number = open.files.filter((written) => written.table === name).length + 1;
      file ??= new RowFile(this.#folder.directory, format, table.columns, {
        table: name,
        path: `${name}/pass=${pass}/${number}.${format}`,
      });
      file.write(full);
    });
    for (let bucket = open.done[name] ?? 0; bucket < BUCKET_COUNT; bucket += 1) {
      await inSnapshot(() => this.#readBucket(table, this.#stretchOf(bucket, open), batch));
      const { tables } = this.#draft.basis;
      const share = (tables.indexOf(name) + (bucket + 1) / BUCKET_COUNT) / tables.length;
      this.#options.progress?.(name, bucket, share);
      const isLast = bucket === BUCKET_COUNT - 1;
      if (!isLast && (file?.rows ?? 0) < FILE_ROWS) continue;
      batch.flush();
      const written: ExportedFile | undefined = (file as RowFile | undefined)?.finish();
      if (written !== undefined) open.files.push(written);
      file = undefined;
      open.done[name] = bucket + 1;
      if (this.#draft.open === open) await this.#folder.saveDraft(this.#draft);
    }
  }

  #stretchOf(bucket: number, { to }: OpenPass): Stretch {
    const { position } = this.#draft;
    if (position === null) return { bucket, changes: undefined, firstRequest: ID_LOWEST };
    const changes = [position.changes[bucket] ?? 0, to.changes[bucket] ?? 0] as const;
    return { bucket, changes, firstRequest: lowestIdAt(Date.parse(position.receivedBefore)) };
  }

  /** Adds the rows of a bucket to a batch by page, while the server reads the next page. */
  async #readBucket(table: Table, stretch: Stretch, batch: Batch): Promise<void> {
    const client = this.#client;
    if (stretch.changes !== undefined && stretch.changes[0] === stretch.changes[1] && table.isOfChanges)
      return;
    const add = await table.open(client, this.#options.pool, stretch);
    const { text, values } = table.statement(stretch);
    await client.query(`declare exported no scroll cursor for ${text}`, values as unknown[]);
    const fetch = () => {
      const fetched = client.query<(string | number | null)[]>({
        text: `fetch forward ${PAGE_ROWS} from exported`,
        rowMode: "array",
      });
      // Awaited once the previous page has been added.
      fetched.catch(() => undefined);
      return fetched;
    };
    for (let next = fetch(); ; ) {
      const { rows } = await next;
      if (rows.length === 0) break;
      next = fetch();
      await add(rows, batch);
    }
    await client.query("close exported");
  }
}

async function readBasis(
  client: pg.ClientBase,
  options: ExportOptions,
  before: Basis | undefined,
): Promise<Basis> {
  const { rows } = await client.query<Pick<Basis, "installation" | "privacy">>(readPrivacy);
  const asked = options.tables ?? before?.tables ?? DEFAULT_TABLES;
  return {
    format: options.format ?? before?.format ?? "parquet",
    // Rows of records are valid or not by those, so they require the table of records.
    tables: TABLE_NAMES.filter(
      (name) =>
        asked.includes(name) ||
        (name === "records" && asked.some((other) => TABLES[other].resource !== undefined)),
    ),
    version: CODE_VERSION,
    epoch: await readCursorEpoch(client),
    installation: rows[0]?.installation ?? "",
    privacy: rows[0]?.privacy ?? "",
  };
}

/** The run to continue: a killed run's draft if it is still valid, otherwise a new one. */
async function draftOf(client: pg.ClientBase, folder: ExportFolder, options: ExportOptions): Promise<Draft> {
  const { manifest, draft } = folder;
  const basis = await readBasis(client, options, (manifest ?? draft)?.basis);
  const after = manifest?.lastPass ?? 0;
  if (draft !== undefined && draft.after === after && reasonOf(draft.basis, basis) === undefined) {
    if (!options.full || draft.full !== null) return draft;
  }
  const reason =
    manifest === undefined
      ? "the folder had no export"
      : options.full
        ? "it was asked for"
        : reasonOf(manifest.basis, basis);
  const full = reason === undefined ? null : { at: new Date().toISOString(), reason };
  const position = full === null ? (manifest?.position ?? null) : null;
  const begun: Draft = { basis, after, full, position, passes: [], open: null };
  await folder.saveDraft(begun);
  return begun;
}

/**
 * Exports to a folder: first everything, then changes since the previous run. When it returns, the files add up to one state of all
 * buckets. A killed run leaves the folder unchanged for readers, and the next one reuses its finished files. Throws ExportError, and
 * WorkUnderWay while the log is rewritten or replayed.
 */
export async function runExport(options: ExportOptions): Promise<ExportReport> {
  return withSession(options.clientConfig, "export", async (client) => {
    await endWithClient(client);
    // Prevents erasures and state swaps until the session ends.
    await holdOffExclusiveWork(client);
    const { rows } = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1) as taken", [
      EXPORT_LOCK,
    ]);
    if (rows[0]?.taken !== true)
      throw new ExportError("Another export is running: try again when it has ended.");
    // The session idles while files are written. Cursors are read to the end.
    await client.query("set idle_in_transaction_session_timeout = 0; set cursor_tuple_fraction = 1");
    reportProcess(client, (processId) => options.opened?.(processId));
    const folder = await openFolder(options.directory);
    const draft = await draftOf(client, folder, options);
    return new Export(client, folder, options, draft).run();
  });
}
