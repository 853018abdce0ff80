import type { RecordSpans } from "./walk-spans.ts";
import type { Warning } from "./warning.ts";

/** What lists filter by. */
export interface RecordFilters {
  /** The label as sent; null for inventory. */
  readonly status: string | null;
  /** First and last date that the record is about, `YYYY-MM-DD`: the date; earliest arrival, latest departure; start, end. */
  readonly fromDate: string;
  readonly toDate: string;
}

/** A text to be written as UTF-8. Both throw UnstorableFact where a view over the text would fail. */
export interface FactsText {
  /** Most bytes that it takes. */
  readonly bytesMax: () => number;
  /** Writes it to where that many bytes have room, and answers its end. */
  readonly write: (to: Buffer, at: number) => number;
  /** Where what it says stands in the record's bytes, where that is known. */
  readonly spans?: RecordSpans;
}

/** What a record says beyond its identity: the same for every record of one content. */
export interface RecordContent extends RecordFilters {
  /** The room types that it names, each once, in order of appearance. */
  readonly roomTypeCodes: readonly string[];
  /** Its facts as the text of a `bellhop.reservation_facts` and so on. */
  readonly facts: FactsText;
  readonly warnings: readonly Warning[];
}

/**
 * All that apply needs of one accepted record. It depends on the record's bytes alone. They are parsed when the content is
 * first asked for: a record whose content is known already never is.
 */
export interface RecordReading {
  readonly clientCode: string;
  readonly propertyCode: string;
  /** occupancyDate, reservationId or groupCode: with the two codes, the record's identity. */
  readonly key: string;
  /** ISO 8601 UTC with exactly six fractional digits and Z, so that text order is time order. */
  readonly sourceTime: string;
  /** 32 hexadecimal digits; see `contentHash`. */
  readonly contentHash: string;
  /** Throws UnreadableRecord for bytes that `checkRecord` would refuse. */
  readonly content: () => RecordContent;
}

/** The bytes are no valid record, although they were accepted: a fault of ours (a rule that changed), or damage. */
export class UnreadableRecord extends Error {}

/**
 * A value that its type in PostgreSQL would not read. Records are checked before, so this is a fault of ours; it is found
 * before the text is stored, since a text that cannot be read would fail every view over it.
 */
export class UnstorableFact extends Error {}
