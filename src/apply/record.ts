import type { RecordReading } from "../contract/record-reading.ts";
import type { Warning } from "../contract/warning.ts";
import type { RecordKey } from "../state/record-state.ts";
import type { Incoming } from "./classify.ts";

/** An accepted record, read from the log and ready to be applied. */
export interface ApplicableRecord {
  readonly clientCode: string;
  readonly of: RecordKey;
  readonly incoming: Incoming;
  /** The request from which it counts by the clock of receipts, where that is not its own: that of its release. */
  readonly countsFrom?: string;
  /** Parses the record when it is first asked for. */
  readonly content: RecordReading["content"];
}

/** A record that must not be applied now, and why, in words for its sender. */
export interface HeldRecord {
  readonly of: RecordKey;
  readonly requestId: string;
  readonly index: number;
  readonly code: QuarantineCode;
  readonly message: string;
}

/** Told of a record that was accepted and cannot be read any more. */
export const UNREADABLE =
  "The record could not be read again after it was accepted; an operator has been told.";

/** Why a record is quarantined. Stable codes, listed in docs/contract.md. */
export type QuarantineCode = "time.future" | "data.unstorable" | "record.unreadable" | "state.incomplete";

/** a applied, u unchanged, s stale, d duplicate, q quarantined, x discarded. */
export type OutcomeLetter = "a" | "u" | "s" | "d" | "q" | "x";

/** What became of one record. */
export interface RecordOutcome {
  readonly index: number;
  readonly outcome: OutcomeLetter;
  readonly code: string | null;
  readonly message: string | null;
  readonly warnings: readonly Warning[];
}
