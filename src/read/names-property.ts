import type pg from "pg";
import { loadPart } from "./load-records.ts";

/** What a search through bodies may cost: about half a second of parsing. */
const SEARCHED_BYTES_MAX = 64 * 1_048_576;
/** Bytes parsed between two turns of the event loop: about a millisecond's work. */
const TURN_BYTES = 131_072;

/** The bytes that the search of one page has left. The request that overdraws it is still searched to its end. */
export class SearchBudget {
  #left = SEARCHED_BYTES_MAX;

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  take(bytes: number): void {
    this.#left -= bytes;
  }
}

/**
 * Whether a part of a request has a record of this property. A bucket holds many properties and the log has no column
 * for them, so the records are read until one is found: in a batch of one property that is the first.
 */
export async function namesProperty(
  pool: pg.Pool,
  requestId: string,
  bucket: number,
  codes: { readonly clientCode: string; readonly propertyCode: string },
  budget: SearchBudget,
): Promise<boolean> {
  let sinceTurn = 0;
  for await (const { bytes } of loadPart(pool, bucket, requestId)) {
    budget.take(bytes.length);
    sinceTurn += bytes.length;
    if (sinceTurn > TURN_BYTES) {
      sinceTurn = 0;
      await new Promise((resume) => setImmediate(resume));
    }
    // Dropped since: whose it was is not known any more.
    if (bytes.length === 0) continue;
    // Accepted records have each code once, as a text; of rejected ones beside them anything may come.
    const record: unknown = JSON.parse(bytes.toString("utf8"));
    if (typeof record !== "object" || record === null) continue;
    const { clientCode, propertyCode } = record as Record<string, unknown>;
    if (clientCode === codes.clientCode && propertyCode === codes.propertyCode) return true;
  }
  return false;
}
