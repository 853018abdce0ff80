import type { LogPart } from "../../src/apply/backlog.ts";

/** One row of the log, as committed. */
export interface LogRow extends LogPart {
  readonly recordCount: number;
  /** The attempt of a client that it came from. */
  readonly attempt: number;
}

export interface LogWriterRow {
  readonly logWriterId: string;
  readonly pid: number;
  readonly startedAt: number;
  /** Rows by bucket, in the order in which they became visible. */
  readonly rows: Map<number, LogRow[]>;
  isClosed: boolean;
  isRetired: boolean;
}

export interface KeyRow {
  readonly requestId: string;
  readonly fingerprint: string;
}

export interface LeaseRow {
  readonly epoch: number;
  readonly owner: string;
  readonly pid: number;
  readonly startedAt: number;
  readonly nextChange: number;
}

export interface PresenceRow {
  readonly presenceId: number;
  readonly pid: number;
  readonly startedAt: number;
}

/** Nobody writes to it. */
const NOTHING = new Map<never, never>();

/** What a transaction will have changed once it is committed. Most change little: what they do not is not made. */
export class Transaction {
  readonly pid: number;
  readonly logWriters: LogWriterRow[] = [];
  readonly rows: LogRow[] = [];
  readonly outcomes: LogRow[] = [];
  readonly closed: LogWriterRow[] = [];
  readonly retired: LogWriterRow[] = [];
  readonly present: PresenceRow[] = [];
  keys: ReadonlyMap<string, KeyRow> = NOTHING;
  leases: ReadonlyMap<number, LeaseRow> = NOTHING;
  /** By bucket and log writer: the id up to which is applied. */
  cursors: ReadonlyMap<string, string> = NOTHING;
  /** By bucket and request: how far a part is applied that is applied in pieces. */
  pieces: ReadonlyMap<string, number> = NOTHING;
  /** Rows and locks it holds, by name. */
  readonly locks: string[] = [];
  /** Called when it has ended. */
  waiting: (() => void)[] = [];
  /** A statement of it failed: nothing but its end is taken any more. */
  hasFailed = false;

  constructor(pid: number) {
    this.pid = pid;
  }

  /** One that only read has nothing to commit. */
  get hasWritten(): boolean {
    const { logWriters, rows, keys, leases, cursors, pieces, outcomes, closed, retired } = this;
    return (
      logWriters.length + rows.length + keys.size + leases.size + cursors.size + outcomes.length > 0 ||
      pieces.size + closed.length + retired.length + this.present.length > 0
    );
  }

  writeKey(key: string, row: KeyRow): void {
    if (this.keys === NOTHING) this.keys = new Map();
    (this.keys as Map<string, KeyRow>).set(key, row);
  }

  writeLease(bucket: number, row: LeaseRow): void {
    if (this.leases === NOTHING) this.leases = new Map();
    (this.leases as Map<number, LeaseRow>).set(bucket, row);
  }

  writePiece(name: string, untilRecord: number): void {
    if (this.pieces === NOTHING) this.pieces = new Map();
    (this.pieces as Map<string, number>).set(name, untilRecord);
  }

  writeCursor(position: string, id: string): void {
    if (this.cursors === NOTHING) this.cursors = new Map();
    (this.cursors as Map<string, string>).set(position, id);
  }
}

/** What is committed, and so what a crash leaves. */
export class Store {
  readonly logWriters = new Map<string, LogWriterRow>();
  /** Those that readers still look at. */
  unretired: LogWriterRow[] = [];
  readonly keys = new Map<string, KeyRow>();
  readonly leases = new Map<number, LeaseRow>();
  readonly cursors = new Map<string, string>();
  readonly outcomes = new Set<string>();
  readonly pieces = new Map<string, number>();
  present: PresenceRow[] = [];
  readonly rowsOfRequest = new Map<string, LogRow[]>();
  newestId: string | null = null;

  apply(transaction: Transaction): void {
    for (const logWriter of transaction.logWriters) {
      this.logWriters.set(logWriter.logWriterId, logWriter);
      this.unretired.push(logWriter);
    }
    for (const row of transaction.rows) {
      const { rows } = this.logWriters.get(row.logWriterId) as LogWriterRow;
      const ofBucket = rows.get(row.bucket);
      if (ofBucket === undefined) rows.set(row.bucket, [row]);
      else ofBucket.push(row);
      const ofRequest = this.rowsOfRequest.get(row.requestId);
      if (ofRequest === undefined) this.rowsOfRequest.set(row.requestId, [row]);
      else ofRequest.push(row);
      if (this.newestId === null || row.requestId > this.newestId) this.newestId = row.requestId;
    }
    for (const [key, row] of transaction.keys) this.keys.set(key, row);
    for (const [bucket, row] of transaction.leases) this.leases.set(bucket, row);
    for (const [position, id] of transaction.cursors) this.cursors.set(position, id);
    for (const [name, untilRecord] of transaction.pieces) this.pieces.set(name, untilRecord);
    for (const row of transaction.outcomes) this.outcomes.add(`${row.bucket}/${row.requestId}`);
    this.present.push(...transaction.present);
    for (const logWriter of transaction.closed) logWriter.isClosed = true;
    for (const logWriter of transaction.retired) logWriter.isRetired = true;
    if (transaction.retired.length > 0)
      this.unretired = this.unretired.filter((logWriter) => !logWriter.isRetired);
  }
}

export function positionOf(bucket: number, logWriterId: string): string {
  return `${bucket}/${logWriterId}`;
}

const NONE: readonly LogRow[] = [];

/** At most `most` rows of a log writer and bucket behind an id, in the order of ids, which the checker sees to. */
export function rowsAfter(
  logWriter: LogWriterRow,
  bucket: number,
  id: string | undefined,
  most = Number.POSITIVE_INFINITY,
): readonly LogRow[] {
  const rows = logWriter.rows.get(bucket);
  if (rows === undefined) return NONE;
  let from = rows.length;
  while (from > 0 && (id === undefined || (rows[from - 1] as LogRow).requestId > id)) from -= 1;
  return from === rows.length ? NONE : rows.slice(from, from + most);
}
