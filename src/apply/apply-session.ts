import type { OutcomeCounts } from "./apply-parts.ts";
import type { LogPart } from "./backlog.ts";
import type { ChangeCounters, LeaseSession } from "./leases.ts";
import type { ReadPart } from "./read-part.ts";
import type { ClusterSession } from "./rebalance.ts";

/**
 * What an applier asks of the database: one connection, statement by statement, in the order they are asked. Every promise
 * rejects with what the database answered (with its SQLSTATE as `code`), or with another error when there was no answer.
 * PostgreSQL's is in postgres-apply-session.ts, that of a simulation in test/simulation.
 */
export interface ApplySession extends LeaseSession, ClusterSession {
  /** By which others count this session as present. */
  readonly presenceId: string;
  /** Seals log writers whose backend is gone, retires those of which all is applied. */
  retireLogWriters(): Promise<unknown>;
  /** What is next to be applied of these buckets, in the order of receipt; the part that reaches `recordsMax` is the last. */
  readBacklog(buckets: readonly number[], recordsMax: number): Promise<LogPart[]>;
  /** Reads the records of a part; not necessarily on this connection. */
  readPart(part: LogPart): Promise<ReadPart>;
  /** Has the session say something now and again while its owner works without it; `stop` ends that. */
  startPulse(): { stop(): void };
  /** True: others will soon wait for this transaction, so it should be short. */
  begin(): Promise<boolean>;
  /** Moves the cursors past these parts. */
  advanceCursors(parts: readonly LogPart[]): Promise<void>;
  applyParts(parts: readonly ReadPart[], counters: ChangeCounters): Promise<OutcomeCounts>;
  /** Carries out a release or discard, and moves the cursor past it. */
  applyResolution(resolution: LogPart, counters: ChangeCounters): Promise<OutcomeCounts>;
  /** Answers what the database did: `COMMIT`, or `ROLLBACK` when the transaction had failed before. */
  commit(): Promise<string>;
  /** Also forgets what was remembered of the database and may have been of this transaction. */
  rollback(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a session that is present as `owner`; `failed` hears of what happens to its connection between two statements. */
export type OpenApplySession = (owner: string, failed: (error: unknown) => void) => Promise<ApplySession>;
